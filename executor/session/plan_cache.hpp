// PlanCache: the plans of a session, made once and shared by the tasks of a process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "executor/job/cluster.hpp"
#include "executor/session/session_types.hpp"
#include "executor/state/variable_layout.hpp"
#include "kernels/device.hpp"
#include "plan/plan_result.hpp"
#include "plan/signature.hpp"

namespace ferry {

/// The options' kernels for the CPU, which must outlive the result, and those for the job's devices.
[[nodiscard]] KernelsOfDevices kernels_of(const SessionOptions& options, const Cluster& cluster);

/// As SessionOptions::bucket_bytes.
using BucketBytes = std::optional<std::int64_t>;

/// Verified plans by request and bucket size. Thread-safe.
class PlanCache {
 public:
  struct Planned {
    PlanResult result;
    std::uint64_t fingerprint = 0;  ///< of the plan, this build of ferry and the library of its kernels
    /// The layouts of the plan's variables, made at the first call. Thread-safe.
    [[nodiscard]] const VariableLayouts& variables() const {
      std::call_once(asked_, [this] { layouts_ = variable_layouts(result.plan); });
      return layouts_;
    }

   private:
    mutable std::once_flag asked_;
    mutable VariableLayouts layouts_;
  };
  using Shared = std::shared_ptr<const Planned>;

  PlanCache(const Cluster& cluster, const SessionOptions& options)
      : cluster_(cluster), options_(options), kernels_(kernels_of(options, cluster)) {}
  /// Verifies the plan and returns it; Error(plan) if it fails. `of_plan` is its fingerprint.
  [[nodiscard]] static Shared verified(PlanResult result, std::uint64_t of_plan, const OpSet* ops,
                                       const KernelLookup& kernels);
  [[nodiscard]] const KernelsOfDevices& kernels() const { return kernels_; }
  /// The plan with that bucket size. The first caller makes it while others wait. Errors as make_plan; after an error
  /// the next call tries again.
  [[nodiscard]] Shared get(const std::string& key, const Graph& graph, const Signature& signature,
                           BucketBytes bucket_bytes);
  /// Forgets plans with other bucket sizes.
  void keep(BucketBytes bucket_bytes);

 private:
  const Cluster& cluster_;
  const SessionOptions& options_;
  const KernelsOfDevices kernels_;
  std::mutex mutex_;
  std::map<std::pair<std::string, BucketBytes>, Shared> plans_;
};

}  // namespace ferry
