#include "executor/session/task_session.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "base/blob.hpp"
#include "base/float_state.hpp"
#include "base/format.hpp"
#include "base/system/log.hpp"
#include "executor/job/difference.hpp"
#include "executor/observe/instruction_text.hpp"
#include "executor/observe/numerics.hpp"
#include "executor/state/replicas.hpp"

namespace ferry {
namespace {

/// How often a task that runs steps checks whether another task has failed.
constexpr std::chrono::milliseconds kLookForFailure{10};

/// The longest chain of variables in which each initial value reads the next variable.
constexpr int kMostInitial = 256;

/// Plans are made ahead until the batches have changed size this many times. If batches had only one size, two would
/// do.
constexpr int kChangesAhead = 16;

constexpr std::int64_t kLastStep = std::numeric_limits<std::int64_t>::max();

/// Whether the plan has servers of workers, so that tasks may be ahead of one another at the end of a run.
bool serves(const Plan& plan) {
  return std::ranges::any_of(plan.classes, [](const PlanClass& c) { return !c.serving.turns.empty(); });
}

/// The tasks that the job can lose and still continue with the plan: all workers of servers, except task 0.
std::vector<int> dispensable(const Plan& plan) {
  std::set<int> tasks;
  for (const PlanClass& c : plan.classes)
    for (const Serving::Turns& turns : c.serving.turns) tasks.insert(turns.worker);
  tasks.erase(0);
  return {tasks.begin(), tasks.end()};
}

/// Whether on_step is called for this task.
bool gets_fetches(const Plan& plan, int task) {
  if (plan.fetches.empty()) return task == 0;
  return std::ranges::any_of(plan.fetches, [&](const PlanPort& p) { return p.by_parts() || p.task == task; });
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

/// Tasks in one process have the same graph, so nothing is compared if all are here.
void TaskSession::compare_graphs(const Graph& graph) {
  if (std::exchange(compared_, true) || task_.member.cluster().all_here()) return;
  task_.member.run_collective([&] { require_same_graph(graph, task_.member.transport(), task_.member.deadline()); });
  task_.member.report_all_called();
}

/// Disagreement leaves the session usable; a lost task does not.
Agreed TaskSession::agree_on(const Graph& graph, const RunRequest& request) {
  return task_.member.agreed([&] {
    const JobState& cluster = task_.member.cluster();
    const bool gives = cluster.options.invariant == 0 || task_.member.task() == cluster.local_tasks[0];
    Agreed agreed = agree(graph, request, gives, task_.member);
    agreed.uneven = use_of(graph, agreed).uneven;
    return agreed;
  });
}

const TaskSession::Use& TaskSession::use_of(const Graph& graph, const Agreed& agreed) {
  const std::string key = SessionPlans::marked(graph, agreed.signature.initial ? agreed.key : agreed.request);
  const auto found = uses_.find(key);
  if (found != uses_.end()) return found->second;
  return uses_[key] = {variable_use(graph, agreed.signature), uneven_batches(graph, agreed.signature)};
}

SharedPlan TaskSession::plan(const Graph& graph, const RunRequest& request) {
  return plans_.prepared_plan(graph, agree_on(graph, request).at(request.planned_step))->planned;
}

// ---- Running ----

std::vector<Tensor> TaskSession::run(const Graph& graph, const RunRequest& request) {
  const Agreed agreed = agree_on(graph, request);
  plan_ahead(graph, agreed);
  require_given_parts(graph, agreed);
  initialise(graph, agreed, 0);
  return run_steps(graph, agreed, request);
}

/// Throws Error(usage) unless every task from which the plan needs a part gives one.
void TaskSession::require_given_parts(const Graph& graph, const Agreed& agreed) {
  if (agreed.part_rows.empty()) return;
  const Plan& plan = plans_.prepared_plan(graph, agreed)->planned->result.plan;
  task_.member.agreed([&] {
    require_parts(plan, agreed.part_rows, [&](const std::string& name) { return graph.op(*graph.find(name)).line(); });
  });
}

void TaskSession::plan_ahead(const Graph& graph, const Agreed& agreed) {
  static_cast<void>(plans_.prepared_plan(graph, agreed));
  if (agreed.uneven.empty() || planned_ahead_.contains(agreed.key)) return;
  std::int64_t step = next_step_[agreed.request];
  for (int change = 0; change < kChangesAhead; ++change) {
    static_cast<void>(plans_.prepared_plan(graph, agreed.at(step)));
    step = agreed.next_change(step, kLastStep);
  }
  planned_ahead_.insert(agreed.key);
}

/// Runs the part of the entry "init" that sets variables which this run reads and which have no value.
void TaskSession::initialise(const Graph& graph, const Agreed& agreed, int depth) {
  std::set<OpId> missing;
  for (OpId id : use_of(graph, agreed).variables.read)
    if (!task_.variables.has_value(graph.op(id).name())) missing.insert(id);
  if (missing.empty()) return;
  const Agreed init = initial_values(graph, missing);
  if (depth > kMostInitial) {
    const Op op = graph.op(*missing.begin());
    throw Error(
        Code::usage,
        "the initial value of the variable '{}' reads a chain of more than {} variables by their initial values",
        op.name(), kMostInitial)
        .at(op.line())
        .hint("an initial value must not read the variable that it is for");
  }
  initialise(graph, init, depth + 1);  // may set some of `missing`, if initial values read other variables
  std::erase_if(missing, [&](OpId id) { return task_.variables.has_value(graph.op(id).name()); });
  if (missing.empty()) return;
  next_step_[init.request] = 0;  // so random values do not depend on the variables set before
  run_steps(graph, initial_values(graph, missing), {});
}

std::vector<Tensor> TaskSession::run_steps(const Graph& graph, const Agreed& agreed, const RunRequest& request) {
  const auto mark_written = [&] {
    for (OpId id : use_of(graph, agreed).variables.written) task_.variables.set_has_value(graph.op(id).name());
  };
  std::optional<CheckpointSaver::Boundary> boundary;
  bool stopped = false;
  CheckpointSaver* saver = nullptr;
  if (request.checkpoints != nullptr) {
    if (!task_.options.run.replay_turns.empty())  // tasks meet at other steps than when the turns were recorded
      throw task_.member.cluster().found_by_all(
          Error(Code::usage, "turns are replayed, and checkpoints are to be saved")
              .hint("replay without checkpoints, or record again"));
    saver = &request.checkpoints->saver();
    saver->require_request(agreed.request);
    boundary.emplace(make_boundary(graph, 0));
  }
  AfterStep after_step;
  if (saver != nullptr || task_.options.run.check_replicas > 0)
    after_step = [&, marked = false](std::int64_t step) mutable {
      if (!std::exchange(marked, true)) mark_written();
      const Position::Between between(task_.member.position());  // else a task that waits for the others counts as busy
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
    fetched = execute(plans_.prepared_plan(graph, agreed.at(step)), first, step, change,
                      {request.feeds, agreed.part_rows}, request.on_step, after_step);
  } while (step < end && !stopped);
  mark_written();
  return fetched;
}

std::vector<Tensor> TaskSession::run_plan(const SharedPlan& planned, const RunRequest& request,
                                          const PartRows& part_rows) {
  std::int64_t& step = next_step_["plan"];
  last_run_.clear();
  AfterStep after_step;
  if (task_.options.run.check_replicas > 0)
    after_step = [&](std::int64_t done) {
      const Position::Between between(task_.member.position());
      compare_replicas(nullptr, done);
      return false;
    };
  const std::int64_t end = step + std::min(request.steps, kLastStep - step);
  return execute(plans_.prepared_plan(planned), step, step, end, {request.feeds, part_rows}, request.on_step,
                 after_step);
}

/// Compares variables as ExecutionOptions::check_replicas says, after `step` steps. `graph` has the lines of variables;
/// null: no lines.
void TaskSession::compare_replicas(const Graph* graph, std::int64_t step) {
  if (task_.options.run.check_replicas < 1 || step % task_.options.run.check_replicas != 0) return;
  require_same_replicas(task_.variables, step, task_.member.transport(), task_.member.deadline(),
                        [&](const std::string& name) {
                          const std::optional<OpId> found = graph == nullptr ? std::nullopt : graph->find(name);
                          return found ? graph->op(*found).line() : SourceLine();
                        });
}

std::vector<Tensor> TaskSession::execute(const std::shared_ptr<PreparedPlan>& prepared, std::int64_t first,
                                         std::int64_t& step, std::int64_t end, const RunFeeds& feeds,
                                         const OnStep& on_step, const AfterStep& after_step) {
  const Plan& plan = prepared->planned->result.plan;
  Transport& transport = task_.member.transport();
  return task_.member.guarded([&] {
    spare(plan);
    plans_.bind(*prepared);
    const Position::Run running(task_.member.position(), *prepared->executor);
    if (task_.recorder) task_.recorder->runs({prepared->planned, &plan});
    if (task_.options.run.check_numerics) check_variables();
    const std::vector<Tensor> given = given_feeds(plan, feeds, task_.member);
    std::vector<Tensor> fetched(plan.fetches.size());
    const bool tells = on_step && gets_fetches(plan, task_.member.task());
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
        task_.member.cluster().watch->set_times(task_.member.task(), prepared->timer->times(last_run_.links.links()));
      }
      if (tells) {
        const ProgramFloats floats;
        on_step(step - 1 - first, fetched);
      }
      stopped = after_step && after_step(step);
    }
    if (last < end) step = end;
    if (task_.turns) task_.turns->flush();
    if (serves(plan)) {  // no task leaves while workers that are behind need it
      const Position::Between between(task_.member.position());
      static_cast<void>(task_.member.exchange(""));
    }
    last_run_.record_steps(prepared, wire, step - begin);
    return fetched;
  });
}

/// Lets the job continue without tasks that the plan can do without. A replayed run needs all tasks.
void TaskSession::spare(const Plan& plan) {
  const std::vector<int> tasks = dispensable(plan);
  task_.member.spare(task_.options.run.replay_turns.empty() ? tasks : std::vector<int>());
  for (int task = 0; task < plan.topology.size(); ++task) {
    if (!task_.member.transport().is_lost(task) || std::ranges::find(tasks, task) != tasks.end()) continue;
    const PlanClass& its = plan.class_for(task);
    const Range step = its.regions[1].instructions;
    if (step.count == 0) continue;
    throw Error(Code::peer_lost, "task " + std::to_string(task) + " is lost, and its " +
                                     instruction_text(plan, its.instructions[step.first], task) + " is needed")
        .hint(
            "keep lasting values on servers, and let them compute these; or run this entry alone, from the saved "
            "variables");
  }
}

/// When turns are replayed: the number of steps after which this task was lost, according to the servers' records.
std::int64_t TaskSession::own_end(const Plan& plan) {
  std::int64_t end = kLastStep;
  if (task_.options.run.replay_turns.empty() || !serves(plan)) return end;
  const Serving& serving = plan.class_for(task_.member.task()).serving;
  std::vector<std::int32_t> workers;
  for (const Serving::Turns& turns : serving.turns) workers.push_back(turns.worker);
  BlobWriter mine;
  if (!workers.empty())
    for (const auto& [worker, steps] : task_.turns->last_steps(workers)) mine.add(worker).add(steps);
  std::optional<std::int64_t> latest;
  for (const std::string& said : task_.member.exchange(mine.take()))
    for (BlobReader reader(said); !reader.empty();) {
      const std::int64_t worker = reader.number(), steps = reader.number();
      if (worker == task_.member.task()) latest = std::max(latest.value_or(0), steps);
    }
  return latest.value_or(end);
}

/// Checks the variables for NaN before a run: an op that reads NaN reports no error, so no other check would find them.
void TaskSession::check_variables() {
  for (const VariableStore::Part& part : task_.variables.first_parts()) {
    NonFiniteInputs given;
    given.infinite = true;
    if (const std::string made = fault_text(given, not_finite(part.dtype, part.bytes)); !made.empty())
      throw Error(Code::numeric, "the variable {:?} on task {} had, before the run: {}", part.name, task_.member.task(),
                  as_is(made))
          .hint("start from another model or checkpoint");
  }
}

Tuned TaskSession::tune(const Graph& graph, const RunRequest& request, const TuneOptions& options) {
  const Agreed agreed = agree_on(graph, request);
  require_given_parts(graph, agreed);
  const auto candidates = plans_.candidates(graph, agreed);
  initialise(graph, agreed, 0);
  Tuned tuned =
      tuner_.tune(candidates.plans, agreed, next_step_[agreed.request], {request.feeds, agreed.part_rows}, options);
  tuned.refused = candidates.refused;
  plans_.set_bucket_bytes(tuned.sizes[tuned.chosen].bucket_bytes);
  static_cast<void>(plans_.prepared_plan(graph, agreed));  // while `candidates` keeps the plan
  return tuned;
}

// ---- State ----

Tensor TaskSession::variable(std::string_view name) {
  return task_.member.guarded(
      [&] { return task_.variables.whole(name, task_.member.transport(), task_.member.deadline()); });
}

CheckpointSaver::Boundary TaskSession::make_boundary(const Graph& graph, std::int64_t step) {
  return {.transport = task_.member.transport(),
          .variables = task_.variables,
          .limit = task_.member.limit(),
          .head =
              [this, &graph] {
                Manifest head;
                head.tasks = task_.member.transport().tasks();
                head.seed = task_.options.run.seed;
                head.steps = next_step_;
                for (OpId id : graph.variables())
                  if (const std::string name(graph.op(id).name()); !task_.variables.has_value(name))
                    head.unset.insert(name);
                return head;
              },
          .step = step};
}

void TaskSession::save(const Graph& graph, CheckpointSaver& saver) {
  task_.member.guarded([&] { saver.save_now(make_boundary(graph, next_step_[saver.request()])); });
}

std::string TaskSession::trace() {
  return task_.member.guarded([&] {
    if (const std::uint64_t left_out = task_.trace->left_out(); left_out > 0)
      log_warn("the trace of task " + std::to_string(task_.member.task()) + " has the first " +
               std::to_string(Trace::kMostEvents) + " events of each thread; " + std::to_string(left_out) +
               " later ones are left out");
    const auto all =
        task_.member.exchange(task_.trace->str(clock_offset(task_.member.transport(), task_.member.deadline())));
    if (task_.member.task() != 0) return std::string();
    std::string lines;
    for (const std::string& task : all) lines += task;
    if (!lines.empty()) lines.erase(lines.size() - 2);  // the last comma
    return "[\n" + lines + "\n]\n";
  });
}

}  // namespace ferry
