// RestartWaits: the times that `ferry launch` waits before it restarts a job.
#pragma once

#include "base/system/clock.hpp"

namespace ferry {

/// The waits double from one restart to the next, up to a minute (or the first wait, if that is longer), since the
/// cause of the failure may last. After a job that ran for ten minutes, they begin again with the first wait. The
/// back-off of Kubernetes works in the same way.
class RestartWaits {
 public:
  explicit RestartWaits(Duration first) : first_(first), next_(first) {}

  /// The wait before the restart of a job that failed after it had run for `ran`.
  [[nodiscard]] Duration after(Duration ran);

 private:
  Duration first_, next_;
};

}  // namespace ferry
