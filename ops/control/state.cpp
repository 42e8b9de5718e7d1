#include "ops/control/state.hpp"

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

void check_variable(const Value& variable, const SourceLine& line) {
  static_cast<void>(graph_of({{variable}}, line));
  if (&variable.op().def() != &kVariable)
    throw Error(Code::plan, "assign: " + variable.op().str() + " is not a variable")
        .at(variable.graph().line_for(line))
        .hint("give what Graph::variable() returned");
}

}  // namespace

Value assign(const Value& variable, const Operand& value, source_location at) {
  check_variable(variable, at);
  Graph& graph = variable.graph();
  const Scope here = caller_scope(graph, at);
  const Value given = value.is_number()
                          ? broadcast_as(number_constant(graph, value.literal(), variable.dtype(), at), variable)
                          : value.value();
  const Scope place = graph.annotated(variable.op().annotation());
  const Value assigned = make_one(kAssign, {variable, given}, at);
  if (&assigned.graph() != &graph)
    throw Error(Code::plan, "assign: of " + variable.op().str() + " in the body of a loop or branch")
        .at(at)
        .hint("carry the state, and assign what comes out");
  return assigned;
}

Value assign_add(const Value& variable, const Operand& delta, source_location at) {
  check_variable(variable, at);
  const Scope here = caller_scope(variable.graph(), at);
  return assign(variable, variable + delta);
}

}  // namespace ferry
