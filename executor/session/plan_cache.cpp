#include "executor/session/plan_cache.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/job/build.hpp"
#include "executor/job/cluster_state.hpp"
#include "executor/session/constant_ops.hpp"
#include "kernels/kernel.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"

namespace ferry {

namespace {

DeviceKind usual_device(const Topology& topology) {
  const bool gpus =
      std::all_of(topology.tasks.begin(), topology.tasks.end(), [](const TaskInfo& t) { return t.gpus > 0; });
  return gpus ? DeviceKind::gpu : DeviceKind::cpu;
}

/// A refusal of the plan for the smaller batch at the end of an epoch, although the plan for whole batches is not
/// refused.
Error of_last_batch(Error error, const Signature& signature) {
  for (const auto& [batches, rows] : signature.rows)
    error.note("in the last batch of an epoch, where " + batches + " leaves " + plural(rows, "row"));
  return error.hint(
      "write -1 for the size of the batch where a layer takes it for granted, or leave such rows out: batch(…, {.rest "
      "= "
      "Rest::drop})");
}

}  // namespace

KernelsOfDevices kernels_of(const SessionOptions& options, const Cluster& cluster) {
  return {options.kernels != nullptr ? *options.kernels : cpu_kernels(), cluster.state().devices};
}

PlanCache::Shared PlanCache::verified(PlanResult result, std::uint64_t of_plan, const OpSet* ops,
                                      const KernelLookup& kernels) {
  auto planned = std::make_shared<Planned>();
  planned->result = std::move(result);
  require_verified(planned->result.plan, {ops, &kernels});
  planned->fingerprint = Hasher().add(of_plan).add(build_text()).add(cpu_kernels().library()).digest();
  return planned;
}

PlanCache::Shared PlanCache::get(const std::string& key, const Graph& graph, const Signature& signature,
                                 BucketBytes bucket_bytes) {
  const std::lock_guard lock(mutex_);
  if (const auto found = plans_.find({key, bucket_bytes}); found != plans_.end()) return found->second;
  PlanOptions options;
  options.soft_placement = options_.soft_placement;
  options.default_device = options_.default_device.value_or(usual_device(cluster_.topology()));
  options.reasons = options_.reasons;
  options.on_pass = options_.on_pass;
  options.check_passes = options_.check_passes;
  options.one_host = cluster_.options().invariant > 0;
  options.bucket_bytes = bucket_bytes;
  const KernelTable& table = options_.kernels != nullptr ? *options_.kernels : cpu_kernels();
  options.evaluate = [&table](const ConstantOp& op) { return evaluate(table, op); };
  options.fuse_from = options_.check_numerics ? 0 : options_.fuse_from;
  PlanResult result;
  try {
    result = make_plan(graph, signature, cluster_.topology(), kernels_, options);
  } catch (const Error& error) {
    if (signature.rows.empty() || error.code() != Code::plan) throw;
    throw of_last_batch(error, signature);
  }
  const std::uint64_t of_plan = fingerprint(result.plan);
  Shared planned = verified(std::move(result), of_plan, options_.ops, kernels_);
  for (const std::string& warning : planned->result.warnings) log_warn(warning);
  return plans_[{key, bucket_bytes}] = std::move(planned);
}

void PlanCache::keep(BucketBytes bucket_bytes) {
  const std::lock_guard lock(mutex_);
  std::erase_if(plans_, [&](const auto& entry) { return entry.first.second != bucket_bytes; });
}

}  // namespace ferry
