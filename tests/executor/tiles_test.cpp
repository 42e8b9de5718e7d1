// Elementwise ops that run tile by tile give the bits of the same ops one after another, on any number of threads and
// tasks.
#include "executor/fused/tiles.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "executor/session/session.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/nn/norm.hpp"
#include "ops/train/optim.hpp"
#include "placement/planner.hpp"
#include "tests/executor/one_task.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kMany = 100'003;  // the last tile is smaller

std::unique_ptr<Session> session_on(const Graph& g, int tasks, int threads, std::int64_t fuse_from) {
  SessionOptions options;
  options.plan.fuse_from = fuse_from;
  return std::make_unique<Session>(
      g, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = threads, .transport = "inproc", .jobs = ""}),
      options);
}

std::size_t tile_regions(Session& session, const RunRequest& request) {
  std::size_t found = 0;
  for (const PlanClass& role : session.plan(request).plan.classes)
    for (const Region& region : role.regions) found += region.kind == Region::Kind::tile ? 1 : 0;
  return found;
}

/// Checks that a run with `regions` tile regions, on one and two threads, has the same bits as with every op alone on
/// one thread.
void check_same(const Graph& g, const RunRequest& request, std::size_t regions, int tasks = 1) {
  const std::vector<Tensor> expected = session_on(g, 1, 1, 0)->run(request);
  for (int threads : {1, 2})
    for (std::int64_t from : {1000, 150}) {
      CAPTURE(threads);
      CAPTURE(from);
      const auto session = session_on(g, tasks, threads, from);
      CHECK(tile_regions(*session, request) == regions);
      const std::vector<Tensor> got = session->run(request);
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(expected[i]));
      for (const TaskStats& task : session->stats().tasks) CHECK(task.measured == task.planned);
    }
}

TEST_CASE("ops of several types, broadcast values and values used outside have the same bits tile by tile") {
  Graph g;
  const Value x = normal(g, {41, 2439 + 2});
  const Value bias = normal(g, {41, 1}), row = normal(g, {2441});
  const Value a = x + bias, b = maximum(a, row) * a;
  const Value small = cast(b * 100.0, DType::int32), chosen = select(less(small, 7), a, exp(b));
  RunRequest request;
  request.fetches = {a, chosen, small, sum(chosen)};
  check_same(g, request, 1);
}

TEST_CASE("ops of narrow dtypes have the same bits tile by tile") {
  Graph g;
  const Value half = normal(g, {41, 2441}, 0, 1, DType::float16), row = normal(g, {2441}, 0, 1, DType::float16);
  const Value brain = cast(half * row, DType::bfloat16);
  const Value small = cast(brain * 50.0, DType::int8), large = cast(small, DType::uint64) * 3.0;
  const Value chosen = select(less(small, 7), brain, cast(exp(half), DType::bfloat16) + 1.0);
  RunRequest request;
  request.fetches = {chosen, large / 5.0, small * small, sum(chosen)};
  check_same(g, request, 1);
}

TEST_CASE("variables are updated in place, and read as they were before the step") {
  Graph g;
  const Value w = g.variable("w", normal(g, {kMany})), v = g.variable("v", normal(g, {kMany}));
  const Value x = normal(g, {kMany});
  RunRequest request;
  request.fetches = {w, v, sum(w * v)};
  request.targets = momentum({{w, x}}, 0.5);
  const Value next = v - w * x;
  request.targets.push_back(assign(v, next));
  request.steps = 3;
  check_same(g, request, 1);
}

TEST_CASE("normalisations have the same bits row by row, and so do their gradients") {
  Graph g;
  const Value x = normal(g, {41, 7, 613}), scale = normal(g, {613}), offset = normal(g, {613});
  RunRequest request;
  SUBCASE("layer_norm") {
    const Value y = layer_norm(x, scale, offset);
    request.fetches = {y, sum(y)};
    check_same(g, request, 1);
    const Value loss = sum(y * x);
    request.fetches = gradients(loss, {x, scale, offset});
    const std::vector<Tensor> expected = session_on(g, 1, 1, 0)->run(request);
    const std::vector<Tensor> got = session_on(g, 1, 2, 1000)->run(request);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(expected[i]));
  }
  SUBCASE("rms_norm over two dims") {
    request.fetches = {rms_norm(normal(g, {41, 9, 301}), normal(g, {301}), {1, 2})};
    check_same(g, request, 1);
  }
  SUBCASE("softmax of scores with a mask, in float64") {
    const Value scores = normal(g, {5, 41, 613}, 0, 1, DType::float64);
    const Value mask = normal(g, {41, 613}, 0, 1, DType::float64);
    request.fetches = {softmax(scores * 0.125 + mask) * 2.0};
    check_same(g, request, 1);
  }
  SUBCASE("one result for each row") {
    const Value top = max(x, {2}, true);
    request.fetches = {log(sum(exp(x - top), {2}, true)) + top, sum(cast(x * 9.0, DType::int64), {2})};
    check_same(g, request, 1);
  }
}

