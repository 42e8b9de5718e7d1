// PreparedPlans: the plans of one task of a session, after all tasks have found them to be the same.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/job/job_member.hpp"
#include "executor/observe/work_timer.hpp"
#include "executor/run/task_executor.hpp"
#include "executor/session/agreement.hpp"
#include "executor/session/plan_cache.hpp"

namespace ferry {

/// A plan that all tasks agree on, and its executor once it has run.
struct Prepared {
  PlanCache::Shared planned;
  std::optional<WorkTimer> timer;          ///< where there are other tasks to compare with
  std::unique_ptr<TaskExecutor> executor;  ///< made when it is first run
  std::uint64_t bound = 0;                 ///< what VariableStore::bind() returned when the executor was made
};

/// One per task. of() and candidates() are collective: all tasks call them.
class PreparedPlans {
 public:
  PreparedPlans(JobMember& member, PlanCache& plans, BucketBytes bucket_bytes)
      : member_(member), plans_(plans), bucket_bytes_(bucket_bytes) {}

  /// The plan of the request, made at the first call. Errors as make_plan; Error(plan) if tasks have made different
  /// plans.
  [[nodiscard]] std::shared_ptr<Prepared> of(const Graph& graph, const Agreed& agreed);
  /// The only plan of a PlanSession.
  [[nodiscard]] std::shared_ptr<Prepared> of(const PlanCache::Shared& planned);
  struct Candidates {
    std::vector<PlanCache::Shared> plans;  ///< at least one
    int refused = 0;                       ///< bucket sizes with which there is no plan
  };
  /// The request's plans with several bucket sizes, the session's own first; of plans that send the same messages only
  /// the first. Sizes with refused plans (for example over the budget) are left out; Error(plan) if all are.
  [[nodiscard]] Candidates candidates(const Graph& graph, const Agreed& agreed);
  /// Makes all plans have that bucket size from now on, and forgets the others.
  void use(BucketBytes bucket_bytes);
  /// The request's key in PlanCache. It marks graphs without entries, such as those that restore variables, apart.
  [[nodiscard]] static std::string key_of(const Graph& graph, const Agreed& agreed);

 private:
  std::shared_ptr<Prepared> prepared(const std::string& key, const PlanCache::Shared& planned);
  void compare(const PlanCache::Planned& planned);

  JobMember& member_;
  PlanCache& plans_;
  BucketBytes bucket_bytes_;
  std::map<std::pair<std::string, BucketBytes>, std::shared_ptr<Prepared>> prepared_;
};

}  // namespace ferry
