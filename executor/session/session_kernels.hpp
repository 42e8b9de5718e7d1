// SessionKernels: the kernels of a session, for the CPU and for the job's devices besides it.
#pragma once

#include <memory>

#include "executor/job/cluster_state.hpp"
#include "executor/session/session.hpp"
#include "kernels/device.hpp"

namespace ferry {

/// Thread-safe. The options' kernels must outlive it.
class SessionKernels {
 public:
  SessionKernels(const Cluster::State& job, const SessionOptions& options)
      : cpu_(options.kernels != nullptr ? *options.kernels : cpu_kernels()),
        devices_(job.devices ? job.devices->kernels(cpu_) : nullptr),
        lookup_(cpu_, devices_.get()) {}

  /// Null: the job has no devices besides the hosts.
  [[nodiscard]] const KernelTable* devices() const { return devices_.get(); }
  [[nodiscard]] const KernelLookup& lookup() const { return lookup_; }

 private:
  const KernelTable& cpu_;
  const std::shared_ptr<const KernelTable> devices_;
  const KernelsOfDevices lookup_;
};

}  // namespace ferry
