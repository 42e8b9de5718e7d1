#include "ops/train/schedule.hpp"

#include <numbers>
#include <string>

#include "base/error.hpp"
#include "base/format.hpp"
#include "ops/build.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/trig.hpp"

namespace ferry {
namespace {

void require_positive(std::string_view what, std::int64_t steps, const SourceLine& line) {
  if (steps <= 0)
    throw Error(Code::plan, "{}: {} steps; at least one", as_is(what), steps)
        .at(line)
        .hint("give the number of steps over which the rate changes");
}

/// The count of steps as float64, which is exact up to 2^53. Throws if `steps` is not an integer scalar.
Value as_number(std::string_view what, const Value& steps, const SourceLine& line) {
  static_cast<void>(graph_of({{steps}}, line));
  if (!is_integer(steps.dtype()) || steps.rank() != 0)
    throw Error(Code::plan, std::string(what) + ": the count of steps '" + steps.name() + "' is " + steps.type().str())
        .at(line)
        .hint("an int64 scalar, as count_steps gives");
  return cast(steps, DType::float64);
}

/// Returns rate * factor, where factor is float64.
Value scaled(std::string_view what, const Operand& rate, const Value& factor) {
  if (!rate.is_number() && (!is_float(rate.value().dtype()) || rate.value().rank() != 0))
    throw Error(Code::plan,
                std::string(what) + ": the rate '" + rate.value().name() + "' is " + rate.value().type().str())
        .at(rate.line())
        .hint("a number or a floating-point scalar");
  if (rate.is_number()) return factor * rate.number();
  const Value wide = cast(rate.value(), DType::float64);
  return cast(wide * factor, rate.value().dtype());
}

}  // namespace

StepCount count_steps(Graph& graph, std::string_view name, source_location at) {
  const Scope here = caller_scope(graph, at);
  const Value steps = graph.variable(name, number_constant(graph, 0, DType::int64, at), at);
  return {steps, assign(steps, steps + 1, at)};
}

Value warm_up(const Operand& rate, const Value& steps, std::int64_t count, source_location at) {
  require_positive("warm_up", count, at);
  const Value now = as_number("warm_up", steps, at);
  const Scope here = caller_scope(now.graph(), at);
  return scaled("warm_up", rate, minimum((now + 1) / count, 1));
}

Value scaled_by_tasks(const Operand& rate, int tasks, const Value& steps, std::int64_t count, source_location at) {
  require_positive("scaled_by_tasks", count, at);
  if (tasks < 1) throw Error(Code::plan, "scaled_by_tasks: {} tasks", tasks).at(at).hint("give Cluster::size()");
  const Value now = as_number("scaled_by_tasks", steps, at);
  const Scope here = caller_scope(now.graph(), at);
  const Value share = minimum(now / count, 1);
  return scaled("scaled_by_tasks", rate, share * (tasks - 1) + 1);
}

Value step_decay(const Operand& rate, const Value& steps, std::int64_t every, double factor, source_location at) {
  require_positive("step_decay", every, at);
  const Value now = as_number("step_decay", steps, at);
  const Scope here = caller_scope(now.graph(), at);
  return scaled("step_decay", rate, pow(factor, floor(now / every)));
}

Value milestone_decay(const Operand& rate, const Value& steps, const Ints& milestones, double factor,
                      source_location at) {
  const Value now = as_number("milestone_decay", steps, at);
  const Scope here = caller_scope(now.graph(), at);
  Value passed = now * 0;
  for (const std::int64_t milestone : milestones) passed = passed + cast(greater_equal(now, milestone), DType::float64);
  return scaled("milestone_decay", rate, pow(factor, passed));
}

Value cosine_decay(const Operand& rate, const Value& steps, std::int64_t count, double lowest, source_location at) {
  require_positive("cosine_decay", count, at);
  const Value now = as_number("cosine_decay", steps, at);
  const Scope here = caller_scope(now.graph(), at);
  const Value share = (cos(minimum(now / count, 1) * std::numbers::pi) + 1) / 2;
  if (rate.is_number()) return share * (rate.number() - lowest) + lowest;
  const Value falling = scaled("cosine_decay", rate, share);
  return falling + cast((1 - share) * lowest, falling.dtype());
}

}  // namespace ferry
