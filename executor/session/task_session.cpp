#include "executor/session/task_session.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/hash.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/blob.hpp"
#include "executor/job/build.hpp"
#include "executor/job/capabilities.hpp"
#include "executor/job/cluster_state.hpp"
#include "executor/job/difference.hpp"
#include "executor/observe/numerics.hpp"
#include "executor/state/checkpoints.hpp"
#include "graph/op/core_ops.hpp"
#include "kernels/kernel.hpp"
#include "placement/verify/verify.hpp"

namespace ferry {
namespace {

/// How often a task that runs steps asks whether the job goes on.
constexpr std::chrono::milliseconds kLookForFailure{10};

/// The variables that a run reads (their values must be there) and writes.
struct VariableUse {
  std::vector<OpId> read, written;
};

VariableUse variable_use(const Graph& graph, const Signature& signature) {
  std::vector<bool> needed(graph.size(), false);
  for (ValueId fetch : signature.fetches) needed[graph.producer(fetch)] = true;
  for (OpId target : signature.targets) needed[target] = true;
  VariableUse use;
  for (OpId id = graph.size(); id > 0; --id) {
    if (!needed[id - 1]) continue;
    const Op op = graph.op(id - 1);
    const bool assigns = op.def().role == OpRole::assign;
    if (op.def().role == OpRole::variable) use.read.push_back(op.id());
    if (assigns) use.written.push_back(graph.producer(op.inputs()[0]));
    for (ValueId input : op.inputs().subspan(assigns ? 1 : 0)) needed[graph.producer(input)] = true;
    for (OpId earlier : op.after()) needed[earlier] = true;
  }
  return use;
}

std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlanClass& c : plan.classes)
    for (const Instruction& i : c.instructions) {
      std::string line = std::string(name_of(i.what)) + " " + std::string(plan.string(i.op)) + " '" +
                         escaped(plan.string(i.name)) + "'";
      for (const Range range : {i.inputs, i.outputs})
        for (std::uint32_t k = 0; k < range.count; ++k) {
          const Buffer& buffer = c.buffers[c.operands[range.begin + k]];
          line += " " + Type{buffer.dtype, Shape(std::span<const std::int64_t>(buffer.sizes))}.str();
        }
      if (i.line != kNone) line += " at " + plan.line(i.line).str();
      lines.push_back(std::move(line));
    }
  return lines;
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void add(BlobWriter& writer, const Traffic& t) {
  writer.add(t.sent_messages).add(t.sent_bytes).add(t.received_messages).add(t.received_bytes).add(t.copies);
}

Traffic traffic(BlobReader& reader) {
  Traffic t;
  for (std::int64_t* field : {&t.sent_messages, &t.sent_bytes, &t.received_messages, &t.received_bytes, &t.copies})
    *field = reader.number();
  return t;
}

const KernelTable& kernels_of(const SessionOptions& options) {
  return options.kernels != nullptr ? *options.kernels : cpu_kernels();
}

DeviceKind usual_device(const Topology& topology) {
  const bool gpus =
      std::all_of(topology.tasks.begin(), topology.tasks.end(), [](const TaskInfo& t) { return t.gpus > 0; });
  return gpus ? DeviceKind::gpu : DeviceKind::cpu;
}

}  // namespace

// ---- Plans ----

std::shared_ptr<const PlanCache::Planned> PlanCache::verified(PlanResult result, std::uint64_t of_plan,
                                                              const SessionOptions& options) {
  auto planned = std::make_shared<Planned>();
  planned->result = std::move(result);
  const KernelCapabilities kernels(kernels_of(options));
  require_verified(planned->result.plan, {options.ops, &kernels});
  planned->fingerprint = Hasher().add(of_plan).add(build_text()).add(cpu_kernels().library()).digest();
  return planned;
}

std::shared_ptr<const PlanCache::Planned> PlanCache::get(const std::string& key, const Graph& graph,
                                                         const Signature& signature, BucketBytes bucket_bytes) {
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
  options.fuse_from = options_.check_numerics ? 0 : options_.fuse_from;
  PlanResult result =
      make_plan(graph, signature, cluster_.topology(), KernelCapabilities(kernels_of(options_)), options);
  const std::uint64_t of_plan = fingerprint(result.plan);
  std::shared_ptr<const Planned> planned = verified(std::move(result), of_plan, options_);
  for (const std::string& warning : planned->result.warnings) log_warn(warning);
  return plans_[{key, bucket_bytes}] = std::move(planned);
}

