#include "executor/session/session_plans.hpp"

#include <algorithm>
#include <iterator>

#include "base/blob.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/job/build.hpp"
#include "executor/job/difference.hpp"
#include "executor/session/constant_ops.hpp"
#include "kernels/kernel.hpp"
#include "placement/planner.hpp"
#include "plan/requirements.hpp"
#include "plan/variable_packing.hpp"
#include "plan/verify/verify.hpp"

namespace ferry {
namespace {

/// The error of the plan for the smaller batch at the end of an epoch, if the plan for whole batches has no error.
Error of_last_batch(Error error, const Signature& signature) {
  for (const auto& [batches, rows] : signature.rows)
    error.note("in the last batch of an epoch, where " + batches + " leaves " + plural(rows, "row"));
  return error.hint(
      "write -1 for the size of the batch where a layer takes it for granted, or leave such rows out: batch(…, {.rest "
      "= "
      "Rest::drop})");
}

/// The bucket sizes in bytes that candidates() tries besides the session's own: 0 (no buckets), then from a few pages
/// to a size that keeps any link busy.
constexpr std::int64_t kSizes[] = {0, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};

/// The number of newest plans that a task keeps, however large they are.
constexpr std::size_t kNewestPlans = 8;

/// The memory in bytes of a plan and its steps, on the task that needs the most: the same number on all tasks.
std::uint64_t bytes_of(const Plan& plan) {
  constexpr std::size_t kOfInstruction = 1000;  // bytes of an instruction with its operands, buffers and resolved form
  std::uint64_t instructions = 0, most = 0;
  for (const PlanClass& c : plan.classes) {
    instructions += c.instructions.size();
    std::uint64_t bytes = 0;
    for (const PlanDevice& device : c.devices) bytes += device.step_bytes + device.state_bytes;
    most = std::max(most, bytes);
  }
  return most + kOfInstruction * instructions;
}

/// Error(usage), the same on all tasks, if an option on `task` differs from task 0.
void require_same_number(const char* options, std::int64_t first, std::int64_t other, std::size_t task) {
  if (first == other) return;
  throw Error(Code::usage, std::string("the tasks have different ") + options + ": " +
                               std::to_string(static_cast<std::uint64_t>(first)) + " on task 0, " +
                               std::to_string(static_cast<std::uint64_t>(other)) + " on task " + std::to_string(task))
      .hint("make the session with the same ExecutionOptions on every task");
}

/// The options that must be the same on all tasks, since they decide results and exchanges between tasks. By their
/// names.
std::vector<std::pair<const char*, std::int64_t>> common_options(const ExecutionOptions& run) {
  return {{"seeds", static_cast<std::int64_t>(run.seed)},
          {"check_replicas", run.check_replicas},
          {"plan_cache_bytes", static_cast<std::int64_t>(run.plan_cache_bytes)},
          {"check_numerics", run.check_numerics ? 1 : 0},
          {"replay_turns (1: given)", run.replay_turns.empty() ? 0 : 1},
          {"trace_file or on_trace (1: given)", traces(run) ? 1 : 0}};
}

std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlanClass& c : plan.classes)
    for (const Instruction& i : c.instructions) {
      std::string line = formatted("{} {} '{}'", name_of(i.what), as_is(plan.string(i.op)), plan.string(i.name));
      for (const Range range : {i.inputs, i.outputs})
        for (const BufferId b : c.operands_of(range)) {
          const Buffer& buffer = c.buffers[b];
          line += " " + Type{buffer.dtype, Shape(std::span<const std::int64_t>(buffer.sizes))}.str();
        }
      if (i.line != kNone) line += " at " + plan.line(i.line).str();
      lines.push_back(std::move(line));
    }
  return lines;
}

/// Whether two plans of one request send the same messages. Such plans can differ only in the grouping of values into
/// messages, which shows in names and sizes.
bool same_messages(const Plan& a, const Plan& b) {
  return std::equal(a.collectives.begin(), a.collectives.end(), b.collectives.begin(), b.collectives.end(),
                    [&](const Collective& one, const Collective& other) {
                      return a.string(one.name) == b.string(other.name) && one.parts == other.parts;
                    }) &&
         std::equal(a.channels.begin(), a.channels.end(), b.channels.begin(), b.channels.end(),
                    [&](const Channel& one, const Channel& other) {
                      return a.string(one.name) == b.string(other.name) && one.bytes == other.bytes;
                    });
}

}  // namespace

// ---- The plans of a process ----

SessionPlans::ProcessPlans::ProcessPlans(const Cluster& cluster, const SessionOptions& options)
    : cluster_(cluster),
      options_(options),
      cpu_(options.run.kernels != nullptr ? *options.run.kernels : cpu_kernels()),
      kernels_(cpu_, cluster.state().devices) {}

SharedPlan SessionPlans::ProcessPlans::verified(PlanResult result, std::uint64_t fingerprint) const {
  auto planned = std::make_shared<VerifiedPlan>();
  planned->result = std::move(result);
  require_verified(planned->result.plan, {options_.run.ops, &kernels_});
  planned->fingerprint = Hasher().add(fingerprint).add(build_text()).add(cpu_kernels().library()).digest();
  return planned;
}

