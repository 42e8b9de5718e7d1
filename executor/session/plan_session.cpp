#include "executor/session/plan_session.hpp"

#include <set>
#include <span>

#include "base/blob.hpp"
#include "base/float_state.hpp"
#include "base/text.hpp"
#include "executor/job/cluster_state.hpp"
#include "executor/session/task_group.hpp"
#include "executor/session/task_session.hpp"
#include "ops/op_set.hpp"
#include "plan/kernel_facts.hpp"

namespace ferry {
namespace {

/// Names of the variables that some instruction reads.
std::set<std::string, std::less<>> variables_read(const Plan& plan) {
  std::set<std::string, std::less<>> names;
  for (const PlanClass& c : plan.classes) {
    std::set<std::uint32_t> inputs;
    for (const Instruction& i : c.instructions)
      for (const std::uint32_t b : c.inputs(i)) inputs.insert(storage_of(c, b));
    for (const PlanVariable& variable : c.variables)
      if (inputs.contains(variable.buffer)) names.emplace(plan.string(variable.name));
  }
  return names;
}

/// The batches of the plan (either the whole batches or the last batches of epochs), and their numbers of rows.
struct OneSize {
  std::string op;
  Batches batches;
  std::int64_t rows = 0;

  /// The first step from `step` on with a batch of another size.
  [[nodiscard]] std::int64_t first_other(std::int64_t step) const {
    return batches.at(step).count != rows ? step : batches.next_change(step);
  }
};

std::vector<OneSize> sizes_of_batches(const Plan& plan, const OpSet& ops) {
  std::vector<OneSize> found;
  for (const PlanClass& c : plan.classes)
    for (const Instruction& i : c.instructions) {
      const OpDef* const def = i.what == Opcode::kernel ? ops.find(plan.string(i.op)) : nullptr;
      if (def == nullptr || def->batches == nullptr || i.attrs == kNone) continue;
      std::vector<Type> inputs;
      for (const std::uint32_t b : c.inputs(i)) inputs.push_back(whole_type(plan, c.buffers[b]));
      const Attrs& attrs = plan.attrs[i.attrs];
      const Batches batches = def->batches(PlanKernelFacts(std::move(inputs), attrs));
      if (batches.uneven())
        found.push_back({std::string(plan.string(i.name)), batches, attrs.get<std::int64_t>("rows")});
    }
  return found;
}

Type type_of(const PlanPort& port) {
  return {port.dtype, Shape(std::span<const std::int64_t>(port.sizes))};
}

/// The user's line of the input; unknown if the plan does not have it.
SourceLine line_of_feed(const Plan& plan, const std::string& name) {
  for (const PlanClass& c : plan.classes)
    for (const Instruction& i : c.instructions)
      if (i.what == Opcode::feed && plan.string(i.name) == name) return plan.line(i.line);
  return {};
}

bool has_feed(const TensorMap& feeds, std::string_view name) {
  const auto found = feeds.find(name);
  return found != feeds.end() && found->second.defined();
}

/// The fault of the feeds of `task`; empty: none.
std::string feed_problem(const Plan& plan, const TensorMap& feeds, int task) {
  for (const PlanPort& port : plan.feeds) {
    if (port.task != task) continue;
    const std::string name(plan.string(port.name));
    if (!has_feed(feeds, name))
      return Error(Code::usage, "the input '" + escaped(name) + "' is needed and not fed")
          .note("it is " + type_of(port).str() + ", and task " + std::to_string(task) + " gives it")
          .hint("feed it: --feed " + escaped(name) + "=FILE.npy")
          .text();
    if (const Type type = feeds.find(name)->second.type(); type != type_of(port))
      return Error(Code::usage, "the feed '" + escaped(name) + "' is " + type.str() + "; the plan was made for " +
                                    type_of(port).str())
          .hint("make a plan for it from the graph")
          .text();
  }
  return {};
}

}  // namespace

struct PlanSession::State {
  State(Plan plan, const Cluster& cluster, SessionOptions options)
      : planned(SessionPlans::Made(cluster, options).given(std::move(plan))),
        read(variables_read(planned->result.plan)),
        variables(variables_of(planned->result.plan)),
        batches(sizes_of_batches(planned->result.plan, options.ops != nullptr ? *options.ops : default_ops())),
        group(cluster, std::move(options)) {}

  [[nodiscard]] const Plan& plan() const { return planned->result.plan; }

  /// The fault of the variables or of this task's feeds; empty: none.
  [[nodiscard]] std::string problem(const TaskSession& task, const TensorMap& feeds) const {
    for (const std::string& name : read)
      if (!task.has_value(name))
        return Error(Code::usage, "the variable '" + escaped(name) + "' has no value: a plan does not hold it")
            .hint("--model DIR, with a model saved by ferry run GRAPH --save DIR")
            .text();
    return feed_problem(plan(), feeds, task.member().task());
  }