void PlanCache::keep(BucketBytes bucket_bytes) {
  const std::lock_guard lock(mutex_);
  std::erase_if(plans_, [&](const auto& entry) { return entry.first.second != bucket_bytes; });
}

// ---- One task ----

TaskSession::TaskSession(int task, Transport& transport, const Cluster::State& cluster, PlanCache& plans,
                         const SessionOptions& options)
    : task_(task),
      transport_(transport),
      cluster_(cluster),
      plans_(plans),
      options_(options),
      workers_({.threads = cluster.topology.tasks[static_cast<std::size_t>(task)].threads,
                .crowded = cluster.crowded,
                .on_start = cluster.pins ? [cores = *cluster.pins](int walker) { pin_to_core(cores, walker); }
                                         : std::function<void(int)>()}),
      variables_(task),
      bucket_bytes_(options.bucket_bytes) {
  if (!options.trace_file.empty()) trace_.emplace(task, workers_.threads());
}

std::vector<Tensor> TaskSession::run(const Graph& graph, const RunRequest& request) {
  const Agreed agreed = agree_on(graph, request);
  initialise(graph, agreed.signature, 0);
  return run_steps(graph, agreed, request);
}

const PlanResult& TaskSession::plan(const Graph& graph, const RunRequest& request) {
  return prepare(graph, agree_on(graph, request)).planned->result;
}

Error TaskSession::out_of_memory() {
  failed_ = true;
  Error error = Error(Code::resource, "out of memory on task " + std::to_string(task_))
                    .hint("fewer --tasks or --threads, or a higher limit (ulimit -v)");
  transport_.abort({task_, error.code(), error.text()});
  return error;
}

/// Disagreement leaves the session usable; a lost task does not.
Agreed TaskSession::agree_on(const Graph& graph, const RunRequest& request) {
  try {
    const bool gives = cluster_.options.invariant == 0 || task_ == cluster_.local_tasks[0];
    return agree(graph, request, gives, transport_, cluster_.topology, deadline());
  } catch (const Error& error) {
    failed_ = error.code() != Code::usage;
    throw;
  }
}

/// Runs the part of the entry "init" that sets variables which this run reads and which have no value.
void TaskSession::initialise(const Graph& graph, const Signature& signature, int depth) {
  std::set<OpId> missing;
  for (OpId id : variable_use(graph, signature).read)
    if (!variables_.has_value(graph.op(id).name())) missing.insert(id);
  if (missing.empty()) return;
  Agreed init;
  if (const auto entry = graph.entries().find("init"); entry != graph.entries().end())
    for (OpId target : entry->second.targets)
      if (graph.op(target).def().role == OpRole::assign &&
          missing.erase(graph.producer(graph.op(target).inputs()[0])) > 0)
        init.signature.targets.push_back(target);
  if (!missing.empty() || depth > 16) {
    const Op op = graph.op(missing.empty() ? signature.targets[0] : *missing.begin());
    throw Error(Code::usage, "the variable '" + escaped(op.name()) + "' has no value")
        .at(op.line())
        .hint("give it an initial value, or restore a saved model");
  }
  std::sort(init.signature.targets.begin(), init.signature.targets.end());
  init.request = init.key = "init";
  for (OpId target : init.signature.targets) init.key += " " + std::to_string(target);
  initialise(graph, init.signature, depth + 1);
  run_steps(graph, init, {});
}

std::string TaskSession::key_of(const Graph& graph, const Agreed& agreed) {
  return (graph.entries().empty() ? "restore " : "") + agreed.key;
}

TaskSession::Prepared& TaskSession::prepare(const Graph& graph, const Agreed& agreed) {
  const std::string key = key_of(graph, agreed);
  Prepared& prepared = prepared_[{key, bucket_bytes_}];
  return prepared.planned ? prepared : prepare(prepared, plans_.get(key, graph, agreed.signature, bucket_bytes_));
}

TaskSession::Prepared& TaskSession::prepare(Prepared& prepared, std::shared_ptr<const PlanCache::Planned> planned) {
  prepared.planned = std::move(planned);
  together([&] { compare_fingerprints(*prepared.planned); });
  return prepared;
}

void TaskSession::compare_fingerprints(const PlanCache::Planned& planned) {
  const auto all = transport_.exchange(std::to_string(planned.fingerprint), deadline());
  if (std::all_of(all.begin(), all.end(), [&](const std::string& other) { return other == all[0]; })) return;
  require_same_library(cpu_kernels().library(), transport_, deadline());
  reject_difference("plans", lines_of(planned.result.plan), transport_, deadline());
}

