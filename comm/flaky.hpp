// A transport with faults, for tests: wraps any other, and delays or drops its messages at random from a seed.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/transport.hpp"

namespace ferry {

/// The kinds of faults, and their frequencies. Equal options and equal calls give equal faults.
struct FlakyOptions {
  std::uint64_t seed = 0;
  double delay = 0;        ///< share of the sends that are held back; later sends on the same channel wait behind them
  int longest_delay = 20;  ///< a send is held back for at most this many calls of done() and idle()
  /// Share of the sends that cut their channel, like a broken link. Such a send and all later sends on the channel
  /// never arrive, although their tickets complete.
  double drop = 0;
  /// After this number of sends and receives the task is dead: its calls throw, and the other tasks receive nothing.
  /// -1: never.
  std::int64_t kill_after = -1;
  /// After this number of sends and receives the task aborts the job with Code::numeric. -1: never.
  std::int64_t abort_after = -1;
};

/// The faults so far, so that a test can check that they happened.
struct FlakyCount {
  std::int64_t delayed = 0;
  std::int64_t dropped = 0;
  bool killed = false;
};

/// Thread-safe if `inner` is. `count` may be null; it is written under the transport's own lock, so read it while no
/// call runs.
[[nodiscard]] std::unique_ptr<Transport> flaky_transport(std::unique_ptr<Transport> inner, const FlakyOptions& options,
                                                         std::shared_ptr<FlakyCount> count = nullptr);

}  // namespace ferry
