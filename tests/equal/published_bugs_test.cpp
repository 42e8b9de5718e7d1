// Silent bugs of other systems that were published, as mistakes in plans: the proof refuses each of them.
// docs/internals/published_bugs.md lists them with their sources; its numbers are the numbers of the test cases.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/nn/norm.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/pipeline.hpp"
#include "tests/equal/mistakes.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {
namespace {

/// The text with N in place of line numbers, and with single spaces.
std::string plain(const std::string& text) {
  const std::string one_line = std::regex_replace(text, std::regex("\\s+"), " ");
  return std::regex_replace(one_line, std::regex("[^ ]*published_bugs_test\\.cpp:\\d+"), "published_bugs_test.cpp:N");
}

/// Checks that the reason names a line of this file, and that the page has it as what ferry prints for the bug.
void check_printed(int bug, const std::string& reason) {
  CHECK(has(reason, "published_bugs_test.cpp:"));
  std::ifstream file(FERRY_SOURCE_ROOT "/docs/internals/published_bugs.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string printed = std::to_string(bug) + ": " + plain(reason);
  if (plain(page).find(printed) == std::string::npos) FAIL_CHECK("not on the page:\n", printed);
}

Value weights(Graph& g, const char* name, const Shape& shape, source_location at = source_location::current()) {
  return g.variable(name, g.constant(Tensor(DType::float32, shape.sizes())), at);
}

/// A step of training on a sequence whose tokens are split over two tasks: a norm, a router of experts, a product.
struct SplitSequence : Case {
  SplitSequence() {
    const Value scale = weights(g, "scale", {4}), router = weights(g, "router", {4, 3});
    const auto on = g.on(g.mesh("sequence"));
    const Value tokens = identity(g.input("tokens", {6, 4})).laid({split(0)});
    const Value gates = softmax(matmul(rms_norm(tokens, scale), router));
    const Value loss = mean(square(gates));
    signature = signature_of(g, {exp(loss)}, sgd(loss, {scale, router}, 0.5));
  }
};

TEST_CASE("bug 1: the gradient of a norm's scale is not summed over the parts of the sequence") {
  check_printed(1, SplitSequence().check_refused(
                       false, "reshard", [](Program& program) { leave_out_sum(program, sum_of(program, {4})); }));
}

TEST_CASE("bug 2: the gradient of a router is not summed over the parts of the sequence") {
  check_printed(2, SplitSequence().check_refused(false, "reshard", [](Program& program) {
    leave_out_sum(program, sum_of(program, {4, 3}));
  }));
}

TEST_CASE("bug 3: the loss is summed over tasks that have all of it") {
  check_printed(3, SplitSequence().check_refused(true, "reshard", [](Program& program) {
    const NodeId sum = sum_of(program, {});
    sum_again(program, sum, program.nodes[sum].outputs[0]);
  }));
}

TEST_CASE("bug 4: the gradient of a norm's scale is summed twice") {
  check_printed(4, SplitSequence().check_refused(true, "reshard", [](Program& program) {
    const NodeId sum = sum_of(program, {4});
    sum_again(program, sum, program.nodes[sum].outputs[0]);
  }));
}

TEST_CASE("bug 5: a mean is divided by another number of values") {
  check_printed(5, SplitSequence().check_refused(true, "reshard", [](Program& program) {
    const std::vector<NodeId> sizes = ops(program, "SizeOf");
    program.inputs(program.nodes[sizes[1]])[0] = program.inputs(program.nodes[sizes[0]])[0];
  }));
}

/// A step of training of a table that embeds tokens and also gives the logits. The tokens are split over two tasks.
struct Tied : Case {
  Tied() {
    const Value table = weights(g, "table", {5, 4});
    const auto on = g.on(g.mesh("data"));
    const Value tokens = identity(g.input("tokens", DType::int32, {6})).laid({split(0)});
    const Value logits = matmul(tanh(gather(table, tokens)), table, false, true);
    const Value loss = sum(square(logits));
    signature = signature_of(g, {loss}, {assign(table, table - gradients(loss, {table})[0])});
  }
};

/// The op that adds the gradients of both uses of the table.
NodeId added(const Program& program) {
  const NodeId sum = sum_of(program, {5, 4});
  return program.values[program.inputs(program.nodes[sum])[0]].producer;
}

TEST_CASE("bug 6: only one use of a tied embedding trains it") {
  check_printed(6, Tied().check_refused(true, "reshard", [](Program& program) {
    const NodeId add = added(program);
    leave_out(program, add, program.inputs(program.nodes[add])[0]);
  }));
}

TEST_CASE("bug 7: the gradient of one use is summed over the tasks before the other is added, and again with it") {
  check_printed(7, Tied().check_refused(false, "reshard", [](Program& program) {
    const NodeId add = added(program);
    sum_again(program, sum_of(program, {5, 4}), program.inputs(program.nodes[add])[0]);
  }));
}

TEST_CASE("bug 8: a gradient is summed over the tasks before its last part is added") {
  check_printed(8, Tied().check_refused(false, "reshard", [](Program& program) {
    const NodeId sum = sum_of(program, {5, 4}), add = added(program);
    const PValueId all = program.nodes[sum].outputs[0], both = program.nodes[add].outputs[0];
    std::ranges::replace(program.operands, all, both);
    program.inputs(program.nodes[sum])[0] = std::exchange(program.inputs(program.nodes[add])[0], all);
    lay_as(program, both, program.values[all].layout);
    auto& order = program.regions[0].order;
    std::erase(order, add);
    order.insert(std::ranges::find(order, sum) + 1, add);
  }));
}

TEST_CASE("bug 9: a gradient is added to other values that were left in its buffer") {
  check_printed(9, Tied().check_refused(false, "reshard", [](Program& program) {
    const NodeId table = nodes_of(program, [](const Node& node) { return node.kind == NodeKind::variable; })[0];
    program.inputs(program.nodes[added(program)])[0] = program.nodes[table].outputs[0];
  }));
}

TEST_CASE("bug 10: a gradient is summed over the tasks of another axis") {
  Case c;
  c.tasks = 4;
  const Value w = weights(c.g, "w", {4, 4});
  const auto on = c.g.on(c.g.mesh({{"data", 2}, {"tensor", 2}}));
  const Value rows = identity(c.g.input("rows", {4, 4})).laid({split(0), replicated()});
  const Value hidden = matmul(rows, identity(w).laid({replicated(), split(1)}));
  const Value loss = sum(square(hidden));
  c.signature = signature_of(c.g, {loss}, sgd(loss, {w}, 0.5));
  check_printed(10, c.check_refused(false, "reshard", [](Program& program) {
    const Node& sum = program.nodes[sum_of(program, {4, 4})];
    program.collectives[sum.detail].members.grouping = program.where(sum).groupings[1];
  }));
}

TEST_CASE("bug 11: the forward pass uses the weights of the step before") {
  Case c;
  const auto on = c.g.on(c.g.mesh("data"));
  const Value w = weights(c.g, "w", {4, 4}).laid({split(0)});
  const Value rows = c.g.input("rows", {4, 4}), updated = w * 0.5;
  const Value before = tanh(matmul(rows, identity(w).laid({replicated()})));
  const Value after = matmul(rows, identity(updated).laid({replicated()}));
  c.signature = signature_of(c.g, {before, after}, {assign(w, updated)});
  check_printed(11, c.check_refused(true, "reshard", [](Program& program) {
    const std::vector<NodeId> products = ops(program, "MatMul");
    program.inputs(program.nodes[products[1]])[1] = program.inputs(program.nodes[products[0]])[1];
  }));
}

TEST_CASE("bug 12: a layer that is recomputed reads the input of the first layer") {
  Case c;
  c.tasks = 1;
  const Values w{weights(c.g, "w1", {4, 4}), weights(c.g, "w2", {4, 4})};
  Value x = c.g.input("x", {4, 4});
  {
    const auto part = c.g.remade();
    for (const Value& layer : w) x = tanh(matmul(x, layer));
  }
  const Value loss = sum(square(x));
  c.signature = signature_of(c.g, {loss}, sgd(loss, w, 0.5));
  check_printed(12, c.check_refused(true, "merge", [](Program& program) {
    std::vector<NodeId> again = nodes_of(program, [](const Node& node) {
      return node.kind == NodeKind::compute && node.def->name == "MatMul" && node.graph->op(node.op).recomputed();
    });
    REQUIRE(again.size() == 2);
    program.inputs(program.nodes[again[1]])[0] = program.inputs(program.nodes[again[0]])[0];
  }));
}

TEST_CASE("bug 13: attention over a split sequence gives the gradient of the values to the keys") {
  Case c;
  const Values w{weights(c.g, "query", {4, 4}), weights(c.g, "key", {4, 4}), weights(c.g, "value", {4, 4})};
  const auto on = c.g.on(c.g.mesh("context"));
  const Value x = identity(c.g.input("x", {6, 4})).laid({split(0)});
  const Value scores = matmul(matmul(x, w[0]), matmul(x, w[1]), false, true).laid({split(0)});
  const Value loss = sum(square(matmul(softmax(scores), matmul(x, w[2]))));
  c.signature = signature_of(c.g, {loss}, sgd(loss, w, 0.5));
  check_printed(13, c.check_refused(true, "reshard", [](Program& program) {
    const std::vector<NodeId> sums = collectives(program, CollectiveKind::reduce_scatter);
    REQUIRE(sums.size() == 2);
    const PValueId one = program.nodes[sums[0]].outputs[0], other = program.nodes[sums[1]].outputs[0];
    const std::size_t later = std::ranges::find(program.regions[0].order, sums[1]) - program.regions[0].order.begin();
    for (std::size_t k = later; k < program.regions[0].order.size(); ++k)
      std::ranges::replace(program.inputs(program.nodes[program.regions[0].order[k]]), other, one);
  }));
}

/// Four layers, two on each of two tasks.
struct Stages : Case {
  Stages() {
    Value x = g.input("x", {4, 4});
    for (int layer = 0; layer < 4; ++layer) {
      const auto there = g.device("/task:" + std::to_string(layer / 2));
      x = tanh(matmul(x, weights(g, ("w" + std::to_string(layer)).c_str(), {4, 4})));
    }
    signature = signature_of(g, {x});
  }
};

TEST_CASE("bug 14: the second stage has the layers of the first") {
  check_printed(14, Stages().check_refused(true, "merge", [](Program& program) {
    const std::vector<NodeId> products = ops(program, "MatMul");
    for (std::size_t k = 0; k < 2; ++k)
      program.inputs(program.nodes[products[k + 2]])[1] = program.inputs(program.nodes[products[k]])[1];
  }));
}

TEST_CASE("bug 15: the last layer is on no stage") {
  check_printed(15, Stages().check_refused(true, "merge", [](Program& program) {
    const NodeId last = ops(program, "Tanh").back(), product = ops(program, "MatMul").back();
    leave_out(program, last, program.inputs(program.nodes[product])[0]);
  }));
}

TEST_CASE("bug 16: batch and sequence are not exchanged back") {
  Case c;
  const auto on = c.g.on(c.g.mesh("tensor"));
  const Value x = identity(c.g.input("x", {3, 3, 4})).laid({split(2)});
  c.signature = signature_of(c.g, {exp(transpose(exp(x), {1, 0, 2}))});
  check_printed(16, c.check_refused(true, "merge", [](Program& program) {
    Node& node = program.nodes[ops(program, "Transpose")[0]];
    Attrs attrs = *node.attrs;
    attrs.set("perm", Ints{0, 1, 2});
    node.attrs = &program.added_attrs.emplace_back(std::move(attrs));
  }));
}

TEST_CASE("bug 17: an all-to-all cuts and joins along each other's dim") {
  Case c;
  const auto on = c.g.on(c.g.mesh("tensor"));
  const Value x = exp(identity(c.g.input("x", {4, 4})).laid({split(1)}));
  c.signature = signature_of(c.g, {exp(identity(x).laid({split(0)}))});
  check_printed(17, c.check_refused(true, "reshard", [](Program& program) {
    exchange_dims(program, "CutParts");
    exchange_dims(program, "JoinParts");
  }));
}

TEST_CASE("bug 18: a view of a split value is taken to be split along another dim") {
  Case c;
  const auto on = c.g.on(c.g.mesh("tensor"));
  const Value x = exp(identity(c.g.input("x", {4, 6})).laid({split(1)}));
  c.signature = signature_of(c.g, {exp(reshape(x, {2, 12}).laid({split(1)}))});
  const auto mistake = [](Program& program) {
    const NodeId view = ops(program, "Reshape")[0], before = ops(program, "Exp")[0];
    program.inputs(program.nodes[view])[0] = program.nodes[before].outputs[0];
    const PValueId shown = program.nodes[view].outputs[0];
    leave_out(program, ops(program, "TakePart")[0], shown);
    lay_as(program, shown, {split(1)});
  };
  check_printed(18, c.check_refused(true, "reshard", mistake, Equality::Verdict::not_proved));
}

/// The sum of values that are split over two tasks.
struct Summed : Case {
  Value s;
  Summed() {
    const auto on = g.on(g.mesh("x"));
    s = sum(identity(g.input("x", {4})).laid({split(0)}));
  }
};

TEST_CASE("bug 19: a scalar is added to each task's part of a sum") {
  Summed c;
  {
    const auto on = c.g.on(c.g.mesh("x"));
    c.signature = signature_of(c.g, {c.s + 10.0});
  }
  check_printed(19, c.check_refused(false, "reshard", [](Program& program) {
    sum_later(program, sum_of(program, {}), ops(program, "Add")[0]);
  }));
}

TEST_CASE("bug 20: the norm of each task's part of a sum is summed") {
  Summed c;
  {
    const auto on = c.g.on(c.g.mesh("x"));
    c.signature = signature_of(c.g, {square(c.s)});
  }
  check_printed(20, c.check_refused(false, "reshard", [](Program& program) {
    sum_later(program, sum_of(program, {}), ops(program, "Square")[0]);
  }));
}

TEST_CASE("bug 21: a product with one scalar is taken for the product with another") {
  Summed c;
  {
    const auto on = c.g.on(c.g.mesh("x"));
    c.signature = signature_of(c.g, {c.s * 2.0, c.s * -5.0});
  }
  check_printed(21, c.check_refused(true, "reshard", [](Program& program) {
    const std::vector<NodeId> products = ops(program, "Mul");
    leave_out(program, products[1], program.nodes[products[0]].outputs[0]);
  }));
}

TEST_CASE("bug 22: only the last microbatch trains the weights") {
  Case c;
  const auto on = c.g.device("/task:0");
  const Value w = weights(c.g, "w", {4, 4});
  const Value loss = pipeline(mean(square(matmul(c.g.input("rows", {4, 4}), w))), {.microbatches = 2});
  c.signature = signature_of(c.g, {loss}, sgd(loss, {w}, 0.5));
  check_printed(22, c.check_refused(true, "reshard", [](Program& program) {
    const NodeId add = ops(program, "Add").back();
    leave_out(program, add, program.inputs(program.nodes[add])[1]);
  }));
}

}  // namespace
}  // namespace ferry::test