/// Once a session, where tasks are in processes of their own.
void TaskSession::compare_graphs(const Graph& graph) {
  if (std::exchange(compared_, true) || cluster_.all_here()) return;
  together([&] { require_same_graph(graph, transport_, deadline()); });
}

std::vector<Tensor> TaskSession::run_steps(const Graph& graph, const Agreed& agreed, const RunRequest& request) {
  Prepared& prepared = prepare(graph, agreed);
  const auto mark_written = [&] {
    for (OpId id : variable_use(graph, agreed.signature).written) variables_.set_has_value(graph.op(id).name());
  };
  std::optional<CheckpointSaver::Place> boundary;
  AfterStep after_step;
  if (request.checkpoints != nullptr) {
    CheckpointSaver& saver = request.checkpoints->saver();
    saver.require_request(agreed.request);
    boundary.emplace(place(graph, 0));
    after_step = [&, marked = false](std::int64_t step) mutable {
      if (!std::exchange(marked, true)) mark_written();
      boundary->step = step;
      return saver.at_boundary(*boundary);
    };
  }
  std::vector<Tensor> fetched =
      execute(prepared, agreed.steps, next_step_[agreed.request], request.feeds, request.on_step, after_step);
  mark_written();
  return fetched;
}

CheckpointSaver::Place TaskSession::place(const Graph& graph, std::int64_t step) {
  return {.transport = transport_,
          .variables = variables_,
          .deadline = cluster_.options.deadline,
          .head =
              [this, &graph] {
                Manifest head;
                head.tasks = transport_.tasks();
                head.seed = options_.seed;
                head.steps = next_step_;
                for (OpId id : graph.variables())
                  if (const std::string name(graph.op(id).name()); !variables_.has_value(name)) head.unset.insert(name);
                return head;
              },
          .step = step};
}

void TaskSession::save(const Graph& graph, CheckpointSaver& saver) {
  guarded([&] { saver.save_now(place(graph, next_step_[saver.request()])); });
}

std::vector<Tensor> TaskSession::run_plan(const std::shared_ptr<const PlanCache::Planned>& planned,
                                          const TensorMap& feeds, std::int64_t steps, const OnStep& on_step) {
  Prepared& prepared = prepared_[{"plan", bucket_bytes_}];
  if (!prepared.planned) prepare(prepared, planned);
  return execute(prepared, steps, next_step_["plan"], feeds, on_step, {});
}

std::vector<Tensor> TaskSession::execute(Prepared& prepared, std::int64_t steps, std::int64_t& step,
                                         const TensorMap& feeds, const OnStep& on_step, const AfterStep& after_step) {
  const Plan& plan = prepared.planned->result.plan;
  return guarded([&] {
    const std::uint64_t bound = variables_.bind(prepared.planned->variables(), transport_, deadline());
    if (!prepared.executor || bound != prepared.bound) {
      prepared.executor = executor_for(*prepared.planned, false);
      prepared.bound = bound;
    }
    if (options_.check_numerics) check_variables();
    const std::vector<Tensor> given = given_feeds(plan, feeds);
    std::vector<Tensor> fetched(plan.fetches.size());
    const bool tells = on_step && task_ == (fetched.empty() ? 0 : plan.fetches[0].task);
    step_times_.clear();
    TimePoint looked = system_clock().now();
    for (std::int64_t i = 0; i < steps; ++i) {
      const TimePoint start = system_clock().now();
      if (start - looked > kLookForFailure) {  // a step without messages would not notice
        looked = start;
        transport_.idle(std::chrono::microseconds(0));
      }
      const WireCount before = i + 1 == steps ? transport_.sent() : WireCount();
      prepared.executor->step(step++, given, fetched);
      if (i + 1 == steps) wire_ = transport_.sent() - before;
      step_times_.add(seconds(system_clock().now() - start));
      if (tells) on_step(i, fetched);
      if (after_step && after_step(step)) break;
    }
    last_ = &prepared;
    return fetched;
  });
}

/// Those that a run begins with: of what is made of them it would be said that it was given.
void TaskSession::check_variables() const {
  for (const VariableStore::Part& part : variables_.first_parts()) {
    Given given;
    given.infinite = true;
    if (const std::string made = made_of(given, not_finite(part.dtype, part.bytes)); !made.empty())
      throw Error(Code::numeric, "the variable " + in_quotes(part.name) + " on task " + std::to_string(task_) +
                                     " had, before the run: " + made)
          .hint("start from another model or checkpoint");
  }
}

