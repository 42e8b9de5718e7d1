// A transport with faults, for tests: wraps any other and harms its messages by a seeded schedule.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/transport.hpp"

namespace ferry {

/// What goes wrong, and how often. Equal options and equal calls give equal faults.
struct FlakyOptions {
  std::uint64_t seed = 0;
  double delay = 0;        ///< share of the sends that are held back, with those behind them on their channel …
  int longest_delay = 20;  ///< … for at most so many calls of done() and idle()
  double drop = 0;         ///< share of the sends after which the channel is dead: it and what follows never arrives,
                           ///< as over a cut link; their tickets complete
  std::int64_t kill_after =
      -1;  ///< after so many sends and receives the task is dead: all its calls throw, others hear nothing
  std::int64_t abort_after = -1;  ///< after so many of them the task aborts the job with Code::numeric
};

/// What went wrong so far, so that a test can require that it did.
struct FlakyCount {
  std::int64_t delayed = 0;
  std::int64_t dropped = 0;
  bool killed = false;
};

/// Thread-safe if `inner` is. `count` may be null; it is written under the transport's own lock, so read it when no
/// call is under way.
[[nodiscard]] std::unique_ptr<Transport> flaky_transport(std::unique_ptr<Transport> inner, const FlakyOptions& options,
                                                         std::shared_ptr<FlakyCount> count = nullptr);

}  // namespace ferry
