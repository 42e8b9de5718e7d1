#include "ops/array/array.hpp"

#include <doctest/doctest.h>

#include "ops/array/indexing.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "tests/ops/support.hpp"

namespace ferry {
namespace {

using test::call;
using test::error_of;
using test::notation;

struct Inputs {
  Graph g;
  Value x = g.input("x", DType::float32, {"batch", 3, 4});
  Value y = g.input("y", DType::float32, {2, 5, 4});
};

TEST_CASE_FIXTURE(Inputs, "transpose") {
  CHECK(transpose(x).shape().str() == "[4,3,batch]");
  CHECK(notation(transpose(x, {0, 2, 1})) == "abc->acb");
  CHECK(error_of([&] { transpose(x, {0, 0, 1}); }).starts_with("Transpose: dim 0 comes twice in perm\n"));
  CHECK(error_of([&] { transpose(x, {0, 1}); }).starts_with("Transpose: perm has 2 dims, the input 3\n"));
  CHECK(call(gradients(sum(square(transpose(x, {1, 2, 0}))), {x})[0]).starts_with("Transpose("));
}

TEST_CASE_FIXTURE(Inputs, "concat") {
  const Value both = concat({x, y}, 1);
  CHECK(both.shape().str() == "[2,8,4]");
  CHECK(notation(both) == "a[c]b,a[d]b->a[e]b");
  CHECK(concat({x, x}, 0).shape().str() == "[?,3,4]");
  CHECK(error_of([&] { concat({x, y}, 2); }).starts_with("Concat: dim 1 of input 1 is 5, of others 3\n"));
  CHECK(error_of([&] { concat(Values{}, 0); }).starts_with("Concat: takes at least one input\n  at array_test.cpp:"));
}

Ints taken(const Value& slice, std::string_view name) {
  return slice.op().attrs().get<Ints>(name);
}

TEST_CASE_FIXTURE(Inputs, "the gradient of concat slices, around one unknown size") {
  const Value z = g.input("z", DType::float32, {2, 3, 4});
  const Values d = gradients(sum(square(concat({y, z, y}, 1))), {z, y});
  CHECK(taken(d[0], "begin") == Ints{5});
  CHECK(taken(d[0], "end") == Ints{8});
  const Value u = g.input("u", DType::float32, {"u", 3, 4});
  const Value v = g.input("v", DType::float32, {2, 3, 4});
  const Values e = gradients(sum(square(concat({z, u, v}, 0))), {z, u, v});
  CHECK(taken(e[0], "begin") == Ints{0});
  CHECK(taken(e[1], "begin") == Ints{2});
  CHECK(taken(e[1], "end") == Ints{-2});
  CHECK(taken(e[2], "begin") == Ints{-2});
  CHECK(taken(e[2], "end") == Ints{kEnd});
  CHECK(error_of([&] {
          static_cast<void>(gradients(sum(concat({u, x}, 0)), {u}));
        }).find("of the sizes along axis 0 two are not known") != std::string::npos);
}

TEST_CASE_FIXTURE(Inputs, "split") {
  const Values parts = split(y, -2, {1, 4});
  CHECK(parts[0].shape().str() == "[2,1,4]");
  CHECK(parts[1].shape().str() == "[2,4,4]");
  CHECK(notation(parts[0]) == "a[c]b->a[d]b,a[e]b");
  CHECK(error_of([&] { split(y, 1, {1, 2}); }).starts_with("Split: the sizes add up to 3, dim 1 is 5\n"));
  CHECK(call(gradients(sum(square(parts[1])), {y})[0]) == "Concat(grad/broadcastlike_1, grad/mul_1)");
}

TEST_CASE("slice_range is Python's") {
  CHECK(slice_range(10, 2, 5, 1).count == 3);
  CHECK(slice_range(10, -3, kEnd, 1).first == 7);
  CHECK(slice_range(10, 0, kEnd, 3).count == 4);
  CHECK(slice_range(10, 8, 3, 1).count == 0);
  CHECK(slice_range(10, -20, 20, 1).count == 10);
  CHECK(slice_range(0, 0, kEnd, 1).count == 0);
}

TEST_CASE_FIXTURE(Inputs, "slice") {
  CHECK(slice(y, 1, 1, -1).shape().str() == "[2,3,4]");
  CHECK(slice(x, 0, 1).shape().str() == "[?,3,4]");
  CHECK(slice(x, 0, 0).shape().str() == "[batch,3,4]");
  CHECK(notation(slice(x, 1, 1)) == "a[b]d->a[c]d");
  CHECK(error_of([&] { slice(x, 3, 0); }).starts_with("Slice: axis 3 is out of range for an input of rank 3\n"));
  CHECK(error_of([&] { slice(x, 0, 0, kEnd, 0); }).starts_with("Slice: a step of 0\n"));
  const Value d = gradients(sum(square(slice(x, 1, 1))), {x})[0];
  CHECK(call(d) == "Unslice(grad/mul_1, x)");
  CHECK(d.shape() == x.shape());
  CHECK(notation(d) == "a[c]d,a[b]d->a[b]d");
}

TEST_CASE_FIXTURE(Inputs, "pad") {
  const Value padded = pad(x, {0, 1, 0}, {0, 2, 0}, 7);
  CHECK(padded.shape().str() == "[batch,6,4]");
  CHECK(notation(padded) == "a[b]d->a[c]d");
  const Value d = gradients(sum(square(padded)), {x})[0];
  CHECK(d.shape().str() == "[batch,3,4]");
  CHECK(error_of([&] {
          pad(x, {0}, {1});
        }).starts_with("Pad: low and high need one size for each of 3 dims\n  input 0: float32[batch,3,4] x"));
}

TEST_CASE_FIXTURE(Inputs, "gather, and its gradient, which adds rows up") {
  const Value rows = g.input("rows", DType::int32, {"n"});
  const Value table = g.input("table", DType::float32, {100, 8});
  const Value chosen = gather(table, rows);
  CHECK(chosen.shape().str() == "[n,8]");
  CHECK(notation(chosen) == "(a)b,c->cb");
  CHECK(notation(gather(x, rows, 1)) == "a(b)c,d->adc");
  const Value d = gradients(sum(square(chosen)), {table})[0];
  CHECK(d.type() == table.type());
  CHECK(notation(d) == "cb,c,(a)b->(a)b");
  CHECK(error_of([&] { gather(table, table); }).starts_with("Gather: input 1 is float32; it takes int32, int64\n"));
}

TEST_CASE_FIXTURE(Inputs, "one_hot and nonzero") {
  const Value labels = g.input("labels", DType::uint8, {"batch"});
  CHECK(one_hot(labels, 10).type().str() == "float32[batch,10]");
  CHECK(notation(one_hot(labels, 10)) == "a->ab");
  CHECK(error_of([&] { one_hot(labels, 0); }).starts_with("OneHot: a depth of 0\n"));
  CHECK(nonzero(y).type().str() == "int64[<=40,3]");
  CHECK(nonzero(x).type().str() == "int64[?,3]");
  CHECK(notation(nonzero(labels)) == "[a]->(b)[c]");
  CHECK(error_of([&] { nonzero(sum(x)); }).starts_with("NonZero: a scalar has no positions\n"));
}

TEST_CASE_FIXTURE(Inputs, "bounded dims stay where they are") {
  const Value found = nonzero(y);
  CHECK((found * 2).type().str() == "int64[<=40,3]");
  CHECK(slice(found, 1, 0, 1).shape().str() == "[<=40,1]");
  CHECK(error_of([&] { slice(found, 0, 0, 1); }).starts_with("Slice: dim 0 of input 0 [<=40,3] is bounded\n"));
  CHECK(error_of([&] {
          transpose(found);
        }).starts_with("Transpose: the first dim of [<=40,3] is bounded and must stay\n"));
}

TEST_CASE_FIXTURE(Inputs, "softmax and cross-entropy") {
  CHECK(notation(softmax(x)) == "ab[c]->ab[c]");
  CHECK(notation(log_softmax(x, 1)) == "a[b]c->a[b]c");
  const Value logits = g.input("logits", DType::float32, {"batch", 10});
  const Value labels = g.input("labels", DType::int32, {"batch"});
  const Value loss = softmax_cross_entropy(logits, labels);
  CHECK(loss.type().str() == "float32[batch]");
  CHECK(notation(loss) == "...[c],...->...");
  const Value d = gradients(mean(loss), {logits})[0];
  CHECK(d.type() == logits.type());
  CHECK(d.op().def().name == "SoftmaxCrossEntropyGrad");
  const Value second = gradients(sum(square(d)), {logits})[0];
  CHECK(second.type() == logits.type());
  CHECK(error_of([&] {
          softmax_cross_entropy(logits, g.input("l", DType::int32, {"batch", 10}));
        }).starts_with("SoftmaxCrossEntropy: labels [batch,10] do not fit logits [batch,10]\n"));
  CHECK(error_of([&] { softmax(x, 3); }).starts_with("Softmax: axis 3 is out of range for an input of rank 3\n"));
}

}  // namespace
}  // namespace ferry
