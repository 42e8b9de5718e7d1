// Mistakes that a pass might make, planted between two passes: the proof refuses each plan, also where the verifier
// accepts it.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "placement/lower/class_nodes.hpp"
#include "placement/lower/find_roles.hpp"
#include "placement/lower/lower.hpp"
#include "placement/pipeline.hpp"
#include "placement/program/select.hpp"
#include "tests/equal/planned_graph.hpp"

namespace ferry::test {
namespace {

using Mistake = std::function<void(Program&)>;

/// The plan that the passes make if `mistake` changes the program after the pass of that name.
Plan plan_with(const Graph& g, const Signature& signature, const Topology& topology, std::string_view after,
               const Mistake& mistake) {
  PlanOptions options;
  options.evaluate = computed_constant;
  Program program = select(g, signature, topology, all_kernels(), options);
  for (const FormPass<Program>& pass : program_passes()) {
    pass.run(program);
    if (pass.name == after) mistake(program);
  }
  Plan plan;
  Lowering shared(program, plan);
  plan.class_of = find_roles(program, plan, shared.messages);
  const ClassNodes nodes(program, plan, shared.messages);
  for (std::size_t task = 0; task < plan.class_of.size(); ++task) {
    if (plan.class_of[task] < plan.classes.size()) continue;
    ClassPlan role = lower(shared, nodes, static_cast<std::int32_t>(task));
    for (const FormPass<ClassPlan>& pass : class_passes()) pass.run(role);
    plan.classes.push_back(std::move(role.role));
  }
  plan.topology = topology;
  return plan;
}

/// The nodes of the step that `wanted` accepts, in order.
std::vector<NodeId> nodes_of(const Program& program, const std::function<bool(const Node&)>& wanted) {
  std::vector<NodeId> found;
  for (const NodeId id : program.regions[0].order)
    if (wanted(program.nodes[id])) found.push_back(id);
  REQUIRE(!found.empty());
  return found;
}

std::vector<NodeId> collectives(const Program& program, CollectiveKind kind) {
  return nodes_of(program, [&](const Node& node) {
    return node.kind == NodeKind::collective && program.collectives[node.detail].kind == kind;
  });
}

std::vector<NodeId> ops(const Program& program, std::string_view name) {
  return nodes_of(program, [&](const Node& node) { return node.kind == NodeKind::compute && node.def->name == name; });
}

/// Makes all nodes and results use `other` in place of the node's only output, and removes the node.
void leave_out(Program& program, NodeId id, PValueId other) {
  const PValueId output = program.nodes[id].outputs[0];
  std::ranges::replace(program.operands, output, other);
  std::ranges::replace(program.regions[0].results, output, other);
  std::erase(program.regions[0].order, id);
}

/// Gives a value the layout that the mistaken pass believes it to have.
void lay_as(Program& program, PValueId value, const Layout& layout) {
  program.values[value].layout = program.intern(Layout(layout));
}

struct Case {
  Graph g;
  Signature signature;
  int tasks = 2;