SharedPlan SessionPlans::ProcessPlans::given(Plan plan) const try {
  require_tasks(plan, cluster_.topology());
  require_memory(plan, cluster_.topology());
  require_gpu_groups(plan, cluster_.topology());
  const std::uint64_t of_plan = fingerprint(plan);
  plan.topology = cluster_.topology();
  return verified({std::move(plan), {}, {}}, of_plan);
} catch (const Error& error) {
  throw cluster_.state().found_by_all(error);
}

Equality SessionPlans::ProcessPlans::compare(const Graph& graph, Signature signature, const Plan& plan) const {
  for (std::size_t k = 0; k < std::min(signature.feeds.size(), plan.feeds.size()); ++k) {
    signature.feeds[k].task = plan.feeds[k].task;
    signature.feeds[k].by_parts = plan.feeds[k].by_parts();
  }
  return ferry::compare(graph, signature, plan,
                        {&kernels_, [this](const ConstantOp& op) { return evaluate(cpu_, op); }});
}

PlanResult SessionPlans::ProcessPlans::make(const Graph& graph, const Signature& signature,
                                            BucketBytes bucket_bytes) const {
  PlanOptions options{options_.plan};
  options.one_host = cluster_.options().invariant > 0;
  options.bucket_bytes = bucket_bytes;
  options.evaluate = [this](const ConstantOp& op) { return evaluate(cpu_, op); };
  if (options_.run.check_numerics) options.fuse_from = 0;
  try {
    return make_plan(graph, signature, cluster_.topology(), kernels_, options);
  } catch (const Error& error) {
    if (signature.rows.empty() || error.code() != Code::plan) throw;
    throw of_last_batch(error, signature);
  }
}

void SessionPlans::ProcessPlans::prove(const Graph& graph, const Signature& signature, const Plan& plan) const {
  const Equality equality = compare(graph, signature, plan);
  if (equality.verdict == Equality::Verdict::not_proved)
    return log_warn("the plan of --place auto is not proved to compute the graph: " + equality.reason +
                    "; --no-equal leaves the proof out");
  try {
    require_equal(equality);
  } catch (Error& error) {
    throw error.hint("this is a mistake of --place auto: use --place annotated, and report the mistake with the graph");
  }
}

SharedPlan SessionPlans::ProcessPlans::get(const Graph& graph, const Agreed& agreed, BucketBytes bucket_bytes) {
  const std::string key = marked(graph, agreed.key);
  const std::lock_guard lock(mutex_);
  if (const auto found = plans_.find({key, bucket_bytes}); found != plans_.end())
    if (SharedPlan kept = found->second.lock()) return kept;
  std::erase_if(plans_, [](const auto& entry) { return entry.second.expired(); });
  PlanResult result = make(graph, agreed.signature, bucket_bytes);
  const std::uint64_t of_plan = fingerprint(result.plan);
  SharedPlan planned = verified(std::move(result), of_plan);
  if (planned->result.placement && options_.plan.proves_placing) prove(graph, agreed.signature, planned->result.plan);
  for (const std::string& warning : planned->result.warnings) log_warn(warning);
  plans_[{key, bucket_bytes}] = planned;
  return planned;
}

// ---- The plans of a task ----

std::string SessionPlans::marked(const Graph& graph, const std::string& key) {
  return (graph.entries().empty() ? "restore " : "") + key;
}

std::shared_ptr<PreparedPlan> SessionPlans::prepared_plan(const Graph& graph, const Agreed& agreed) {
  const std::string key = marked(graph, agreed.key);
  if (auto plan = known(key)) return plan;
  return prepared(key,
                  task_.member.run_without_exchange([&] { return process_plans_.get(graph, agreed, bucket_bytes_); }));
}

std::shared_ptr<PreparedPlan> SessionPlans::prepared_plan(const SharedPlan& given) {
  if (auto plan = known("plan")) return plan;
  return prepared("plan", given);
}

std::shared_ptr<PreparedPlan> SessionPlans::known(const std::string& key) {
  const auto found = prepared_.find({key, bucket_bytes_});
  if (found == prepared_.end()) return nullptr;
  found->second->used = ++uses_;
  return found->second;
}

std::shared_ptr<PreparedPlan> SessionPlans::prepared(const std::string& key, const SharedPlan& planned) {
  compare(*planned);
  auto fresh = std::make_shared<PreparedPlan>();
  fresh->planned = planned;
  const Plan& plan = planned->result.plan;
  const JobMember& member = task_.member;
  if (member.cluster().watch && plan.class_for(member.task()).queues.empty())
    fresh->timer.emplace(plan, member.task(), planned->fingerprint, member.cluster().crowded);
  fresh->packed = packed_variables(plan, member.task());
  fresh->written = written_variables(plan, member.task());
  fresh->bytes = bytes_of(plan);
  fresh->used = ++uses_;
  prepared_[{key, bucket_bytes_}] = fresh;
  kept_bytes_ += fresh->bytes;
  keep_within_budget();
  return fresh;
}

