#include "graph/op/infer.hpp"

#include <doctest/doctest.h>

#include "graph/graph.hpp"
#include "graph/graph_facts.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

std::vector<Type> cached(InferCache& cache, const Value& value) {
  return cache.infer(value.op().def(), GraphFacts(value.op()));
}

TEST_CASE("the cache of inference gives what inference gives") {
  Graph g;
  InferCache cache;
  const Value x = g.input("x", DType::float32, {"batch", 3});
  const Value y = g.input("y", DType::float32, {1, 3});
  const Value z = g.input("z", DType::float64, {"batch", 3});
  for (int round = 0; round < 2; ++round) {
    for (const Value& made : {x + x, x + y, y + y, x * y, z + z, -x}) {
      REQUIRE(cached(cache, made).size() == 1);
      CHECK(cached(cache, made)[0] == made.type());
    }
  }
}

TEST_CASE("the cache refuses what inference refuses, each time") {
  Graph g;
  InferCache cache;
  const Value x = g.input("x", DType::float32, {2});
  const Value y = g.input("y", DType::float32, {3});
  const Op sum = (x + x).op();
  const ValueId inputs[] = {x.id(), y.id()};
  for (int round = 0; round < 2; ++round)
    CHECK_THROWS_AS(static_cast<void>(cache.infer(sum.def(), GraphFacts(g, inputs, sum.attrs()))), Error);
}

TEST_CASE("a value with more dims than a file may have is refused when its op is added") {
  Graph g;
  const Value x = g.input("x", DType::float32, {2});
  const auto expanded = [&](std::int64_t dims) {
    Ints axes;
    for (std::int64_t d = 1; d < dims; ++d) axes.push_back(d);
    return expand_dims(x, axes);
  };
  CHECK(expanded(kMaxRank).rank() == kMaxRank);
  CHECK_THROWS_WITH_AS(expanded(61), doctest::Contains("the result would have 61 dims; at most 32 are allowed"), Error);
  Shape shape;
  for (int d = 0; d <= kMaxRank; ++d) shape.push_back(1);
  CHECK_THROWS_WITH_AS(g.input("y", DType::float32, shape), doctest::Contains("would have 33 dims"), Error);
}

TEST_CASE("copies of a shape part when one is changed") {
  Shape a{2, "batch"};
  Shape b = a;
  CHECK(a == b);
  b[0] = 5;
  b.push_back(7);
  CHECK(a.str() == "[2,batch]");
  CHECK(b.str() == "[5,batch,7]");
  CHECK(a != b);
  CHECK(a == Shape{2, "batch"});
  Shape none;
  none.push_back(1);
  CHECK(Shape().rank() == 0);
  CHECK(none.rank() == 1);
}

}  // namespace
}  // namespace ferry
