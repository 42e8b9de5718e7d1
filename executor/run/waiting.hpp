// Waiting: lets walker 0 wait for messages and for other walkers.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/system/time_limit.hpp"
#include "executor/run/cancellation.hpp"
#include "executor/run/ledger.hpp"
#include "executor/run/resolved.hpp"
#include "executor/run/workers.hpp"
#include "executor/watch/position.hpp"

namespace ferry {

struct WaitingOptions {
  TimeLimit limit;
  Position* position = nullptr;  ///< where long waits are reported; null: nowhere
  std::uint64_t plan_id = 0;     ///< identifies the plan
};

/// One per task. While it waits, it makes progress with the transfers and helps other walkers with their kernels. It
/// throws after the deadline.
class Waiting {
 public:
  Waiting(const ResolvedPlan& resolved, Transport& transport, Workers& workers, Ledger& ledger,
          const Cancellation& cancellation, const WaitingOptions& options)
      : resolved_(resolved),
        transport_(transport),
        workers_(workers),
        ledger_(ledger),
        cancellation_(cancellation),
        options_(options) {}

  /// Returns when ready() is true; `r` is the instruction that waits. Spins a little, then sleeps in the transport.
  /// Throws Error(stalled) after the deadline plus kGrace without a completed transfer or help given to a kernel;
  /// Error(interrupted); Stopped.
  template <class Ready>
  void until(const Ready& ready, const Resolved& r) {
    if (!ready()) wait_longer(ready, r);
  }

  [[nodiscard]] Duration deadline() const { return options_.limit.time; }

 private:
  /// The longest sleep while other walkers may need help, or while a device, which wakes no thread, may end the wait.
  static constexpr std::chrono::microseconds kShortIdle{50};
  /// The first sleep when only a transfer can end the wait. Sleeps double up to kLongestIdle, to leave the cores to
  /// other threads.
  static constexpr std::chrono::microseconds kLongIdle{2000}, kLongestIdle{50'000};
  /// A wait is reported after this time.
  static constexpr std::chrono::milliseconds kLong{100};
  /// Added to the deadline, but at most the deadline again. A task in an endless loop does not get this time and so
  /// reports first: the others wait because of its loop.
  static constexpr std::chrono::seconds kGrace{1};
  /// A wait spins for 1/kSpinShare of Workers::spins() turns, and pauses only every kPauseEvery turns, since pauses
  /// delay short messages.
  static constexpr int kSpinShare = 4, kPauseEvery = 8;

  template <class Ready>
  [[gnu::noinline]] void wait_longer(const Ready& ready, const Resolved& r) {
    const auto spin = [&] { return workers_.spin(ready, workers_.spins() / kSpinShare, kPauseEvery); };
    if (spin()) return;
    const Duration patience = deadline() + std::min<Duration>(deadline(), kGrace);
    TimePoint last = options_.limit.clock->now();
    const TimePoint begin = system_clock().now();
    Report report(options_.position);
    const bool no_other = resolved_.is_single_threaded() && !resolved_.queued();
    std::chrono::microseconds nap = no_other ? kLongIdle : kShortIdle;
    const std::chrono::microseconds longest = no_other ? kLongestIdle : kShortIdle;
    while (!ready()) {
      cancellation_.check_stopping();
      const bool helped = workers_.help();
      if (helped && spin()) return;
      if (helped || ledger_.poll()) {
        last = options_.limit.clock->now();
        continue;
      }
      cancellation_.check_must_end();
      if (const Duration waited = options_.limit.clock->now() - last; waited >= patience) throw stall_error(r, waited);
      if (report.due() && r.link != nullptr && system_clock().now() - begin >= kLong) report.begin_wait(awaited(r));
      transport_.idle(nap);
      nap = std::min(2 * nap, longest);
    }
  }

  /// Reports a long wait; the destructor reports its end.
  class Report {
   public:
    explicit Report(Position* position) : position_(position) {}
    ~Report() {
      if (reported_) position_->end_wait();
    }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;
    [[nodiscard]] bool due() const { return position_ != nullptr && !reported_; }
    void begin_wait(Awaited awaited) {
      position_->begin_wait(std::move(awaited));
      reported_ = true;
    }

   private:
    Position* const position_;
    bool reported_ = false;
  };

  [[nodiscard]] Error stall_error(const Resolved& r, Duration waited) const;
  [[nodiscard]] Awaited awaited(const Resolved& r) const;

  const ResolvedPlan& resolved_;
  Transport& transport_;
  Workers& workers_;
  Ledger& ledger_;
  const Cancellation& cancellation_;
  const WaitingOptions options_;
};

}  // namespace ferry