void SessionPlans::keep_within_budget() {
  while (kept_bytes_ > task_.options.run.plan_cache_bytes && prepared_.size() > kNewestPlans) {
    const auto oldest = std::ranges::min_element(prepared_, {}, [](const auto& entry) { return entry.second->used; });
    kept_bytes_ -= oldest->second->bytes;
    prepared_.erase(oldest);
  }
}

/// Compares the plan and the common options between the tasks.
void SessionPlans::compare(const VerifiedPlan& planned) {
  JobMember& member = task_.member;
  member.run_collective([&] {
    const auto options = common_options(task_.options.run);
    BlobWriter mine;
    for (const auto& option : options) mine.add(option.second);
    const auto all = member.exchange(mine.add(planned.fingerprint).take());
    bool same = true;
    for (std::size_t task = 1; task < all.size(); ++task) {
      if (all[task].empty()) continue;  // the task is lost
      BlobReader first(all[0]), other(all[task]);
      for (const auto& option : options) require_same_number(option.first, first.number(), other.number(), task);
      same = same && first.number() == other.number();
    }
    if (same) return data_files_.require_same(planned.result.plan, member);
    require_same_library(cpu_kernels().library(), member.transport(), member.deadline());
    reject_difference("plans", lines_of(planned.result.plan), member.transport(), member.deadline());
  });
}

SessionPlans::Candidates SessionPlans::candidates(const Graph& graph, const Agreed& agreed) {
  std::vector<BucketBytes> sizes{bucket_bytes_};
  sizes.insert(sizes.end(), std::begin(kSizes), std::end(kSizes));
  Candidates found;
  std::optional<Error> first_refusal;
  for (const BucketBytes& size : sizes) {
    SharedPlan planned;
    try {
      planned = process_plans_.get(graph, agreed, size);
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;
      if (!first_refusal) first_refusal = error;
      ++found.refused;
      continue;
    }
    const bool known = std::any_of(found.plans.begin(), found.plans.end(), [&](const auto& other) {
      return same_messages(planned->result.plan, other->result.plan);
    });
    if (known) continue;
    compare(*planned);
    found.plans.push_back(std::move(planned));
  }
  if (found.plans.empty()) throw task_.member.cluster().found_by_all(*first_refusal);
  return found;
}

void SessionPlans::set_bucket_bytes(BucketBytes bucket_bytes) {
  bucket_bytes_ = bucket_bytes;
  std::erase_if(prepared_, [&](const auto& entry) {
    const bool other = entry.first.second != bucket_bytes_;
    if (other) kept_bytes_ -= entry.second->bytes;
    return other;
  });
}

std::uint64_t SessionPlans::bind_variables(const VerifiedPlan& planned) {
  return task_.variables.bind(planned.variables(), task_.member.transport(), task_.member.deadline());
}

void SessionPlans::bind(PreparedPlan& prepared) {
  const std::uint64_t bound = bind_variables(*prepared.planned);
  task_.variables.count_write(prepared.written);
  const std::uint64_t writes = task_.variables.writes(prepared.packed);
  const bool rewritten = writes != std::exchange(prepared.packed_writes, writes);
  if (prepared.executor && bound == prepared.bound) {
    if (rewritten) prepared.executor->pack_variables_again();
    return;
  }
  ExecutorOptions options;
  options.trace = task_.trace ? &*task_.trace : nullptr;
  options.recorder = task_.recorder ? &*task_.recorder : nullptr;
  options.turns = task_.turns ? &*task_.turns : nullptr;
  options.timer = prepared.timer ? &*prepared.timer : nullptr;
  prepared.executor = executor(*prepared.planned, options);
  prepared.bound = bound;
}

std::unique_ptr<TaskExecutor> SessionPlans::measured_executor(const VerifiedPlan& planned) {
  static_cast<void>(bind_variables(planned));
  task_.variables.count_write(written_variables(planned.result.plan, task_.member.task()));
  ExecutorOptions options;
  options.effects = false;
  return executor(planned, options);
}

std::unique_ptr<TaskExecutor> SessionPlans::executor(const VerifiedPlan& planned, ExecutorOptions options) {
  const JobMember& member = task_.member;
  options.run = task_.options.run;
  options.limit = member.limit();
  options.devices = task_.variables.devices();
  options.device_kernels = process_plans_.device_kernels();
  task_.groups.join(planned.result.plan, member.task(), options.devices, member.transport(), member.deadline());
  options.groups = &task_.groups;
  options.position = member.position();
  options.watch = member.cluster().watch.get();
  options.plan_id = planned.fingerprint;
  const auto address = [this](std::string_view name) { return task_.variables.address(name); };
  return std::make_unique<TaskExecutor>(planned.result.plan, member.task(), member.transport(), task_.workers, address,
                                        options);
}

}  // namespace ferry
