#include "ops/train/local_steps.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/train/beside.hpp"
#include "ops/train/step_weight.hpp"

namespace ferry {
namespace {

[[noreturn]] void fail(const std::string& what, const SourceLine& line) {
  throw Error(Code::plan, "averaged_every: " + what).at(line);
}

void check_copies(const std::vector<Values>& copies, const SourceLine& line) {
  if (copies.empty() || copies[0].empty()) fail("no copies of variables", line);
  for (const Values& copy : copies) {
    if (copy.size() != copies[0].size())
      fail("one copy has " + std::to_string(copy.size()) + " variables, another " + std::to_string(copies[0].size()),
           line);
    for (std::size_t i = 0; i < copy.size(); ++i) {
      static_cast<void>(graph_of({{copy[i], copies[0][i]}}, line));
      if (copy[i].type() != copies[0][i].type())
        fail(copy[i].op().str() + " is " + copy[i].type().str() + ", its copy " + copies[0][i].op().str() + " " +
                 copies[0][i].type().str(),
             line);
      if (!is_float(copy[i].dtype()))
        fail(copy[i].op().str() + " is " + copy[i].type().str() + ", which has no mean", line);
    }
  }
}

bool writes(const Value& update, const Value& variable) {
  return &update.op().def() == &kAssign && update.op().inputs()[0] == variable.id();
}

/// The value that the updates write to a variable.
Value written_value(const Values& updates, const Value& variable, const SourceLine& line) {
  const auto found =
      std::find_if(updates.begin(), updates.end(), [&](const Value& update) { return writes(update, variable); });
  if (found == updates.end()) fail("there is no update of " + variable.op().str(), line);
  return variable.graph().value(found->op().inputs()[1]);
}

/// The weight of each copy in the mean: float32 scalars, or empty if all copies have the same weight.
Values weights_of(const std::vector<Values>& copies, const std::vector<Values>& made, const Value& full,
                  Values& updates, const SourceLine& line) {
  std::vector<StepWeight> weights;
  for (const Values& values : made) weights.push_back(step_weight(values, "averaged_every", line));
  const auto differs = [&](const StepWeight& one) { return one.value.defined() || one.fixed != weights[0].fixed; };
  if (std::none_of(weights.begin(), weights.end(), differs)) return {};
  Graph& graph = copies[0][0].graph();
  Values totals;
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    const Value& first = copies[copy][0];
    const Scope place = graph.annotated(place_of(first));
    const Value now = weights[copy].value.defined()
                          ? weights[copy].value
                          : number_constant(graph, static_cast<double>(weights[copy].fixed), DType::float32, line);
    const Value before = graph.variable(std::string(first.op().name()) + "/averaged_weight",
                                        number_constant(graph, 0, DType::float32, line));
    totals.push_back(before + now);
    updates.push_back(assign(before, select(full, 0, totals.back())));
  }
  return totals;
}

/// For each copy of each variable, in the order of `copies`: the mean of all copies of the variable, placed with the
/// copy.
Values means_of(const std::vector<Values>& copies, const std::vector<Values>& made, const Values& weights) {
  Graph& graph = copies[0][0].graph();
  Values shares;
  if (!weights.empty()) {
    const Scope place = graph.annotated(place_of(copies[0][0]));
    Value all = weights[0];
    for (std::size_t copy = 1; copy < copies.size(); ++copy) all = all + weights[copy];
    for (const Value& weight : weights) shares.push_back(weight / all);
  }
  Values means;
  for (std::size_t i = 0; i < copies[0].size(); ++i) {
    const Scope place = graph.annotated(place_of(copies[0][i]));
    const auto part = [&](std::size_t copy) {
      return shares.empty() ? made[copy][i] : made[copy][i] * cast(shares[copy], made[copy][i].dtype());
    };
    Value total = part(0);
    for (std::size_t copy = 1; copy < copies.size(); ++copy) total = total + part(copy);
    means.push_back(shares.empty() ? total / copies.size() : total);
  }
  Values result;
  for (const Values& copy : copies)
    for (std::size_t i = 0; i < copy.size(); ++i) {
      const Scope place = graph.annotated(place_of(copy[i]));
      result.push_back(identity(means[i]));
    }
  return result;
}

/// The same for a step without averaging: each copy's own new value, for which no messages are needed.
Values own_values(const std::vector<Values>& copies, const std::vector<Values>& made) {
  Graph& graph = copies[0][0].graph();
  Values result;
  for (std::size_t copy = 0; copy < copies.size(); ++copy)
    for (std::size_t i = 0; i < copies[copy].size(); ++i) {
      const Scope place = graph.annotated(place_of(copies[copy][i]));
      result.push_back(identity(made[copy][i]));
    }
  return result;
}

}  // namespace

Values averaged_every(std::int64_t every, const std::vector<Values>& copies, const Values& updates,
                      source_location at) {
  check_copies(copies, at);
  if (every < 1) fail("every " + std::to_string(every) + " steps", at);
  const Value& first = copies[0][0];
  Graph& graph = first.graph();
  const Scope here = caller_scope(graph, at);

  std::vector<Values> made;
  for (const Values& copy : copies) {
    made.emplace_back();
    for (const Value& variable : copy) made.back().push_back(written_value(updates, variable, at));
  }
  Values result;
  for (const Value& update : updates) {
    const bool replaced = std::any_of(copies.begin(), copies.end(), [&](const Values& copy) {
      return std::any_of(copy.begin(), copy.end(), [&](const Value& variable) { return writes(update, variable); });
    });
    if (!replaced) result.push_back(update);
  }

  Value full;
  {
    const Scope place = graph.annotated(place_of(first));
    const Value steps =
        graph.variable(std::string(first.op().name()) + "/averaged_step", number_constant(graph, 0, DType::int64, at));
    const Value next = steps + 1;
    full = greater_equal(next, every);
    result.push_back(assign(steps, select(full, 0, next)));
  }
  const Values weights = weights_of(copies, made, full, result, graph.line_for(at));
  const Values chosen = cond(
      full, [&] { return means_of(copies, made, weights); }, [&] { return own_values(copies, made); }, at);
  for (std::size_t copy = 0; copy < copies.size(); ++copy)
    for (std::size_t i = 0; i < copies[copy].size(); ++i)
      result.push_back(assign(copies[copy][i], chosen[copy * copies[copy].size() + i]));
  return result;
}

}  // namespace ferry
