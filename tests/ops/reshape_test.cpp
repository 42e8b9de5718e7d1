#include "ops/array/reshape.hpp"

#include <doctest/doctest.h>

#include "ops/array/indexing.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/ops/support.hpp"

namespace ferry {
namespace {

using test::call;
using test::error_of;
using test::notation;

TEST_CASE("reshape keeps the letters of dims that survive") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 28, 28});
  const Value flat = reshape(x, {-1, 784});
  CHECK(flat.shape().str() == "[batch,784]");
  CHECK(notation(flat) == "ab[c]->ab");
  CHECK(notation(reshape(flat, {-1, 28, 28})) == "ab->ab[c]");
  const Value k = g.input("k", DType::float32, {2, 3, 4, 5});
  CHECK(notation(reshape(k, {2, 12, 5})) == "ab[c]d->abd");
  CHECK(notation(reshape(k, {6, 20})) == "a[b]c[d]->ac");
  CHECK(notation(reshape(k, {1, 2, 3, 4, 5})) == "bcde->[a]bcde");
  CHECK(notation(reshape(k, {120})) == "a[b][c][d]->a");
  CHECK(notation(reshape(k, {5, 24})) == "[a][b][c][d]->[e][f]");
  CHECK(notation(reshape(g.input("e", DType::float32, {2, Dim(std::int64_t{0}), 3}), {2, 0})) == "ab[c]->ab");
}

TEST_CASE("reshape says what does not fit") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3, 4});
  CHECK(error_of([&] { reshape(x, {5, -1}); }).starts_with("Reshape: the elements of [3,4] do not fit [5,-1]\n"));
  CHECK(error_of([&] { reshape(x, {3, 5}); }).starts_with("Reshape: the elements of [3,4] do not fit [3,5]\n"));
  CHECK(error_of([&] { reshape(x, {-1, -1}); }).starts_with("Reshape: more than one size is -1\n"));
  CHECK(error_of([&] { reshape(x, {-2}); }).starts_with("Reshape: a size of -2\n"));
  CHECK(reshape(nonzero(x), {-1, 2, 1}).shape().str() == "[<=12,2,1]");
  CHECK(
      error_of([&] { reshape(nonzero(x), {24}); }).starts_with("Reshape: the elements of [<=12,2] do not fit [24]\n"));
}

TEST_CASE("the gradient of reshape takes its shape from the input when sizes are not known") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 4, 7});
  const Value d = gradients(sum(square(reshape(x, {-1, 28}))), {x})[0];
  CHECK(call(d) == "ReshapeLike(grad/mul_1, x)");
  CHECK(notation(d) == "ab,a[d][c]->ab[c]");
  const Value y = g.input("y", DType::float32, {3, 4});
  CHECK(call(gradients(sum(square(reshape(y, {12}))), {y})[0]) == "Reshape(grad/mul_3)");
}

TEST_CASE("expand_dims and squeeze") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 4});
  CHECK(expand_dims(x, {1, -1}).shape().str() == "[batch,1,4,1]");
  CHECK(notation(expand_dims(x, {1})) == "ac->a[b]c");
  CHECK(squeeze(expand_dims(x, {1}), {1}).shape() == x.shape());
  CHECK(notation(squeeze(expand_dims(x, {1}), {-2})) == "a[b]c->ac");
  CHECK(error_of([&] { squeeze(x, {1}); }).starts_with("Squeeze: dim 1 of [batch,4] is not 1\n"));
  CHECK(error_of([&] { expand_dims(x, {4}); }).starts_with("ExpandDims: axis 4 is out of range for rank 3\n"));
  CHECK(error_of([&] { expand_dims(x, {0, 0}); }).starts_with("ExpandDims: an axis is given twice\n"));
}

TEST_CASE("broadcasting and its inverse") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1, 3});
  CHECK(notation(broadcast_to(x, {2, 4, 3})) == "[c]d->abd");
  CHECK(error_of([&] { broadcast_to(x, {2, 4}); }).starts_with("BroadcastTo: [1,3] does not broadcast to [2,4]\n"));
  const Value b = g.input("b", DType::float32, {"batch", 3});
  CHECK(call(broadcast_as(x, b)) == "BroadcastLike(x, b)");
  CHECK(broadcast_as(x, b).shape().str() == "[batch,3]");
  CHECK(broadcast_as(b, b).is(b));
  CHECK(sum_as(b, x).shape().str() == "[1,3]");
  const Value u = g.input("u", DType::float32, {"u", 3});
  CHECK(notation(sum_as(b, u)) == "ab,ab->ab");
  CHECK(zeros_like(b).type() == b.type());
}

TEST_CASE("reductions") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 3, 4});
  CHECK(sum(x).shape().str() == "[]");
  CHECK(sum(x, {-1}, true).shape().str() == "[batch,3,1]");
  CHECK(notation(sum(x, {1})) == "abc->ac");
  CHECK(notation(sum(x)) == "abc->.");
  CHECK(max(x, {0, 2}).shape().str() == "[3]");
  CHECK(argmax(x, 1).type().str() == "int64[batch,4]");
  CHECK(notation(argmax(x)) == "ab[c]->ab");
  const Value m = mean(x, {0});
  CHECK(call(m) == "Div(sum_4, sizeof)");
  CHECK(notation(g.value(m.op().inputs()[1])) == "abc->.");
  CHECK(g.value(m.op().inputs()[1]).op().def().unread == 1);
  CHECK(error_of([&] {
          sum(x, {3});
        }).starts_with("Sum: axis 3 is out of range for x of rank 3\n  at reshape_test.cpp:"));
  CHECK(error_of([&] {
          mean(cast(x, DType::int32));
        }).starts_with("mean: the input 'cast' is int32; it takes floating-point values\n  at "));
}

TEST_CASE("leaves have a letter for each dim, and none for scalars") {
  Graph g;
  CHECK(notation(g.constant(1.0)) == "->.");
  CHECK(notation(g.input("x", DType::float32, {"batch", 3})) == "->ab");
}

TEST_CASE("a composite has the caller's line throughout") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 3});
  const OpId before = g.size();
  const int line = __LINE__ + 1;
  mean(x, {0}, true);
  for (OpId id = before; id < g.size(); ++id) CHECK(g.op(id).line().line == line);
}

}  // namespace
}  // namespace ferry