  /// Checks that the proof refuses the plan with the mistake, and accepts the plan without it. `verified`: whether the
  /// verifier, which does not know the graph, accepts the plan with the mistake.
  void check_refused(bool verified, std::string_view after, const Mistake& mistake) const {
    const Topology topology = Topology::local(tasks);
    const Equality right = compared(g, signature, plan_with(g, signature, topology, after, [](Program&) {}));
    CHECK_MESSAGE(right.verdict == Equality::Verdict::equal, right.reason);
    const Plan plan = plan_with(g, signature, topology, after, mistake);
    const Verdict verdict = verify(plan, {nullptr, &all_kernels()});
    CHECK_MESSAGE(verdict.pass == verified, verdict.reason);
    const Equality wrong = compared(g, signature, plan);
    CHECK_MESSAGE(wrong.verdict == Equality::Verdict::differs, wrong.reason);
  }
};

/// A product whose contracted dim is split, and its exponential.
struct Contracted : Case {
  Contracted() {
    const auto on = g.on(g.mesh("x"));
    const Value a = g.input("a", {4, 4}), b = g.input("b", {4, 4});
    const Value y = matmul(identity(a).laid({split(1)}), identity(b).laid({split(0)}));
    signature = signature_of(g, {exp(y)});
  }
};

TEST_CASE("a sum over tasks that reshard leaves out") {
  Contracted().check_refused(false, "reshard", [](Program& program) {
    const NodeId sum = collectives(program, CollectiveKind::all_reduce)[0];
    const PValueId part = program.inputs(program.nodes[sum])[0];
    leave_out(program, sum, part);
    lay_as(program, part, program.wheres[program.values[part].where].all_replicated());
  });
}

TEST_CASE("a maximum in place of a sum over tasks") {
  Contracted().check_refused(false, "reshard", [](Program& program) {
    for (const NodeId sum : collectives(program, CollectiveKind::all_reduce))
      program.collectives[program.nodes[sum].detail].reduce = Reduce::max;
  });
}

/// A value whose columns are split, then whole on all tasks; or its rows are split.
struct Converted : Case {
  explicit Converted(const AxisLayout& after) {
    const auto on = g.on(g.mesh("x"));
    const Value a = g.input("a", {4, 4});
    const Value y = exp(identity(exp(identity(a).laid({split(1)}))).laid({after}));
    signature = signature_of(g, {y});
  }
};

void exchange_dims(Program& program, std::string_view op) {
  for (const NodeId id : ops(program, op)) {
    Node& node = program.nodes[id];
    Attrs attrs = *node.attrs;
    attrs.set("dim", 1 - attrs.get<std::int64_t>("dim"));
    node.attrs = &program.added_attrs.emplace_back(std::move(attrs));
  }
}

TEST_CASE("parts that a gather joins along another dim") {
  Converted(replicated()).check_refused(true, "reshard", [](Program& program) { exchange_dims(program, "JoinParts"); });
}

TEST_CASE("parts that an all-to-all cuts and joins along each other's dim") {
  Converted(split(0)).check_refused(true, "reshard", [](Program& program) {
    exchange_dims(program, "CutParts");
    exchange_dims(program, "JoinParts");
  });
}

/// A sum of two partial sums, and of two values that all tasks have.
struct Added : Case {
  Added() {
    const auto on = g.on(g.mesh("x"));
    const Value a = g.input("a", {4, 4}), b = g.input("b", {4, 4});
    const auto product = [&](const Value& x, const Value& y) {
      return matmul(identity(x).laid({split(1)}), identity(y).laid({split(0)}));
    };
    const Value y = exp(product(a, b) + exp(a) + product(b, a) + exp(b));
    signature = signature_of(g, {y});
  }
};

TEST_CASE("a term that is left out where a sum is reordered") {
  Added().check_refused(true, "reshard", [](Program& program) {
    const NodeId last = ops(program, "Add").back();
    leave_out(program, last, program.inputs(program.nodes[last])[0]);
  });
}

TEST_CASE("a partial sum that is left out where a sum is reordered") {
  Added().check_refused(true, "reshard", [](Program& program) {
    const NodeId first = ops(program, "Add").front();
    leave_out(program, first, program.inputs(program.nodes[first])[1]);
  });
}

TEST_CASE("a term in place of another one where a sum is reordered") {
  Added().check_refused(true, "reshard", [](Program& program) {
    const std::vector<NodeId> adds = ops(program, "Add");
    program.inputs(program.nodes[adds.back()])[1] = program.inputs(program.nodes[adds[adds.size() - 2]])[1];
  });
}

TEST_CASE("a value that all tasks have, added to a part of a sum") {
  Added().check_refused(false, "reshard", [](Program& program) {
    const std::vector<NodeId> adds = ops(program, "Add");
    const NodeId sum = collectives(program, CollectiveKind::all_reduce)[0];
    const PValueId part = program.inputs(program.nodes[sum])[0], all = program.nodes[sum].outputs[0];
    const auto next =
        std::ranges::find_if(adds, [&](NodeId id) { return program.inputs(program.nodes[id])[0] == all; });
    REQUIRE(next != adds.end());
    const PValueId made = program.nodes[*next].outputs[0];
    std::ranges::replace(program.operands, made, all);
    program.inputs(program.nodes[sum])[0] = made;
    program.inputs(program.nodes[*next])[0] = part;
    lay_as(program, made, program.values[part].layout);
    auto& order = program.regions[0].order;
    std::erase(order, *next);
    order.insert(std::ranges::find(order, sum), *next);
  });
}

TEST_CASE("a sum over the tasks of another axis of the mesh") {
  Case c;
  c.tasks = 4;
  const auto on = c.g.on(c.g.mesh({{"rows", 2}, {"columns", 2}}));
  const Value a = c.g.input("a", {4, 4}), b = c.g.input("b", {4, 4});
  const Value y = exp(matmul(identity(a).laid({replicated(), split(1)}), identity(b).laid({replicated(), split(0)})));
  c.signature = signature_of(c.g, {y});
  c.check_refused(false, "reshard", [](Program& program) {
    const Node& sum = program.nodes[collectives(program, CollectiveKind::all_reduce)[0]];
    program.collectives[sum.detail].members.grouping = program.where(sum).groupings[0];
  });
}

/// A step of training on two tasks, each with half of the rows.
struct Trained : Case {
  Trained() {
    const Value first = g.variable("first", g.constant(Tensor(DType::float32, {4, 4})));
    const Value second = g.variable("second", g.constant(Tensor(DType::float32, {4, 4})));
    const auto on = g.on(g.mesh("x"));
    const Value rows = g.input("rows", {4, 4});
    const Value loss = sum(square(matmul(matmul(identity(rows).laid({split(0)}), first), second)));
    signature = signature_of(g, {loss}, sgd(loss, {first, second}, 0.5));
  }
};

TEST_CASE("a gradient that is not added up over the tasks") {
  Trained().check_refused(false, "reshard", [](Program& program) {
    for (const NodeId sum : collectives(program, CollectiveKind::all_reduce)) {
      const PValueId part = program.inputs(program.nodes[sum])[0];
      if (program.values[part].type.shape.rank() != 2) continue;
      leave_out(program, sum, part);
      return lay_as(program, part, program.wheres[program.values[part].where].all_replicated());
    }
    FAIL("no gradient");
  });
}

TEST_CASE("two gradients that are exchanged") {
  Trained().check_refused(true, "reshard", [](Program& program) {
    std::vector<PValueId> gradients;
    for (const NodeId sum : collectives(program, CollectiveKind::all_reduce))
      gradients.push_back(program.nodes[sum].outputs[0]);
    REQUIRE(gradients.size() == 2);
    for (PValueId& operand : program.operands)
      operand = operand == gradients[0] ? gradients[1] : operand == gradients[1] ? gradients[0] : operand;
    auto& order = program.regions[0].order;
    const NodeId update = ops(program, "Sub")[0];  // of the variable whose gradient comes first: it must wait now
    const NodeId set = nodes_of(program, [&](const Node& node) {
      return node.kind == NodeKind::assign && program.inputs(node)[1] == program.nodes[update].outputs[0];
    })[0];
    for (const NodeId id : {update, set}) {
      std::erase(order, id);
      order.push_back(id);
    }
  });
}

TEST_CASE("another value of the same type that is sent to a task") {
  Case c;
  Value y;
  const Value a = c.g.input("a", {4, 4}), left = exp(a), right = a * 2.0;
  {
    const auto there = c.g.device("/task:1");
    y = left - right;
  }
  c.signature = signature_of(c.g, {y});
  c.check_refused(true, "send_parts", [](Program& program) {
    const std::vector<NodeId> subs = ops(program, "Sub");
    std::swap(program.inputs(program.nodes[subs[0]])[0], program.inputs(program.nodes[subs[0]])[1]);
  });
}

}  // namespace
}  // namespace ferry::test
