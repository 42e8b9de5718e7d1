#include <doctest/doctest.h>

#include "graph/op/core_ops.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/ops/support.hpp"

namespace ferry {
namespace {

using test::call;
using test::error_of;
using test::notation;

TEST_CASE("random ops") {
  Graph g;
  CHECK(uniform(g, {2, 3}).type().str() == "float32[2,3]");
  CHECK(notation(normal(g, {2, 3}, 0, 1, DType::float64)) == "->ab");
  CHECK(notation(uniform(g, {})) == "->.");
  CHECK(error_of([&] {
          uniform(g, {"batch"});
        }).starts_with("RandomUniform: the sizes of [batch] are not all known\n  at train_test.cpp:"));
  CHECK(
      error_of([&] { uniform(g, {2}, 0, 1, DType::int32); }).starts_with("RandomUniform: of int32; it gives float16"));
  const Value x = g.input("x", DType::float32, {"n", 3});
  CHECK(shuffle(x).type() == x.type());
  CHECK(notation(shuffle(x)) == "[a]b->[a]b");
  CHECK(error_of([&] { shuffle(sum(x)); }).starts_with("Shuffle: a scalar has no rows\n"));
}

TEST_CASE("data files lie beneath the data folder") {
  Graph g;
  CHECK(read_idx(g, "train/images.gz", DType::uint8, {60000, 28, 28}).type().str() == "uint8[60000,28,28]");
  CHECK(read_npy(g, "..a/x.npy", DType::float64, {3}).type().str() == "float64[3]");
  for (const char* path : {"/etc/passwd", "a/../../b", "", ".."}) {
    CAPTURE(path);
    CHECK(error_of([&] { read_npy(g, path, DType::float32, {3}); }).find("is not one beneath the data folder") !=
          std::string::npos);
  }
  CHECK(error_of([&] {
          read_csv(g, "t.csv", DType::float32, {3});
        }).starts_with("ReadCsv: a table has two dims, not [3]\n  at train_test.cpp:"));
  CHECK(error_of([&] { read_csv(g, "t.csv", DType::float32, {3, 2}, -1); }).starts_with("ReadCsv: skip is negative\n"));
}

TEST_CASE("a batch takes rows of all arrays; its own rows may be split") {
  Graph g;
  const Value images = read_idx(g, "images", DType::uint8, {100, 28, 28});
  const Value labels = read_idx(g, "labels", DType::int32, {100});
  const Values rows = batch({images, labels}, 10);
  CHECK(rows[0].type().str() == "uint8[10,28,28]");
  CHECK(rows[1].type().str() == "int32[10]");
  CHECK(notation(rows[0]) == "[a]cd,[a]->bcd,b");
  CHECK(error_of([&] { batch({images}, 101); }).starts_with("Batch: a batch of 101 of 100 rows\n"));
  CHECK(error_of([&] { batch({images}, 0); }).starts_with("Batch: a batch of 0\n"));
  CHECK(error_of([&] {
          batch({images, uniform(g, {3})}, 2);
        }).starts_with("Batch: input 1 has 3 rows, the first 100\n"));
  CHECK(error_of([&] {
          batch({g.input("x", DType::float32, {"n"})}, 2);
        }).starts_with("Batch: the number of rows of input 0 [n] is not known\n"));
}

TEST_CASE("assign writes a variable where it lies") {
  Graph g;
  Value w;
  {
    auto there = g.device("/task:1");
    w = g.variable("w", g.constant({1.0, 2.0}));
  }
  const Value doubled = assign(w, w * 2);
  CHECK(doubled.op().annotation().device.str() == "/task:1");
  CHECK(call(doubled) == "Assign(w, mul)");
  CHECK(call(assign_add(w, 1)).starts_with("Assign(w, add"));
  CHECK(assign(w, 0).type() == w.type());
  CHECK(error_of([&] { return assign(doubled, w); }).starts_with("assign: assign_1 (Assign) at train_test.cpp:"));
  CHECK(error_of([&] { return assign(w, sum(w)); }).starts_with("Assign: the variable has shape [2], the value []\n"));
}

struct Model {
  Graph g;
  Value w = g.variable("w", g.constant({{1.0}, {2.0}}));
  Value b = g.variable("b", g.constant({0.5}));
  Value x = g.input("x", DType::float32, {"batch", 2});
  Value loss = mean(square(matmul(x, w) + b));
};

/// The variable that each update writes.
std::vector<std::string> written(const Values& updates) {
  std::vector<std::string> names;
  for (const Value& update : updates) {
    CHECK(&update.op().def() == &kAssign);
    names.push_back(update.graph().value_name(update.op().inputs()[0]));
  }
  return names;
}

TEST_CASE_FIXTURE(Model, "optimizers give an update for each variable and for their own state") {
  using Names = std::vector<std::string>;
  CHECK(written(sgd(loss, {w, b}, 0.1)) == Names{"w", "b"});
  CHECK(written(momentum(loss, {w, b}, 0.1)) == Names{"w/momentum", "w", "b/momentum", "b"});
  CHECK(written(adam(loss, {w, b}, g.constant(0.001))) ==
        Names{"w/adam_step", "w/adam_m", "w/adam_v", "w", "b/adam_m", "b/adam_v", "b"});
  CHECK(g.value(g.value_named("w/momentum")).type() == w.type());
}

TEST_CASE_FIXTURE(Model, "what an optimizer makes has the line of its call and lies with the variable") {
  Value far;
  {
    auto there = g.device("/task:1");
    far = g.variable("far", g.constant({{1.0}, {2.0}}));
  }
  const Gradients both = gradients_of(mean(square(matmul(x, far))), {far});
  const OpId before = g.size();
  const int line = __LINE__ + 1;
  static_cast<void>(momentum(both, 0.1));
  for (OpId id = before; id < g.size(); ++id) {
    CAPTURE(g.op(id).str());
    CHECK(g.op(id).line().line == line);
    CHECK(g.op(id).annotation().device.str() == "/task:1");
  }
}

TEST_CASE_FIXTURE(Model, "state has the layout of its variable") {
  const MeshId mesh = g.mesh("dp");
  Value sharded;
  {
    auto all = g.on(mesh);
    sharded = g.variable("sharded", g.constant({{1.0}, {2.0}}));
    sharded.laid({split(0)});
  }
  const Values updates = momentum(mean(square(matmul(x, sharded))), {sharded}, 0.1);
  const Op slot = g.value(g.value_named("sharded/momentum")).op();
  CHECK(slot.annotation() == sharded.op().annotation());
  CHECK(updates[0].op().annotation() == sharded.op().annotation());
}

TEST_CASE("an optimizer needs variables") {
  CHECK(error_of([&] {
          return sgd(Gradients{}, 0.1);
        }).starts_with("an optimizer without variables\n  at train_test.cpp:"));
}

}  // namespace
}  // namespace ferry
