#include "executor/session/task_session.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "base/blob.hpp"
#include "base/files/files.hpp"
#include "base/float_state.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/difference.hpp"
#include "executor/observe/instruction_text.hpp"
#include "executor/observe/numerics.hpp"
#include "executor/state/replicas.hpp"

namespace ferry {
namespace {

/// How often a task that runs steps looks whether another one has failed.
constexpr std::chrono::milliseconds kLookForFailure{10};

/// The longest chain of variables in which each initial value reads the next variable.
constexpr int kMostInitial = 256;

/// Plans are made ahead for steps until their batches have changed size so often. With one size of batches two would
/// do.
constexpr int kChangesAhead = 16;

constexpr std::int64_t kLastStep = std::numeric_limits<std::int64_t>::max();

/// Whether tasks may be ahead of one another at the end of a run.
bool serves(const Plan& plan) {
  return std::ranges::any_of(plan.classes, [](const PlanClass& c) { return !c.serving.turns.empty(); });
}

/// The tasks without which the others can go on with the plan: those that a server serves, but task 0.
std::vector<int> dispensable(const Plan& plan) {
  std::set<int> tasks;
  for (const PlanClass& c : plan.classes)
    for (const Serving::Turns& turns : c.serving.turns) tasks.insert(turns.worker);
  tasks.erase(0);
  return {tasks.begin(), tasks.end()};
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

WorkersOptions workers_of(int task, const Cluster::State& cluster) {
  WorkersOptions options;
  options.threads = cluster.topology.tasks[static_cast<std::size_t>(task)].threads;
  options.crowded = cluster.crowded;
  if (cluster.pins) options.on_start = [cores = *cluster.pins](int walker) { pin_to_core(cores, walker); };
  return options;
}

DeviceShare share_of(int task, const Cluster::State& cluster) {
  const TaskInfo& info = cluster.topology.tasks[static_cast<std::size_t>(task)];
  return {.task = task, .first = info.first_gpu, .count = info.gpus};
}

std::optional<Trace> trace_of(const SessionOptions& options, int task, int threads) {
  return !traces(options) ? std::nullopt : std::optional<Trace>(std::in_place, task, threads);
}

}  // namespace

TaskSession::TaskSession(int task, Transport& transport, const Cluster::State& cluster, PlanCache& plans,
                         const SessionOptions& options)
    : member_(task, transport, cluster),
      options_(options),
      workers_(workers_of(task, cluster)),
      variables_(share_of(task, cluster), cluster.devices),
      trace_(trace_of(options, task, workers_.threads())),
      plans_(member_, plans, options.bucket_bytes),
      executors_(member_, options, plans.kernels(), workers_, variables_, groups_, trace_ ? &*trace_ : nullptr,
                 options.flight_recorder.empty() ? nullptr : &recorder_.emplace(task, workers_.threads()),
                 options.record_turns.empty() && options.replay_turns.empty()
                     ? nullptr
                     : &turns_.emplace(local_files(), options.record_turns, options.replay_turns, task)),
      tuner_(member_, executors_, variables_) {
  if (recorder_ && cluster.watch) cluster.watch->flights().set_source(task, *recorder_);
}

TaskSession::~TaskSession() {
  if (recorder_ && member_.cluster().watch) member_.cluster().watch->flights().forget(*recorder_);
}

/// Tasks in one process have the same graph, so nothing is compared if all are here.
void TaskSession::compare_graphs(const Graph& graph) {
  if (std::exchange(compared_, true) || member_.cluster().all_here()) return;
  member_.together([&] { require_same_graph(graph, member_.transport(), member_.deadline()); });
  member_.call_begins();
}

/// Disagreement leaves the session usable; a lost task does not.
Agreed TaskSession::agree_on(const Graph& graph, const RunRequest& request) {
  const Cluster::State& cluster = member_.cluster();
  try {
    const bool gives = cluster.options.invariant == 0 || member_.task() == cluster.local_tasks[0];
    Agreed agreed = agree(graph, request, gives, member_);
    agreed.uneven = use_of(graph, agreed).uneven;
    return agreed;
  } catch (const Error& error) {
    member_.set_failed(error.code() != Code::usage);
    throw cluster.found_by_all(member_.explained(error));
  }
}

const TaskSession::Use& TaskSession::use_of(const Graph& graph, const Agreed& agreed) {
  const std::string key = PreparedPlans::key_of(graph, agreed);
  const auto found = uses_.find(key);
  if (found != uses_.end()) return found->second;
  return uses_[key] = {variable_use(graph, agreed.signature), uneven_batches(graph, agreed.signature)};
}

const PlanResult& TaskSession::plan(const Graph& graph, const RunRequest& request) {
  return plans_.of(graph, agree_on(graph, request).at(request.planned_step))->planned->result;
}

// ---- Running ----

std::vector<Tensor> TaskSession::run(const Graph& graph, const RunRequest& request) {
  const Agreed agreed = agree_on(graph, request);
  plan_ahead(graph, agreed);
  initialise(graph, agreed, 0);
  return run_steps(graph, agreed, request);
}

void TaskSession::plan_ahead(const Graph& graph, const Agreed& agreed) {
  static_cast<void>(plans_.of(graph, agreed));
  if (agreed.uneven.empty() || planned_ahead_.contains(agreed.key)) return;
  std::int64_t step = next_step_[agreed.request];
  for (int change = 0; change < kChangesAhead; ++change) {
    static_cast<void>(plans_.of(graph, agreed.at(step)));
    step = agreed.next_change(step, kLastStep);
  }
  planned_ahead_.insert(agreed.key);
}

/// Runs the part of the entry "init" that sets variables which this run reads and which have no value.
void TaskSession::initialise(const Graph& graph, const Agreed& agreed, int depth) {
  std::set<OpId> missing;
  for (OpId id : use_of(graph, agreed).variables.read)
    if (!variables_.has_value(graph.op(id).name())) missing.insert(id);
  if (missing.empty()) return;
  const Agreed init = initial_values(graph, missing);
  if (depth > kMostInitial) {
    const Op op = graph.op(*missing.begin());
    throw Error(Code::usage, "the initial value of the variable '" + escaped(op.name()) +
                                 "' reads variables whose initial values read others, more than " +
                                 std::to_string(kMostInitial) + " deep")
        .at(op.line())
        .hint("an initial value must not read the variable that it is for");
  }
  initialise(graph, init, depth + 1);  // some of them, if others begin with their values
  std::erase_if(missing, [&](OpId id) { return variables_.has_value(graph.op(id).name()); });
  if (missing.empty()) return;
  next_step_[init.request] = 0;  // random values do not depend on which variables came before
  run_steps(graph, initial_values(graph, missing), {});
}

std::vector<Tensor> TaskSession::run_steps(const Graph& graph, const Agreed& agreed, const RunRequest& request) {
  const auto mark_written = [&] {
    for (OpId id : use_of(graph, agreed).variables.written) variables_.set_has_value(graph.op(id).name());
  };
  std::optional<CheckpointSaver::Place> boundary;
  bool stopped = false;
  CheckpointSaver* saver = nullptr;
  if (request.checkpoints != nullptr) {
    if (!options_.replay_turns.empty())  // tasks meet at other steps than when the turns were recorded
      throw member_.cluster().found_by_all(Error(Code::usage, "turns are replayed, and checkpoints are to be saved")
                                               .hint("replay without checkpoints, or record anew"));
    saver = &request.checkpoints->saver();
    saver->require_request(agreed.request);
    boundary.emplace(place(graph, 0));
  }
  AfterStep after_step;
  if (saver != nullptr || options_.check_replicas > 0)
    after_step = [&, marked = false](std::int64_t step) mutable {
      if (!std::exchange(marked, true)) mark_written();
      const Position::Between between(member_.position());  // else a task that waits for the others counts as busy
      compare_replicas(&graph, step);
      if (saver == nullptr) return false;
      boundary->step = step;
      return stopped = saver->at_boundary(*boundary);
    };
  std::int64_t& step = next_step_[agreed.request];
  const std::int64_t first = step, end = step + std::min(agreed.steps, kLastStep - step);
  last_run_.clear();
  std::vector<Tensor> fetched;
  do {
    const std::int64_t change = agreed.next_change(step, end);
    fetched =
        execute(plans_.of(graph, agreed.at(step)), first, step, change, request.feeds, request.on_step, after_step);
  } while (step < end && !stopped);
  mark_written();
  return fetched;
}

std::vector<Tensor> TaskSession::run_plan(const PlanCache::Shared& planned, const TensorMap& feeds, std::int64_t steps,
                                          const OnStep& on_step) {
  std::int64_t& step = next_step_["plan"];
  last_run_.clear();
  AfterStep after_step;
  if (options_.check_replicas > 0)
    after_step = [&](std::int64_t done) {
      const Position::Between between(member_.position());
      compare_replicas(nullptr, done);
      return false;
    };
  return execute(plans_.of(planned), step, step, step + std::min(steps, kLastStep - step), feeds, on_step, after_step);
}

/// SessionOptions::check_replicas, after `step` steps. `graph` knows the lines of variables; null: there is none.
void TaskSession::compare_replicas(const Graph* graph, std::int64_t step) {
  if (options_.check_replicas < 1 || step % options_.check_replicas != 0) return;
  require_same_replicas(variables_, step, member_.transport(), member_.deadline(), [&](const std::string& name) {
    const std::optional<OpId> found = graph == nullptr ? std::nullopt : graph->find(name);
    return found ? graph->op(*found).line() : SourceLine();
  });
}

std::vector<Tensor> TaskSession::execute(const std::shared_ptr<Prepared>& prepared, std::int64_t first,
                                         std::int64_t& step, std::int64_t end, const TensorMap& feeds,
                                         const OnStep& on_step, const AfterStep& after_step) {
  const Plan& plan = prepared->planned->result.plan;
  Transport& transport = member_.transport();
  return member_.guarded([&] {
    spare(plan);
    bind(*prepared);
    const Position::Run running(member_.position(), *prepared->executor);
    if (recorder_) recorder_->runs({prepared->planned, &plan});
    if (options_.check_numerics) check_variables();
    const std::vector<Tensor> given = given_feeds(plan, feeds, member_.task());
    std::vector<Tensor> fetched(plan.fetches.size());
    const bool tells = on_step && member_.task() == (fetched.empty() ? 0 : plan.fetches[0].task);
    TimePoint looked = system_clock().now();
    const std::int64_t begin = step, last = std::min(end, own_end(plan));
    WireCount wire;
    for (bool stopped = false; step < last && !stopped;) {
      const TimePoint start = system_clock().now();
      if (start - looked > kLookForFailure) {  // a step without messages would not notice that another task failed
        looked = start;
        transport.idle(std::chrono::microseconds(0));
      }
      if (prepared->timer) prepared->timer->begin_step(start);
      const WireCount before = step + 1 == end ? transport.sent() : WireCount();
      prepared->executor->step(step, given, fetched, end - step - 1);
      ++step;
      if (step == end) wire = transport.sent() - before;
      const TimePoint done = system_clock().now();
      last_run_.times.add(seconds(done - start));
      if (prepared->timer && prepared->timer->timed() && prepared->timer->end_step(start, done)) {
        last_run_.links.look(transport.links(), done);
        member_.cluster().watch->tell_times(member_.task(), prepared->timer->times(last_run_.links.links()));
      }
      if (tells) {
        const ProgramFloats floats;
        on_step(step - 1 - first, fetched);
      }
      stopped = after_step && after_step(step);
    }
    if (last < end) step = end;
    if (turns_) turns_->flush();
    if (serves(plan)) {  // nobody leaves while workers that are behind need others
      const Position::Between between(member_.position());
      static_cast<void>(member_.exchange(""));
    }
    last_run_.ran(prepared, wire, step - begin);
    return fetched;
  });
}

/// Lets the job go on without tasks that the plan can do without. A run that is repeated has them all.
void TaskSession::spare(const Plan& plan) {
  const std::vector<int> tasks = dispensable(plan);
  member_.spare(options_.replay_turns.empty() ? tasks : std::vector<int>());
  for (int task = 0; task < plan.topology.size(); ++task) {
    if (!member_.transport().is_lost(task) || std::ranges::find(tasks, task) != tasks.end()) continue;
    const PlanClass& its = plan.class_for(task);
    const Range step = its.regions[1].instructions;
    if (step.count == 0) continue;
    throw Error(Code::peer_lost, "task " + std::to_string(task) + " is lost, and its " +
                                     instruction_text(plan, its.instructions[step.first], task) + " is needed")
        .hint("keep on servers what is to last, and let them compute it; or run this by itself, from what was saved");
  }
}

/// Where turns are repeated: the number of steps after which this task was lost, as the servers' records say.
std::int64_t TaskSession::own_end(const Plan& plan) {
  std::int64_t end = kLastStep;
  if (options_.replay_turns.empty() || !serves(plan)) return end;
  const Serving& serving = plan.class_for(member_.task()).serving;
  std::vector<std::int32_t> workers;
  for (const Serving::Turns& turns : serving.turns) workers.push_back(turns.worker);
  BlobWriter mine;
  if (!workers.empty())
    for (const auto& [worker, steps] : turns_->ends(workers)) mine.add(worker).add(steps);
  std::optional<std::int64_t> latest;
  for (const std::string& said : member_.exchange(mine.take()))
    for (BlobReader reader(said); !reader.empty();) {
      const std::int64_t worker = reader.number(), steps = reader.number();
      if (worker == member_.task()) latest = std::max(latest.value_or(0), steps);
    }
  return latest.value_or(end);
}

/// Lays out the plan's variables, and makes an executor if there is none for their addresses.
void TaskSession::bind(Prepared& prepared) {
  const std::uint64_t bound = variables_.bind(prepared.planned->variables(), member_.transport(), member_.deadline());
  if (prepared.executor && bound == prepared.bound) return;
  prepared.executor = executors_.make(*prepared.planned, prepared.timer ? &*prepared.timer : nullptr);
  prepared.bound = bound;
}

/// Checks the variables that a run begins with: an op that reads NaN is not blamed for it, so nothing else would report
/// them.
void TaskSession::check_variables() {
  for (const VariableStore::Part& part : variables_.first_parts()) {
    Given given;
    given.infinite = true;
    if (const std::string made = made_of(given, not_finite(part.dtype, part.bytes)); !made.empty())
      throw Error(Code::numeric, "the variable " + in_quotes(part.name) + " on task " + std::to_string(member_.task()) +
                                     " had, before the run: " + made)
          .hint("start from another model or checkpoint");
  }
}

Tuned TaskSession::tune(const Graph& graph, const RunRequest& request, const TuneOptions& options) {
  const Agreed agreed = agree_on(graph, request);
  const auto candidates = plans_.candidates(graph, agreed);
  initialise(graph, agreed, 0);
  Tuned tuned = tuner_.tune(candidates.plans, agreed, next_step_[agreed.request], request.feeds, options);
  tuned.refused = candidates.refused;
  plans_.use(tuned.sizes[tuned.chosen].bucket_bytes);
  return tuned;
}

// ---- State ----

Tensor TaskSession::variable(std::string_view name) {
  return member_.guarded([&] { return variables_.whole(name, member_.transport(), member_.deadline()); });
}

CheckpointSaver::Place TaskSession::place(const Graph& graph, std::int64_t step) {
  return {.transport = member_.transport(),
          .variables = variables_,
          .clock = member_.cluster().clock(),
          .deadline = member_.cluster().options.deadline,
          .head =
              [this, &graph] {
                Manifest head;
                head.tasks = member_.transport().tasks();
                head.seed = options_.seed;
                head.steps = next_step_;
                for (OpId id : graph.variables())
                  if (const std::string name(graph.op(id).name()); !variables_.has_value(name)) head.unset.insert(name);
                return head;
              },
          .step = step};
}

void TaskSession::save(const Graph& graph, CheckpointSaver& saver) {
  member_.guarded([&] { saver.save_now(place(graph, next_step_[saver.request()])); });
}

std::string TaskSession::trace() {
  return member_.guarded([&] {
    if (const std::uint64_t left_out = trace_->left_out(); left_out > 0)
      log_warn("the trace of task " + std::to_string(member_.task()) + " has the first " +
               std::to_string(Trace::kMostEvents) + " events of each thread; " + std::to_string(left_out) +
               " later ones are left out");
    const auto all = member_.exchange(trace_->str(clock_offset(member_.transport(), member_.deadline())));
    if (member_.task() != 0) return std::string();
    std::string lines;
    for (const std::string& task : all) lines += task;
    if (!lines.empty()) lines.erase(lines.size() - 2);  // the last comma
    return "[\n" + lines + "\n]\n";
  });
}

}  // namespace ferry
