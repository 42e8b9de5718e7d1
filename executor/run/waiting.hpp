// Waiting: how walker 0 waits, for messages and for other walkers.
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
  std::uint64_t plan_id = 0;     ///< tells the plan from others
};

/// One per task. While it waits, it moves the transfers on and helps other walkers with their kernels; after the
/// deadline it gives up.
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
    if (!ready()) longer(ready, r);
  }

  [[nodiscard]] Duration deadline() const { return options_.limit.time; }

 private:
  /// Longest sleep while other walkers may want help, or a device may end the wait, which wakes nobody.
  static constexpr std::chrono::microseconds kShortIdle{50};
  /// First sleep when only a transfer can end the wait; doubled up to the longest, to leave the cores to others.
  static constexpr std::chrono::microseconds kLongIdle{2000}, kLongestIdle{50'000};
  /// From so long on a wait is reported.
  static constexpr std::chrono::milliseconds kLong{100};
  /// Added to the deadline, at most doubling it. A task in an endless loop does not get it and so reports first: its
  /// loop is why the others wait.
  static constexpr std::chrono::seconds kGrace{1};
  /// It spins for 1/kSpinShare of Workers::spins() turns, and pauses only every kPauseEvery turns, since pauses delay
  /// short messages.
  static constexpr int kSpinShare = 4, kPauseEvery = 8;

  template <class Ready>
  [[gnu::noinline]] void longer(const Ready& ready, const Resolved& r) {
    const auto spin = [&] { return workers_.spin(ready, workers_.spins() / kSpinShare, kPauseEvery); };
    if (spin()) return;
    const Duration patience = deadline() + std::min<Duration>(deadline(), kGrace);
    TimePoint last = options_.limit.clock->now();
    const TimePoint begin = system_clock().now();
    Report report(options_.position);
    const bool no_other = resolved_.single() && !resolved_.queued();
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
      cancellation_.check_asked();
      if (const Duration waited = options_.limit.clock->now() - last; waited >= patience) throw verdict(r, waited);
      if (report.due() && r.link != nullptr && system_clock().now() - begin >= kLong) report.waits(awaited(r));
      transport_.idle(nap);
      nap = std::min(2 * nap, longest);
    }
  }

  /// A long wait, reported while it lives.
  class Report {
   public:
    explicit Report(Position* position) : position_(position) {}
    ~Report() {
      if (reported_) position_->goes_on();
    }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;
    [[nodiscard]] bool due() const { return position_ != nullptr && !reported_; }
    void waits(Awaited awaited) {
      position_->waits(std::move(awaited));
      reported_ = true;
    }

   private:
    Position* const position_;
    bool reported_ = false;
  };

  [[nodiscard]] Error verdict(const Resolved& r, Duration waited) const;
  [[nodiscard]] Awaited awaited(const Resolved& r) const;

  const ResolvedPlan& resolved_;
  Transport& transport_;
  Workers& workers_;
  Ledger& ledger_;
  const Cancellation& cancellation_;
  const WaitingOptions options_;
};

}  // namespace ferry
