// With which code a run ends when a kernel gets a value that it cannot work on, and where the error says it came from.
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <string>

#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/arrange.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/control/control.hpp"
#include "ops/data/data.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/loss.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// A graph with three rows and two fed indices (one is out of range), and the error that a run ends with.
struct Picked {
  Graph g;
  Value fed = g.input("fed", DType::int64, {2});
  Value rows = g.constant({1.0, 2.0, 3.0});

  Error error(const Value& fetch, int tasks = 1, const std::string& folder = {}, const TensorMap& more = {}) {
    ClusterOptions options;
    options.tasks = tasks;
    options.threads = 1;
    SessionOptions session_options;
    session_options.run.data_folder = folder;
    Session session(g, Cluster::connect(options), session_options);
    RunRequest request;
    request.fetches = {fetch};
    request.feeds = more;
    request.feeds.insert_or_assign("fed", Tensor::of<std::int64_t>({2}, {1, 7}));
    return test::error_of([&] { session.run(request); });
  }
};

TEST_CASE("a wrong index of a feed ends with 2, and is followed through what only moves it") {
  Picked p;
  const Value matrix = reshape(p.fed, {2, 1});
  const Value both[] = {p.fed, p.fed};
  const std::function<Value()> ways[] = {
      [&] { return p.fed; },
      [&] { return cast(p.fed, DType::int32); },
      [&] {
        return transpose(matrix, {1, 0});
      },
      [&] { return slice(p.fed, 0, 1); },
      [&] { return concat(both, 0); },
      [&] {
        return split(p.fed, 0, {1, 1})[1];
      },
      [&] {
        return broadcast_to(matrix, {2, 3});
      },
      [&] {
        return gather(p.fed, p.g.constant({1, 1}), 0);
      },
      [&] { return reshape(cast(cast(matrix, DType::float64), DType::int64), {2}); }};
  for (const auto& way : ways) {
    const Error error = p.error(gather(p.rows, way(), 0));
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "Gather \""));
    CHECK(test::says(error, "the index 7 is out of range for 3 rows, -3 to 2\n  input 1 comes from the feed \"fed\""));
    CHECK(test::says(error, "origin_test.cpp:"));
  }
}

TEST_CASE("a wrong index of a feed ends with 2 on other tasks, too") {
  Picked p;
  Value there, split_there;
  {
    const auto on = p.g.device("/task:1");
    there = gather(p.rows, p.fed, 0);
  }
  {
    const auto mesh = p.g.on(p.g.mesh("dp"));
    split_there = gather(p.rows, identity(p.fed).laid({split(0)}), 0);
  }
  for (const Value& value : {there, split_there}) {
    const Error error = p.error(value, 2);
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "on task 1: the index 7 is out of range"));
    CHECK(test::says(error, "comes from the feed \"fed\""));
  }
}

TEST_CASE("a wrong index of a constant ends with 4") {
  Picked p;
  const Value wrong = p.g.constant({0, 9}).named("wrong");
  const Error error = p.error(gather(cast(p.fed, DType::float32), wrong, 0));
  CHECK(error.code() == Code::plan);
  CHECK(test::says(error, "input 1 comes from the constant \"wrong\" at "));
  CHECK(p.error(gather(cast(p.fed, DType::float32), wrong + 1, 0)).code() == Code::plan);
}

TEST_CASE("a wrong index that the graph computed, or has in a variable, ends with 10") {
  Picked p;
  const Error error = p.error(gather(p.rows, (p.fed + 1).named("next"), 0));
  CHECK(error.code() == Code::program);
  CHECK(test::says(error, "input 1 comes from Add \"next\" at "));
  const Value kept = p.g.variable("kept", p.g.constant({5}));
  const Error of_variable = p.error(gather(p.rows, kept, 0));
  CHECK(of_variable.code() == Code::program);
  CHECK(test::says(of_variable, "input 1 comes from the variable \"kept\""));
  const Value mixed[] = {p.fed, p.fed + 1};
  CHECK(p.error(gather(p.rows, concat(mixed, 0), 0)).code() == Code::program);
}

TEST_CASE("a wrong index is followed into loops and branches") {
  Picked p;
  const auto in_loop = [&](const std::function<Value(const Values&)>& index) {
    return while_loop(
        {p.g.constant({0, 0}), sum(p.rows)}, [](const Values& c) { return less(c[1], 1e3); },
        [&](const Values& c) {
          return Values{c[0] + 2, c[1] + sum(gather(p.rows, index(c), 0))};
        })[1];
  };
  CHECK(p.error(in_loop([&](const Values&) { return p.fed; })).code() == Code::usage);
  CHECK(p.error(in_loop([](const Values& c) { return c[0]; })).code() == Code::program);
  const Value first = cond(
      less(sum(p.rows), 100), [&] { return Values{gather(p.rows, p.fed, 0)}; },
      [&] { return Values{slice(p.rows, 0, 0, 2)}; })[0];
  CHECK(p.error(first).code() == Code::usage);
}

TEST_CASE("a wrong label of a data file ends with 3") {
  const test::TempFolder folder;
  std::ofstream(folder / "labels.raw") << "\x01\x09";
  Picked p;
  const Value labels = read_raw(p.g, "labels.raw", DType::uint8, {2});
  const Value logits = broadcast_to(p.rows, {2, 3});
  const Error error = p.error(softmax_cross_entropy(logits, batch(Values{labels}, 2)[0]), 1, folder.path());
  CHECK(error.code() == Code::file);
  CHECK(test::says(error, "the label 9 is not one of 3 classes, 0 to 2\n  input 1 comes from the file \"labels.raw\""));
}

TEST_CASE("a wrong label is followed through the function that checks it") {
  Picked p;
  const Value scores = broadcast_to(p.rows, {2, 3});
  const Error error = p.error(nll_loss(scores, p.fed, {.ignored = -100}));
  CHECK(error.code() == Code::usage);
  for (const char* part : {"CheckRange \"", "the label 7 is not one of 3 classes, 0 to 2",
                           "origin_test.cpp:", "\n  input 0 comes from the feed \"fed\""})
    CHECK(test::says(error, part));
}

TEST_CASE("every op that looks at a value says which input was wrong") {
  Picked p;
  const Value line = reshape(p.rows, {3, 1});
  const Value logits = broadcast_to(p.rows, {2, 3});
  const Value wrong[] = {gather_elements(p.rows, p.fed), gather_nd(p.rows, reshape(p.fed, {2, 1})),
                         scatter_elements(p.rows, p.fed, p.g.constant({0.0, 0.0})),
                         reverse_sequence(broadcast_to(line, {3, 2}), p.fed), softmax_cross_entropy(logits, p.fed)};
  for (const Value& value : wrong) {
    const Error error = p.error(value);
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, "\n  input 1 comes from the feed \"fed\""));
  }
  const Value zero = (p.fed - 1).named("zero");
  const Error divided = p.error(p.fed / zero);
  CHECK(divided.code() == Code::program);
  CHECK(test::says(divided, "an integer is divided by zero"));
  CHECK(test::says(divided, "\n  input 1 comes from Sub \"zero\" at "));
}

}  // namespace
}  // namespace ferry