  /// Error(usage), the same on all tasks, if the variables or the feeds of a task have a fault, or if a feed differs
  /// between tasks. The latter includes feeds that the plan takes from another task.
  void agree_on(TaskSession& task, const TensorMap& feeds) const {
    JobMember& member = task.member();
    BlobWriter given;
    for (const PlanPort& port : plan().feeds) given.add(has_feed(feeds, plan().string(port.name)));
    const std::vector<std::string> told = member.agree_on_problem(problem(task, feeds), Code::usage, given.take());
    FeedGivers givers;
    for (std::size_t other = 0; other < told.size(); ++other) {
      BlobReader reader(told[other]);
      for (const PlanPort& port : plan().feeds)
        if (!told[other].empty() && reader.number() != 0)
          givers[std::string(plan().string(port.name))].push_back(static_cast<std::int32_t>(other));
    }
    member.alike([&] {
      require_same_feeds(givers, feeds, member, [&](const std::string& name) { return line_of_feed(plan(), name); });
    });
  }

  /// Error(usage) if a step among the next ones has a batch of another size than the plan.
  void require_batches(std::int64_t steps) const {
    for (const OneSize& of_op : batches) {
      const std::int64_t other = of_op.first_other(next_step);
      if (other - next_step >= steps) continue;
      throw Error(Code::usage, "step " + std::to_string(other) + " takes a batch of " +
                                   std::to_string(of_op.batches.at(other).count) + " rows from '" + escaped(of_op.op) +
                                   "', and the plan is for steps that take " + std::to_string(of_op.rows))
          .hint("run the graph, which has a plan for each size" +
                (other > next_step ? ", or at most " + plural(other - next_step, "step") : std::string()));
    }
  }

  [[nodiscard]] std::string restore_problem(const TensorMap& values) const {
    Error error(Code::file, "the saved variables do not fit the plan");
    std::size_t problems = 0;
    for (const auto& [name, type] : variables) {
      const auto found = values.find(name);
      const bool missing = found == values.end() || !found->second.defined();
      if (!missing && found->second.type() == type) continue;
      if (++problems > 12) continue;
      error.note(missing ? "missing: " + escaped(name) + " " + type.str()
                         : "differs: " + escaped(name) + " is " + type.str() + " in the plan, " +
                               found->second.type().str() + " in the file");
    }
    if (problems > 12) error.note("and " + std::to_string(problems - 12) + " more");
    return problems == 0 ? std::string() : error.text();
  }

  const SharedPlan planned;
  const std::set<std::string, std::less<>> read;
  const std::map<std::string, Type, std::less<>> variables;
  const std::vector<OneSize> batches;
  std::int64_t next_step = 0;
  TaskGroup group;
};

std::map<std::string, Type, std::less<>> variables_of(const Plan& plan) {
  std::map<std::string, Type, std::less<>> types;
  for (const PlanClass& c : plan.classes)
    for (const PlanVariable& variable : c.variables) {
      const Buffer& buffer = c.buffers[variable.buffer];
      const auto& whole = buffer.window == kNone ? buffer.sizes.vector() : plan.windows[buffer.window].sizes;
      types[std::string(plan.string(variable.name))] = {buffer.dtype, Shape(std::span<const std::int64_t>(whole))};
    }
  return types;
}

PlanSession::PlanSession(Plan plan, const Cluster& cluster, SessionOptions options) {
  const DefaultFloats floats;
  state_ = std::make_unique<State>(std::move(plan), cluster, std::move(options));
}

PlanSession::~PlanSession() = default;

const Plan& PlanSession::plan() const {
  return state_->plan();
}

std::vector<Tensor> PlanSession::run(const TensorMap& feeds, std::int64_t steps, const OnStep& on_step) {
  if (steps < 1)
    throw Error(Code::usage, "steps: " + std::to_string(steps) + " is not 1 or more").hint("give 1 or more");
  State& s = *state_;
  s.require_batches(steps);
  std::vector<std::int32_t> arrive_at;
  for (const PlanPort& port : s.plan().fetches) arrive_at.push_back(port.task);
  const std::int32_t requester = arrive_at.empty() ? 0 : arrive_at[0];
  std::vector<Tensor> fetched = s.group.tensors(arrive_at, requester, [&](TaskSession& task) {
    s.agree_on(task, feeds);
    std::vector<Tensor> of_task = task.run_plan(s.planned, feeds, steps, on_step);
    for (const auto& variable : s.variables) task.set_has_value(variable.first);
    return of_task;
  });
  s.next_step += steps;
  return fetched;
}

void PlanSession::restore(const TensorMap& values) {
  const State& s = *state_;
  const std::string problem = s.group.cluster().rank() == 0 ? s.restore_problem(values) : std::string();
  state_->group.on_all([&](TaskSession& task) {
    task.member().agree_on_problem(problem, Code::file);
    for (const auto& [name, type] : s.variables) {
      const auto found = values.find(name);
      task.set_variable(
          name, type.dtype,
          VariableLayout::at_task_0(type.shape.sizes(), static_cast<std::size_t>(s.plan().topology.size())),
          task.member().task() == 0 ? found->second : Tensor());
    }
  });
}

TensorMap PlanSession::variables() {
  return state_->group.of_first<TensorMap>([&](TaskSession& task) {
    TensorMap all;
    for (const auto& variable : state_->variables)
      if (task.has_value(variable.first)) all[variable.first] = task.variable(variable.first);
    return all;
  });
}

RunStats PlanSession::stats() {
  return state_->group.of_first<RunStats>([](TaskSession& task) { return task.stats(); });
}

void PlanSession::close() {
  state_->group.close();
}

}  // namespace ferry
