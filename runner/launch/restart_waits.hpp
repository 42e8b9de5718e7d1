// How long `ferry launch` waits before it starts a job again.
#pragma once

#include "base/system/clock.hpp"

namespace ferry {

/// Waits that double from one restart to the next, up to a minute (or the first wait, if that is longer), since what
/// made the job fail may last. After a job that ran for ten minutes they start again from the shortest. As the back-off
/// of Kubernetes.
class RestartWaits {
 public:
  explicit RestartWaits(Duration first) : first_(first), next_(first) {}

  /// The wait before the restart of a job that has failed after it `ran` for so long.
  [[nodiscard]] Duration after(Duration ran);

 private:
  Duration first_, next_;
};

}  // namespace ferry
