// Mistakes that a pass might make, planted between two passes: the proof refuses each plan, also where the verifier
// accepts it.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/equal/mistakes.hpp"
#include "tests/equal/planned_graph.hpp"

namespace ferry::test {
namespace {

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
    leave_out_sum(program, collectives(program, CollectiveKind::all_reduce)[0]);
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
    const NodeId sum = collectives(program, CollectiveKind::all_reduce)[0];
    const PValueId all = program.nodes[sum].outputs[0];
    const std::vector<NodeId> adds = ops(program, "Add");
    const auto next =
        std::ranges::find_if(adds, [&](NodeId id) { return program.inputs(program.nodes[id])[0] == all; });
    REQUIRE(next != adds.end());
    sum_later(program, sum, *next);
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
  Trained().check_refused(false, "reshard", [](Program& program) { leave_out_sum(program, sum_of(program, {4, 4})); });
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
