// Tests which collectives the plan of a model on a mesh has; layouts follow from the ops' index notation. Each plan
// must pass the verifier.
#include <doctest/doctest.h>

#include <map>

#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/data/data.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/mixed.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/regularize.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// The names of a plan's collectives, by kind: {"all_reduce", "grad/matmul"}.
std::multimap<std::string, std::string> collectives(const Plan& plan) {
  std::multimap<std::string, std::string> found;
  for (const Collective& c : plan.collectives)
    found.emplace(name_of(plan.schedules[c.schedule].kind), plan.string(c.name));
  return found;
}

/// A verified plan for four tasks in which no two sums share a collective.
Plan planned(const Graph& g, const Values& fetches, const Values& targets = {}, const test::Feeds& feeds = {}) {
  PlanOptions options;
  options.bucket_bytes = 0;
  Plan plan = test::planned(g, fetches, 4, targets, feeds, options);
  const Verdict verdict = verify(plan);
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  return plan;
}

TEST_CASE("data parallel training moves the gradients of the weights and nothing else") {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value images = read_idx(g, "images", DType::uint8, {100, 28, 28});
  const Value labels = read_idx(g, "labels", DType::uint8, {100});
  const Values rows = batch({images, labels}, 30);
  rows[0].laid({split(0)});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {784, 10})));
  const Value b = g.variable("b", g.constant(Tensor(DType::float32, {10})));
  const Value x = reshape(cast(rows[0], DType::float32) / 255, {-1, 784});
  const Value loss = mean(softmax_cross_entropy(relu(matmul(x, w) + b), rows[1]));
  const Plan plan = planned(g, {loss}, adam(loss, {w, b}, 0.1));
  CHECK(plan.channels.empty());
  const auto found = collectives(plan);
  CHECK(found.count("all_reduce") == 2);
  CHECK(found.count("reduce") == 1);
  CHECK(found.size() == 3);
}

/// A layer trained on rows that are split over tasks.
struct DataParallel {
  Graph g;
  Scope all = g.on(g.mesh("dp"));
  Value x = identity(g.constant(Tensor(DType::float32, {40, 16}))).laid({split(0)});
  Value w = g.variable("w", g.constant(Tensor(DType::float32, {16, 8})));
  Value b = g.variable("b", g.constant(Tensor(DType::float32, {8})));
  Gradients gradients = gradients_of(mean(square(matmul(x, w) + b)), {w, b});
};

/// Bytes of the arrays that are all-reduced, by dtype.
std::map<DType, std::int64_t> reduced_bytes(const Plan& plan) {
  std::map<DType, std::int64_t> bytes;
  for (const Collective& c : plan.collectives)
    if (plan.schedules[c.schedule].kind == CollectiveKind::all_reduce)
      for (const std::int64_t elements : c.parts)
        bytes[c.dtype] += elements * static_cast<std::int64_t>(size_of(c.dtype));
  return bytes;
}

TEST_CASE_FIXTURE(DataParallel, "gradients in 16 bits on the wire are half of the bytes") {
  const auto whole = reduced_bytes(planned(g, {}, sgd(gradients, 0.1)));
  const auto halves = reduced_bytes(planned(g, {}, sgd(on_wire(gradients, DType::bfloat16), 0.1)));
  CHECK(whole.size() == 1);
  CHECK(halves.size() == 1);
  CHECK(whole.at(DType::float32) == (16 * 8 + 8) * 4);
  CHECK(halves.at(DType::bfloat16) == (16 * 8 + 8) * 2);
}

TEST_CASE_FIXTURE(DataParallel, "gradients are added up once, whatever is done to them before they are applied") {
  const Gradients limited = clip_by_norm(weight_decay(gradients, 0.1), 1);
  const auto count = [&](const Values& updates) { return collectives(planned(g, {}, updates)).count("all_reduce"); };
  CHECK(count(lamb(limited, 0.1)) == 2);
  CHECK(count(lars(limited, 0.1)) == 2);
  const LossScale scale = loss_scale(g);
  const auto optimizer = [](const Gradients& given) { return sgd(clip_by_norm(given, 1), 0.1); };
  CHECK(count(unscaled(gradients, scale, optimizer)) == 2);
  CHECK(count(accumulated(gradients, 4, optimizer)) == 2);
}