std::unique_ptr<TaskExecutor> TaskSession::executor_for(const PlanCache::Planned& planned, bool measured) {
  ExecutorOptions options;
  options.seed = options_.seed;
  options.data_folder = options_.data_folder;
  options.kernels = options_.kernels;
  options.deadline = cluster_.options.deadline;
  options.trace = trace_ && !measured ? &*trace_ : nullptr;
  options.plan_id = planned.fingerprint;
  options.check_numerics = options_.check_numerics;
  options.effects = !measured;
  return std::make_unique<TaskExecutor>(
      planned.result.plan, task_, transport_, workers_, [&](std::string_view name) { return variables_.address(name); },
      options);
}

std::vector<Tensor> TaskSession::given_feeds(const Plan& plan, const TensorMap& feeds) const {
  std::vector<Tensor> given(plan.feeds.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (plan.feeds[i].task == task_) given[i] = feeds.find(plan.string(plan.feeds[i].name))->second;
  return given;
}

void TaskSession::set_variable(std::string_view name, const Type& type, const Tensor& value) {
  variables_.set(name, type, value, transport_.tasks());
}

Tensor TaskSession::variable(std::string_view name) {
  return guarded([&] { return variables_.whole(name, transport_, deadline()); });
}

void TaskSession::agree_on_problem(const std::string& problem, Code code) {
  for (const std::string& said : exchange(BlobWriter().add(static_cast<int>(code)).add(problem).take())) {
    BlobReader reader(said);
    const auto of_task = static_cast<Code>(reader.number());
    if (const std::string text(reader.text()); !text.empty()) throw Error(of_task, text);
  }
}

std::string TaskSession::trace() {
  return guarded([&] {
    if (const std::uint64_t left_out = trace_->left_out(); left_out > 0)
      log_warn("the trace of task " + std::to_string(task_) + " has the first " + std::to_string(Trace::kMostEvents) +
               " events of each thread; " + std::to_string(left_out) + " later ones are left out");
    const auto all = transport_.exchange(trace_->str(clock_offset(transport_, deadline())), deadline());
    if (task_ != 0) return std::string();
    std::string lines;
    for (const std::string& task : all) lines += task;
    if (!lines.empty()) lines.erase(lines.size() - 2);  // the last comma
    return "[\n" + lines + "\n]\n";
  });
}

RunStats TaskSession::stats() {
  return guarded([&] {
    if (last_ == nullptr) throw Error(Code::usage, "nothing has been run yet");
    const TaskExecutor& executor = *last_->executor;
    const Plan& plan = last_->planned->result.plan;
    Traffic planned;
    for (std::uint32_t region = 0; region < executor.region_runs().size(); ++region)
      for (std::int64_t k = 0; k < executor.region_runs()[region]; ++k) planned += traffic_of(plan, task_, region);
    std::uint64_t planned_bytes = 0;
    for (const PlanDevice& device : plan.class_for(task_).devices)
      planned_bytes += device.step_bytes + device.state_bytes;
    const TaskInfo& info = plan.topology.tasks[static_cast<std::size_t>(task_)];
    BlobWriter writer;
    writer.add(info.host_name).add(workers_.threads());
    add(writer, executor.measured());
    add(writer, planned);
    writer.add(wire_.messages).add(wire_.bytes).add(executor.arena_bytes()).add(planned_bytes);
    writer.add(step_times_.count()).add(step_times_.least()).add(step_times_.median()).add(step_times_.most());
    const auto all = transport_.exchange(writer.take(), deadline());
    RunStats stats;
    stats.fingerprint = last_->planned->fingerprint;
    for (std::size_t t = 0; t < all.size(); ++t) {
      BlobReader reader(all[t]);
      TaskStats task;
      task.task = static_cast<int>(t);
      task.process = cluster_.processes[t];
      task.host = reader.text();
      task.threads = static_cast<int>(reader.number());
      task.measured = traffic(reader);
      task.planned = traffic(reader);
      task.wire_messages = reader.number();
      task.wire_bytes = reader.number();
      task.peak_bytes = static_cast<std::uint64_t>(reader.number());
      task.planned_peak_bytes = static_cast<std::uint64_t>(reader.number());
      if (t == 0) {
        stats.steps = reader.number();
        stats.min_seconds = reader.real();
        stats.median_seconds = reader.real();
        stats.max_seconds = reader.real();
      }
      stats.tasks.push_back(std::move(task));
    }
    return stats;
  });
}

}  // namespace ferry
