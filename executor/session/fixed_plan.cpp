#include "executor/session/fixed_plan.hpp"

#include <algorithm>

#include "base/blob.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "executor/session/task_group.hpp"
#include "executor/session/task_session.hpp"
#include "ops/op_set.hpp"
#include "plan/kernel_facts.hpp"
#include "plan/requirements.hpp"

namespace ferry {
namespace {

/// Names of the variables that some instruction reads.
std::set<std::string, std::less<>> variables_read(const Plan& plan) {
  std::set<std::string, std::less<>> names;
  for (const PlanClass& c : plan.classes) {
    std::set<std::uint32_t> inputs;
    for (const Instruction& i : c.instructions)
      for (const BufferId b : c.inputs(i)) inputs.insert(storage_of(c, b));
    for (const PlanVariable& variable : c.variables)
      if (inputs.contains(variable.buffer)) names.emplace(plan.string(variable.name));
  }
  return names;
}

Type type_of(const PlanPort& port) {
  Shape shape{std::span<const std::int64_t>(port.sizes)};
  if (port.bounded) shape[0] = Dim::at_most(port.sizes[0]);
  return {port.dtype, std::move(shape)};
}

/// The user's line of the input; unknown if the plan does not have it.
SourceLine line_of_feed(const Plan& plan, const std::string& name) {
  for (const PlanClass& c : plan.classes)
    for (const Instruction& i : c.instructions)
      if (i.what == Opcode::feed && plan.string(i.name) == name) return plan.line(i.line);
  return {};
}

/// The tensor that the task gives for the feed; undefined if it gives none.
Tensor given(const FeedMap& feeds, std::string_view name, const JobMember& member) {
  const auto found = feeds.find(name);
  return found == feeds.end() ? Tensor() : found->second.of(member.local_index());
}

/// Whether a task may give the tensor: it has the feed's dtype and dims. A part may have any number of rows (dim 0), a
/// bounded feed any number up to its bound.
bool fits(const Tensor& tensor, const PlanPort& port) {
  const std::vector<std::int64_t>& sizes = tensor.sizes();
  if (tensor.dtype() != port.dtype || sizes.size() != port.sizes.size()) return false;
  if (!port.by_parts() && !port.bounded) return sizes == port.sizes;
  return std::equal(sizes.begin() + 1, sizes.end(), port.sizes.begin() + 1) &&
         (port.by_parts() || sizes[0] <= port.sizes[0]);
}

/// Error(usage) if a feed of the plan is missing on this task, or does not fit the plan.
void require_feed(const Plan& plan, const PlanPort& port, const FeedMap& feeds, const JobMember& member) {
  const std::string name(plan.string(port.name));
  const auto found = feeds.find(name);
  if (found != feeds.end() && found->second.by_parts() != port.by_parts())
    throw Error(Code::usage, "the input '{}' is fed {}", name,
                port.by_parts() ? "whole; the plan was made for parts of it"
                                : "by parts; the plan was made for the whole value")
        .hint("feed it as the plan has it, or make a plan for it from the graph");
  const Tensor tensor = given(feeds, name, member);
  if (!tensor.defined()) {
    if (port.by_parts()) return;  // require_parts() finds the tasks that must give a part
    throw Error(Code::usage, "the input '{}' is needed and not fed", name)
        .note("it is " + type_of(port).str() + ", and task " + std::to_string(member.task()) + " gives it")
        .hint("feed it: --feed {}=FILE.npy", name);
  }
  require_bools(name, tensor, line_of_feed(plan, name));
  if (fits(tensor, port)) return;
  throw Error(Code::usage, "the feed '{}' is {}{}; the plan was made for {}", name, port.by_parts() ? "a part " : "",
              as_is(tensor.type().str()), as_is(type_of(port).str()))
      .hint("make a plan for it from the graph");
}

/// The fault of the task's feeds; empty: none.
std::string feed_problem(const Plan& plan, const FeedMap& feeds, const JobMember& member) try {
  for (const PlanPort& port : plan.feeds)
    if (port.by_parts() || port.task == member.task()) require_feed(plan, port, feeds, member);
  return {};
} catch (const Error& error) {
  return error.text();
}

/// Error(usage), the same on all tasks, unless each task gives its part, and all parts together have as many rows as
/// the plan was made for.
void require_rows(const Plan& plan, const PartRows& rows) {
  require_parts(plan, rows, [&](const std::string& name) { return line_of_feed(plan, name); });
  for (const PlanPort& port : plan.feeds) {
    if (!port.by_parts()) continue;
    const std::string name(plan.string(port.name));
    if (const std::int64_t given = rows_in(rows.find(name)->second); given != port.sizes[0])
      throw Error(Code::usage, "the tasks give {} of the input '{}'; the plan was made for {}",
                  plural(static_cast<std::uint64_t>(given), "row"), name, port.sizes[0])
          .at(line_of_feed(plan, name))
          .hint("make a plan for it from the graph");
  }
}

void require_own(const RunRequest& request) {
  if (request.fetches.empty() && request.targets.empty() && request.fetch_to == 0 && request.planned_step == 0 &&
      request.checkpoints == nullptr)
    return;
  throw Error(Code::usage, "this session runs a plan, which has its own fetches and targets")
      .hint("give feeds, steps and on_step alone, or make the session from the graph");
}

}  // namespace

FixedPlan::FixedPlan(TaskGroup& group, SharedPlan planned, const OpSet& ops)
    : group_(group),
      planned_(std::move(planned)),
      plan_(planned_->result.plan),
      read_(variables_read(plan_)),
      variables_(variables_of(plan_)),
      batches_(sizes_of_batches(plan_, ops)) {}

std::vector<FixedPlan::PlannedBatches> FixedPlan::sizes_of_batches(const Plan& plan, const OpSet& ops) {
  std::vector<PlannedBatches> found;
  for (const PlanClass& c : plan.classes)
    for (const Instruction& i : c.instructions) {
      const OpDef* const def = i.what == Opcode::kernel ? ops.find(plan.string(i.op)) : nullptr;
      if (def == nullptr || def->batches == nullptr || i.attrs == kNone) continue;
      std::vector<Type> inputs;
      for (const BufferId b : c.inputs(i)) inputs.push_back(whole_type(plan, c.buffers[b]));
      const Attrs& attrs = plan.attrs[i.attrs];
      const Batches batches = def->batches(PlanKernelFacts(std::move(inputs), attrs));
      if (batches.uneven())
        found.push_back({std::string(plan.string(i.name)), batches, attrs.get<std::int64_t>("rows")});
    }
  return found;
}

void FixedPlan::prove(const Graph& graph, RunRequest request, const Topology& planned_for) const try {
  for (const PlanPort& port : plan_.feeds) {
    const std::string name(plan_.string(port.name));
    if (request.feeds.contains(name) || request.feed_types.contains(name)) continue;
    const Type type = type_of(port.dtype, port.sizes, port.bounded);
    const std::optional<OpId> input = graph.find(name);
    if (!input || graph.op(*input).def().role != OpRole::input)
      require_equal({Equality::Verdict::differs, {}, formatted("the graph has no input '{}'", name)});
    if (const Type& wanted = graph.type(graph.op(*input).output(0)); wanted.dtype != type.dtype)
      require_equal({Equality::Verdict::differs,
                     {},
                     formatted("the feed '{}' is {}, in the graph {}", name, as_is(type.str()), as_is(wanted.str()))});
    request.feed_types[name] = type;
  }
  Signature signature = group_.signature(graph, request, planned_for);
  signature.rows.clear();
  for (const PlannedBatches& one : batches_)
    if (one.rows == one.batches.last()) signature.rows[one.batches.symbol()] = one.rows;
  require_equal(group_.compare(graph, signature, plan_));
} catch (const Error& error) {
  throw group_.cluster().state().found_by_all(error);
}

const PlanResult& FixedPlan::plan(const RunRequest& request) const {
  require_own(request);
  return planned_->result;
}

std::string FixedPlan::problem(const TaskSession& task, const FeedMap& feeds) const {
  for (const std::string& name : read_)
    if (!task.has_value(name))
      return Error(Code::usage, "the variable '{}' has no value: a plan does not hold it", name)
          .hint("set it by Session::restore(), or by --model DIR with a model saved by ferry run GRAPH --save DIR")
          .text();
  return feed_problem(plan_, feeds, task.member());
}

PartRows FixedPlan::agree_on(TaskSession& task, const RunRequest& request) const {
  JobMember& member = task.member();
  const FeedMap& feeds = request.feeds;
  BlobWriter mine;
  mine.add(request.steps);
  for (const PlanPort& port : plan_.feeds)
    if (const Tensor tensor = given(feeds, plan_.string(port.name), member); port.by_parts())
      mine.add(tensor.defined() && !tensor.sizes().empty() ? tensor.sizes()[0] : kNoPart);
    else
      mine.add(tensor.defined());
  return member.agreed([&] {
    const std::vector<std::string> told = member.agree_on_problem(problem(task, feeds), Code::usage, mine.take());
    FeedGivers givers;
    PartRows rows;
    for (const PlanPort& port : plan_.feeds)
      if (port.by_parts()) rows[std::string(plan_.string(port.name))].assign(told.size(), kNoPart);
    for (std::size_t other = 0; other < told.size(); ++other) {
      if (told[other].empty()) continue;  // the task is lost
      BlobReader reader(told[other]);
      require_same_steps(BlobReader(told[0]).number(), reader.number(), other);
      for (const PlanPort& port : plan_.feeds) {
        const std::string name(plan_.string(port.name));
        const std::int64_t number = reader.number();
        if (port.by_parts())
          rows[name][other] = number;
        else if (number != 0)
          givers[name].push_back(static_cast<std::int32_t>(other));
      }
    }
    require_rows(plan_, rows);
    require_same_feeds(givers, feeds, member, [&](const std::string& name) { return line_of_feed(plan_, name); });
    return rows;
  });
}

void FixedPlan::require_batches(std::int64_t steps) const {
  for (const PlannedBatches& of_op : batches_) {
    const std::int64_t other = of_op.first_other(next_step_);
    if (other - next_step_ >= steps) continue;
    throw Error(Code::usage, "step {} takes a batch of {} rows from '{}', and the plan is for steps that take {}",
                other, of_op.batches.at(other).count, of_op.op, of_op.rows)
        .hint("run the graph, which has a plan for each size" +
              (other > next_step_ ? ", or at most " + plural(other - next_step_, "step") : std::string()));
  }
}

std::string FixedPlan::restore_problem(const TensorMap& values) const {
  Error error(Code::file, "the saved variables do not fit the plan");
  std::size_t problems = 0;
  for (const auto& [name, type] : variables_) {
    const auto found = values.find(name);
    const bool missing = found == values.end() || !found->second.defined();
    if (!missing && found->second.type() == type) continue;
    if (++problems > 12) continue;
    error.note(missing ? formatted("missing: {} {}", name, as_is(type.str()))
                       : formatted("differs: {} is {} in the plan, {} in the file", name, as_is(type.str()),
                                   as_is(found->second.type().str())));
  }
  if (problems > 12) error.note("and {} more", problems - 12);
  return problems == 0 ? std::string() : error.text();
}

std::vector<Tensor> FixedPlan::run(const RunRequest& request) {
  require_own(request);
  if (request.steps < 1) throw Error(Code::usage, "steps: {} is not 1 or more", request.steps).hint("give 1 or more");
  require_batches(request.steps);
  std::vector<std::int32_t> arrive_at;
  for (const PlanPort& port : plan_.fetches) arrive_at.push_back(port.task);
  const std::int32_t requester = arrive_at.empty() ? 0 : std::max(arrive_at[0], 0);
  std::vector<Tensor> fetched = group_.tensors(arrive_at, requester, [&](TaskSession& task) {
    task.compare_plans(planned_);
    const PartRows rows = agree_on(task, request);
    std::vector<Tensor> of_task = task.run_plan(planned_, request, rows);
    for (const auto& variable : variables_) task.set_has_value(variable.first);
    return of_task;
  });
  next_step_ += request.steps;
  return fetched;
}

void FixedPlan::restore(const TensorMap& values) {
  const std::string problem = group_.cluster().rank() == 0 ? restore_problem(values) : std::string();
  group_.on_all([&](TaskSession& task) {
    task.compare_plans(planned_);
    task.member().agree_on_problem(problem, Code::file);
    for (const auto& [name, type] : variables_) {
      const auto found = values.find(name);
      task.set_variable(name, type.dtype,
                        VariableLayout::at_task_0(type.shape.sizes(), static_cast<std::size_t>(plan_.topology.size())),
                        task.member().task() == 0 ? found->second : Tensor());
    }
  });
}

TensorMap FixedPlan::variables() {
  return group_.of_first<TensorMap>([&](TaskSession& task) {
    task.compare_plans(planned_);
    TensorMap all;
    for (const auto& variable : variables_)
      if (task.has_value(variable.first)) all[variable.first] = task.variable(variable.first);
    return all;
  });
}

}  // namespace ferry
