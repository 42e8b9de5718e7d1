// Reshapes of split values: which keep the split, so that nothing is sent.
#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using test::has;

/// The messages that task 0 sends and receives in a step in which a variable, laid out like that over `tasks` tasks,
/// gets what `next` makes of it.
template <class Next>
std::int64_t messages(int tasks, std::vector<std::int64_t> sizes, const Layout& layout, const Next& next) {
  Graph g;
  auto here = g.on(g.mesh("m"));
  const Value u = g.variable("u", g.constant(Tensor(DType::float32, std::move(sizes)))).laid(layout);
  const Value made = assign(u, next(u));
  const Plan plan = test::planned(g, {}, tasks, {made});
  CHECK(verify(plan).reason == "");
  const Traffic traffic = traffic_of(plan, 0, 1);
  return traffic.sent_messages + traffic.received_messages;
}

TEST_CASE("a reshape that merges or cuts the outermost dim of a group keeps its split") {
  const auto merged = [](const Value& u) { return reshape(reshape(u, {-1, 32}) * 2.0, {6, 10, 32}); };
  const auto cut = [](const Value& u) { return reshape(reshape(u, {6, 10, 8, 4}) * 2.0, {6, 10, 32}); };
  for (const int tasks : {2, 3, 6}) {
    CAPTURE(tasks);
    CHECK(messages(tasks, {6, 10, 32}, {split(0)}, merged) == 0);
    CHECK(messages(tasks, {6, 10, 32}, {split(0)}, cut) == 0);
  }
  for (const int tasks : {2, 4, 8}) {
    CAPTURE(tasks);
    CHECK(messages(tasks, {6, 10, 32}, {split(2)}, cut) == 0);
  }
}

TEST_CASE("a reshape gathers where parts of the two sides are not the same elements") {
  const auto merged = [](const Value& u) { return reshape(reshape(u, {-1, 32}) * 2.0, {6, 10, 32}); };
  const auto cut = [](const Value& u) { return reshape(reshape(u, {6, 10, 8, 4}) * 2.0, {6, 10, 32}); };
  CHECK(messages(4, {6, 10, 32}, {split(0)}, merged) > 0);  // parts of 2, 2, 1 and 1 rows
  CHECK(messages(2, {6, 10, 32}, {split(1)}, merged) > 0);  // an inner dim
  CHECK(messages(16, {6, 10, 32}, {split(2)}, cut) > 0);    // more parts than heads
}

TEST_CASE("a large gather for a reshape is reported with its line") {
  const auto warnings = [](std::int64_t width) {
    Graph g;
    auto here = g.on(g.mesh("m"));
    const Value u = g.variable("u", g.constant(Tensor(DType::float32, {6, 10, width}))).laid({split(1)});
    const Value rows = assign(u, reshape(reshape(u, {60, width}) * 2.0, {6, 10, width}));
    Signature signature;
    signature.targets.push_back(rows.op().id());
    return make_plan(g, signature, Topology::local(2), test::AllKernels(), {}).warnings;
  };
  CHECK(warnings(4096).empty());
  const std::vector<std::string> large = warnings(8192);
  REQUIRE(large.size() == 1);
  CHECK(has(large[0], "reshape"));
  CHECK(has(large[0], "reshapes_test.cpp:"));
  CHECK(has(large[0], "gathers 1.9 MiB in each step, because a part of u is no part of its result"));
}

TEST_CASE("attention whose heads are cut and joined by reshapes is computed head by head") {
  const auto attention = [](const Value& u) {
    const Value heads = transpose(reshape(u, {4, 6, 8, 2}), {0, 2, 1, 3});
    const Value mixed = matmul(softmax(matmul(heads, heads, false, true), -1), heads);
    return reshape(transpose(mixed, {0, 2, 1, 3}), {4, 6, 16});
  };
  const auto descent = [&](const Value& u) { return u - gradients(sum(square(attention(u))), {u})[0]; };
  for (const int tasks : {2, 4}) {
    CAPTURE(tasks);
    for (const int dim : {0, 2}) {
      CAPTURE(dim);
      CHECK(messages(tasks, {4, 6, 16}, {split(dim)}, attention) == 0);
      CHECK(messages(tasks, {4, 6, 16}, {split(dim)}, descent) == 0);
    }
  }
}

}  // namespace
}  // namespace ferry
