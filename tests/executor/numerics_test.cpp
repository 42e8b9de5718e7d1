#include "executor/observe/numerics.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "executor/session/checkpoints.hpp"
#include "executor/session/session.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"
#include "tests/support/walk.hpp"

namespace ferry {
namespace {

using test::cluster_of;
using test::error_of;
using test::says;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
void counts() {
  std::vector<T> values(9, T(1.0F));
  CHECK(not_finite(dtype_of<T>(), std::as_bytes(std::span(values))).first == -1);
  values[3] = T(static_cast<float>(-kInf));
  values[5] = values[8] = T(static_cast<float>(kNan));
  const NotFinite found = not_finite(dtype_of<T>(), std::as_bytes(std::span(values)));
  CHECK(found.infinities == 1);
  CHECK(found.nans == 2);
  CHECK(found.first == 3);
  CHECK(found.elements == 9);
}

TEST_CASE("numerics: NaN and infinities of every floating dtype are counted, and integers have none") {
  counts<float>();
  counts<double>();
  counts<Float16>();
  counts<BFloat16>();
  const std::vector<std::int32_t> ones(4, -1);
  CHECK(not_finite(DType::int32, std::as_bytes(std::span(ones))).elements == 0);
}

/// The error of a run of `steps` steps with check_numerics; Code::ok where there is none.
Error checked(Graph& graph, const Value& value, const TensorMap& feeds = {}, int tasks = 1, std::int64_t steps = 1) {
  SessionOptions options;
  options.run.check_numerics = true;
  Session session(graph, cluster_of(tasks), options);
  RunRequest request;
  request.fetches = {value};
  request.feeds = feeds;
  request.steps = steps;
  return error_of([&] { session.run(request); });
}

TEST_CASE("numerics: the first op is named, not those that only hand NaN on") {
  Graph g;
  const Value x = g.input("x", DType::float64, {3});
  const Value y = (sqrt(x).named("root") * 2.0).named("after");
  const Error error = checked(g, y, {{"x", Tensor::of<double>({3}, {1, -1, 4})}});
  CHECK(error.code() == Code::numeric);
  CHECK(says(error, "Sqrt \"root\" on task 0: NaN in 1 of 3 elements, the first not finite at 1, in step 0"));
  CHECK(says(error, "numerics_test.cpp:"));
  CHECK(checked(g, y, {{"x", Tensor::of<double>({3}, {1, 0, 4})}}).code() == Code::ok);
}

TEST_CASE("numerics: the step in which it happens is named") {
  Graph g;
  const Value v = g.variable("v", g.constant({1e30F, 1.0F}));
  const Value next = assign(v, (v * 1e4).named("grown"));
  const Error error = checked(g, next, {}, 2, 9);
  CHECK(error.code() == Code::numeric);
  CHECK(says(error, "\"grown\" on task 0: Inf in 1 of 2 elements, the first not finite at 0, in step 2"));
}

TEST_CASE("numerics: an infinity that is given is meant, NaN made of it is not") {
  Graph g;
  const Value mask = g.input("mask", DType::float64, {2});
  const Value masked = maximum(mask, g.constant({1.0, 2.0})) * 2.0;
  const Value lost = (mask - mask).named("lost");
  const TensorMap feeds{{"mask", Tensor::of<double>({2}, {kInf, 0})}};
  CHECK(checked(g, masked, feeds).code() == Code::ok);
  CHECK(says(checked(g, lost, feeds), "\"lost\" on task 0: NaN in 1 of 2"));
}

TEST_CASE("numerics: what is fed and what variables have before the run") {
  Graph g;
  const Value x = g.input("x", DType::float64, {2});
  CHECK(says(checked(g, x + x, {{"x", Tensor::of<double>({2}, {kNan, 0})}}), "feed \"x\" on task 0: NaN in 1 of 2"));
  const test::TempFolder folder;
  const Value v = g.variable("v", g.constant({1.0F, 2.0F}));
  const TensorMap values{{"v", Tensor::of<float>({2}, {0, static_cast<float>(kNan)})}};
  RunRequest request;
  request.fetches = {v * 2.0};
  {
    Session session(g, cluster_of(1));
    session.restore(values);
    Checkpoints(session, request, {.folder = folder.path()}).save();
  }
  SessionOptions options;
  options.run.check_numerics = true;
  Session session(g, cluster_of(1), options);
  CHECK(says(error_of([&] { session.restore(values); }), "feed \"v/restored\" on task 0: NaN in 1 of 2"));
  Session resumed(g, cluster_of(1), options);
  const Checkpoints checkpoints(resumed, request, {.folder = folder.path(), .resume = true});
  const Error error = error_of([&] { resumed.run(request); });
  CHECK(error.code() == Code::numeric);
  CHECK(says(error, "the variable \"v\" on task 0 had, before the run: NaN in 1 of 2"));
}

TEST_CASE("numerics: a sum over tasks that overflows is named") {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value x = g.input("x", DType::float32, {4}).laid({split(0)});
  const Value total = sum(x).named("total");
  const Error error = checked(g, total, {{"x", Tensor::of<float>({4}, {2e38F, 0, 2e38F, 0})}}, 2);
  CHECK(error.code() == Code::numeric);
  CHECK(says(error, "total"));
  CHECK(says(error, "Inf in 1 of 1 elements"));
}

TEST_CASE("numerics: an input of which only the sizes are used is not looked at") {
  Graph g;
  const Value x = g.input("x", DType::float32, {2, 3});
  const Value gradient = gradients(mean(x), {x})[0];
  const TensorMap feeds{{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}};
  CHECK(checked(g, gradient, feeds).code() == Code::ok);
  CHECK(says(checked(g, (gradient / (x - x)).named("beyond"), feeds), "\"beyond\" on task 0: Inf in 6 of 6"));
}

TEST_CASE("numerics: a run of finite numbers has the same bits when they are checked") {
  test::Walk walk;
  TensorMap results[2];
  for (const bool check : {false, true}) {
    SessionOptions options;
    options.run.check_numerics = check;
    Session session(walk.graph, cluster_of(2), options);
    walk.request.steps = 5;
    session.run(walk.request);
    results[check ? 1 : 0] = session.variables();
  }
  CHECK(test::difference(results[0], results[1]) == "");
}

}  // namespace
}  // namespace ferry
