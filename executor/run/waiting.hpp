// Waiting: how walker 0 waits, for messages and for other walkers.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "executor/run/cancellation.hpp"
#include "executor/run/ledger.hpp"
#include "executor/run/resolved.hpp"
#include "executor/run/workers.hpp"

namespace ferry {

/// One per task. While it waits, it makes progress on transfers and helps other walkers with their kernels.
class Waiting {
 public:
  Waiting(const ResolvedPlan& resolved, Transport& transport, Workers& workers, Ledger& ledger,
          const Cancellation& cancellation, Duration deadline)
      : resolved_(resolved),
        transport_(transport),
        workers_(workers),
        ledger_(ledger),
        cancellation_(cancellation),
        deadline_(deadline) {}

  /// Returns when ready() is true; `r` is the instruction that waits. Spins a little, then sleeps in Transport::idle().
  /// Throws Error(stalled) when for the deadline (and kGrace) no transfer has completed and no kernel was helped;
  /// Error(interrupted); Stopped.
  template <class Ready>
  void until(const Ready& ready, const Resolved& r) {
    if (!ready()) longer(ready, r);
  }

  [[nodiscard]] Duration deadline() const { return deadline_; }

 private:
  /// Longest sleep while other walkers may want help.
  static constexpr std::chrono::microseconds kShortIdle{50};
  /// First sleep when only a transfer can wake it; doubled up to the longest, to leave the cores to others.
  static constexpr std::chrono::microseconds kLongIdle{2000}, kLongestIdle{50'000};
  /// Added to the deadline, at most doubling it, so that a task in an endless loop, which has no grace, reports first:
  /// it is the cause.
  static constexpr std::chrono::seconds kGrace{1};
  /// It spins for 1/kSpinShare of Workers::spins(), and pauses only every kPauseEvery turns: pauses delay short
  /// messages.
  static constexpr int kSpinShare = 4, kPauseEvery = 8;

  template <class Ready>
  [[gnu::noinline]] void longer(const Ready& ready, const Resolved& r) {
    const auto spin = [&] { return workers_.spin(ready, workers_.spins() / kSpinShare, kPauseEvery); };
    if (spin()) return;
    const Duration patience = deadline_ + std::min<Duration>(deadline_, kGrace);
    TimePoint last = system_clock().now();
    std::chrono::microseconds nap = resolved_.single() ? kLongIdle : kShortIdle;
    const std::chrono::microseconds longest = resolved_.single() ? kLongestIdle : kShortIdle;
    while (!ready()) {
      cancellation_.check_stopping();
      const bool helped = workers_.help();
      if (helped && spin()) return;
      if (helped || ledger_.poll()) {
        last = system_clock().now();
        continue;
      }
      cancellation_.check_asked();
      if (system_clock().now() - last >= patience) throw verdict(r, system_clock().now() - last);
      transport_.idle(nap);
      nap = std::min(2 * nap, longest);
    }
  }

  [[nodiscard]] Error verdict(const Resolved& r, Duration waited) const;

  const ResolvedPlan& resolved_;
  Transport& transport_;
  Workers& workers_;
  Ledger& ledger_;
  const Cancellation& cancellation_;
  const Duration deadline_;
};

}  // namespace ferry