TEST_CASE("a layer split over its columns, then over its rows, has one all-reduce") {
  Graph g;
  auto all = g.on(g.mesh("tp"));
  const Value x = g.constant(Tensor(DType::float32, {8, 16}));
  const Value up = g.variable("up", g.constant(Tensor(DType::float32, {16, 32})));
  const Value down = g.variable("down", g.constant(Tensor(DType::float32, {32, 16})));
  up.laid({split(1)});
  down.laid({split(0)});
  const Value y = matmul(relu(matmul(x, up)), down) + x;
  y.laid({replicated()});
  const auto found = collectives(planned(g, {y}));
  CHECK(found.size() == 1);
  CHECK(found.count("all_reduce") == 1);
}

TEST_CASE("partial sums of one sum are joined once, wherever whole values stand between them") {
  Graph g;
  auto all = g.on(g.mesh("tp"));
  const Value x = identity(g.constant(Tensor(DType::float32, {8, 16})));
  const auto layer = [&](const char* name) {
    const Value up = g.variable(std::string(name) + "/up", g.constant(Tensor(DType::float32, {16, 32})));
    const Value down = g.variable(std::string(name) + "/down", g.constant(Tensor(DType::float32, {32, 16})));
    return matmul(relu(matmul(x, up.laid({split(1)}))), down.laid({split(0)}));
  };
  const Value first = layer("first"), second = layer("second"), third = layer("third");
  const auto joins = [&](const Value& sum) { return collectives(planned(g, {sum.laid({replicated()})})); };
  CHECK(joins(first + x + second + x * 2 + third).count("all_reduce") == 1);
  CHECK(joins((x + first) + (x * 2 + (second + x * 3)) + third).count("all_reduce") == 1);
  CHECK(joins(tanh(x + first) + second).count("all_reduce") == 2);
}

TEST_CASE("a sum over two axes joins each axis once") {
  Graph g;
  auto all = g.on(g.mesh({{"dp", 2}, {"tp", 2}}));
  const auto cut = [&](Layout layout) {
    const Value x = identity(g.constant(Tensor(DType::float32, {8, 16}))).laid(std::move(layout));
    return sum(x, {0});
  };
  const Layout rows{split(0), replicated()}, columns{replicated(), split(0)};
  const Value whole = cut({replicated(), replicated()});
  const Value total = cut(rows) + whole + cut(columns) + cut({split(0), split(0)}) + cut(rows) + whole;
  const auto found = collectives(planned(g, {total.laid({replicated(), replicated()})}));
  // The sum that is partial over both axes is reduced over tp, then with the sums of rows over dp; the sums of columns
  // are reduced over tp.
  CHECK(found.count("all_reduce") == 3);
}

TEST_CASE("the gradient of a value with several uses has its partial sums joined once") {
  Graph g;
  auto all = g.on(g.mesh("tp"));
  const auto variable = [&](const char* name, std::vector<std::int64_t> shape, Layout layout) {
    return g.variable(name, g.constant(Tensor(DType::float32, std::move(shape)))).laid(std::move(layout));
  };
  const Value first = variable("first", {16, 16}, {replicated()});
  const Value q = variable("q", {16, 32}, {split(1)}), k = variable("k", {16, 32}, {split(1)});
  const Value v = variable("v", {16, 32}, {split(1)}), out = variable("out", {32, 16}, {split(0)});
  const Value x = matmul(g.constant(Tensor(DType::float32, {8, 16})), first);
  const Value mixed = tanh(matmul(x, q)) * tanh(matmul(x, k)) * tanh(matmul(x, v));
  const Value loss = mean(square(x + matmul(mixed, out)));
  const auto found = collectives(planned(g, {loss}, sgd(loss, {first, q, k, v, out}, 0.1)));
  CHECK(found.size() == 2);
  CHECK(found.count("all_reduce") == 2);  // one forwards, one backwards
}

TEST_CASE("rows of a table that are gathered for a split batch give partial sums backwards") {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value rows = g.constant(Tensor(DType::int32, {12}));
  const Value mine = identity(rows);
  mine.laid({split(0)});
  const Value table = g.variable("table", g.constant(Tensor(DType::float32, {50, 6})));
  const Value loss = mean(square(gather(table, mine)));
  const auto found = collectives(planned(g, {loss}, sgd(loss, {table}, 0.1)));
  CHECK(found.size() == 2);
  CHECK(found.count("all_reduce") == 1);
}

TEST_CASE("a mean over the split dim divides the sum of all by the size of the whole") {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value x = identity(g.constant(Tensor(DType::float32, {10, 3})));
  x.laid({split(0)});
  const Value m = mean(x, {0});
  m.laid({replicated()});
  const auto found = collectives(planned(g, {m}));
  CHECK(found.size() == 1);
  CHECK(found.count("all_reduce") == 1);
}

}  // namespace
}  // namespace ferry
