// PlanCache: the plans of a session, made once and shared by the tasks of a process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "executor/session/session.hpp"
#include "executor/state/variable_layout.hpp"
#include "placement/planner.hpp"

namespace ferry {

/// As SessionOptions::bucket_bytes.
using BucketBytes = std::optional<std::int64_t>;

/// Verified plans, by request and size of buckets. Thread-safe.
class PlanCache {
 public:
  struct Planned {
    PlanResult result;
    std::uint64_t fingerprint = 0;  ///< of the plan, this build of ferry and the CPU kernels' KernelTable::library()
    /// The layouts of the plan's variables, made when they are first asked for. Thread-safe.
    [[nodiscard]] const VariableLayouts& variables() const {
      std::call_once(asked_, [this] { layouts_ = variable_layouts(result.plan); });
      return layouts_;
    }

   private:
    mutable std::once_flag asked_;
    mutable VariableLayouts layouts_;
  };
  using Shared = std::shared_ptr<const Planned>;

  PlanCache(const Cluster& cluster, const SessionOptions& options) : cluster_(cluster), options_(options) {}
  /// Returns the plan once it has passed the verifier, else Error(plan); `of_plan` is its fingerprint.
  [[nodiscard]] static Shared verified(PlanResult result, std::uint64_t of_plan, const SessionOptions& options);
  /// The plan with buckets of that size, for a request with this key. The first caller makes it, others wait. Errors as
  /// make_plan; an error is not kept, so that the next caller tries anew.
  [[nodiscard]] Shared get(const std::string& key, const Graph& graph, const Signature& signature,
                           BucketBytes bucket_bytes);
  /// Forgets plans with other bucket sizes.
  void keep(BucketBytes bucket_bytes);

 private:
  const Cluster& cluster_;
  const SessionOptions& options_;
  std::mutex mutex_;
  std::map<std::pair<std::string, BucketBytes>, Shared> plans_;
};

}  // namespace ferry