/// Random ops on whole values, on one number for each row and on one for each column. None makes numbers grow.
Values random_rows(Graph& g, std::uint64_t seed) {
  test::Dice dice(seed);
  const std::int64_t rows = 40 + dice.below(20), columns = dice.one_in(4) ? rows : 400 + dice.below(400);
  Values whole{normal(g, {rows, columns}), normal(g, {rows, columns})}, of_rows{normal(g, {rows, 1})};
  const Value of_columns = normal(g, {columns});
  for (int i = 0; i < 14; ++i) {
    const Value x = dice.of(whole), r = dice.of(of_rows);
    switch (dice.below(9)) {
      case 0:
        whole.push_back(tanh(x - r));
        break;
      case 1:
        whole.push_back(x * 0.5 + dice.of(whole) * 0.25);
        break;
      case 2:
        whole.push_back(maximum(x, of_columns) * 0.5);
        break;
      case 3:
        whole.push_back(softmax(x));
        break;
      case 4:
        whole.push_back(minimum(x, r * 0.5));
        break;
      case 5:
        of_rows.push_back(max(x, {1}, true));
        break;
      case 6:
        of_rows.push_back(tanh(sum(x, {1}, true)) * 0.5);
        break;
      case 7:
        of_rows.push_back(minimum(r, dice.of(of_rows)) + 0.125);
        break;
      default:
        if (rows == columns) whole.push_back(minimum(x, reshape(r, {rows})));
    }
  }
  return {whole.back(), dice.of(whole), of_rows.back(), sum(dice.of(whole), {0})};
}

TEST_CASE("ops at random on rows have the same bits tile by tile") {
  std::size_t regions = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Graph g;
    RunRequest request;
    request.fetches = random_rows(g, seed);
    const std::vector<Tensor> expected = session_on(g, 1, 1, 0)->run(request);
    for (int threads : {1, 2}) {
      const auto session = session_on(g, 1, threads, 60);
      regions += tile_regions(*session, request);
      const std::vector<Tensor> got = session->run(request);
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(expected[i]));
    }
  }
  CHECK(regions > 60);
}

/// Checks that an optimizer's updates are `passes` passes over a variable (tile regions), not counting its norms.
void check_passes(std::size_t passes, const std::function<Values(const Gradients&)>& optimizer) {
  Graph g;
  const Value w = g.variable("w", normal(g, {kMany}));
  RunRequest request;
  request.targets = optimizer({{w, identity(normal(g, {kMany}))}});
  request.fetches = {w, sum(w)};
  request.steps = 3;
  check_same(g, request, passes);
}

TEST_CASE("the update of an optimizer is one pass over a variable, or one more behind a norm of what it computes") {
  check_passes(1, [](const Gradients& g) { return nesterov(g, 0.1); });
  check_passes(1, [](const Gradients& g) { return adagrad(g, 0.1); });
  check_passes(1, [](const Gradients& g) { return rmsprop(g, 0.1, {.momentum = 0.9, .centered = true}); });
  check_passes(1, [](const Gradients& g) { return adam(g, 0.1); });
  check_passes(1, [](const Gradients& g) { return adamw(g, 0.1); });
  check_passes(2, [](const Gradients& g) { return lamb(g, 0.1); });
  check_passes(1, [](const Gradients& g) { return lars(g, 0.1); });
}

TEST_CASE("a value that is sent alone is computed where it goes") {
  Graph g;
  Value made, y;
  {
    const auto here = g.device("/task:0");
    made = exp(normal(g, {kMany}) * 0.5) + 1.0;
  }
  {
    const auto here = g.device(DeviceSpec::parse("/task:1"));
    y = made * 2.0;
  }
  RunRequest request;
  request.fetches = {sum(y)};
  request.steps = 3;
  const std::vector<Tensor> expected = session_on(g, 2, 1, 0)->run(request);
  const auto session = session_on(g, 2, 1, 1000);
  CHECK(tile_regions(*session, request) == 1);
  CHECK(session->run(request)[0].same_bits(expected[0]));
}

TEST_CASE("what a kernel of a tile region throws names its op and the user's line") {
  Graph g;
  const Value x = g.input("x", DType::int32, {kMany}), y = g.input("y", DType::int32, {kMany});
  const Value quotient = ((x / y).named("quotient") + 1).named("more");
  RunRequest request;
  request.fetches = {quotient};
  request.feeds["x"] = Tensor(DType::int32, {kMany});
  const auto divisors = [](std::int32_t last) {
    Tensor made(DType::int32, {kMany});
    for (std::int32_t& d : made.mutable_data<std::int32_t>()) d = 3;
    made.mutable_data<std::int32_t>()[kMany - 1] = last;
    return made;
  };
  request.feeds["y"] = divisors(3);
  for (int threads : {1, 2}) {
    const auto session = session_on(g, 1, threads, 1000);
    CHECK(tile_regions(*session, request) == 1);
    CHECK_NOTHROW(session->run(request));
    RunRequest bad = request;
    bad.feeds["y"] = divisors(0);
    const Error error = test::error_of([&] { session->run(bad); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "Div \"quotient\" on task 0: an integer is divided by zero"));
    CHECK(test::says(error, "tiles_test.cpp:"));
  }
}

}  // namespace
}  // namespace ferry
