// Every op that takes indices, labels or lengths at run time: the first and the last valid number, and the numbers just
// outside, which are errors.
#include <doctest/doctest.h>

#include "ops/array/arrange.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/image/sample.hpp"
#include "ops/image/windows.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/nn/attention.hpp"
#include "ops/nn/layers.hpp"
#include "ops/nn/nn.hpp"
#include "ops/nn/recurrent.hpp"
#include "ops/train/loss.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/has.hpp"

namespace ferry {
namespace {

/// An op with one run-time index, which is valid from `first` to `last`.
struct IndexedOp {
  const char* name;
  std::int64_t first, last;
  const char* error;  ///< a part of the error for a number just outside
  Value (*build)(Graph& g, const Value& index);
};

/// Zeros of these sizes.
Value zeros(Graph& g, const Ints& sizes) {
  return g.constant(Tensor(DType::float64, sizes));
}

Value recurrent(Graph& g, const Value& index, std::int64_t most_unrolled) {
  Recurrent layer;
  layer.input = zeros(g, {2, 3});
  layer.state = zeros(g, {2, 2});
  layer.lengths = index;
  layer.most_unrolled = most_unrolled;
  return rnn(zeros(g, {4, 1, 3}), layer).y;
}

Value region(Graph& g, const Value& index, std::int64_t samples) {
  const Value one = g.constant(Tensor::of<double>({1, 4}, {0, 0, 1, 1}));
  return roi_align(zeros(g, {2, 1, 3, 3}), one, index, {.samples = samples});
}

const Counted kIgnoring{.reduction = Reduction::none, .ignored = -100};

constexpr IndexedOp kOps[] = {
    {"gather", -3, 2, "is out of range for 3 rows, -3 to 2",
     [](Graph& g, const Value& i) {
       return gather(zeros(g, {3, 2}), i);
     }},
    {"gather along dim 1", -2, 1, "is out of range for 2 rows, -2 to 1",
     [](Graph& g, const Value& i) {
       return gather(zeros(g, {3, 2}), i, 1);
     }},
    {"an embedding", -3, 2, "is out of range for 3 rows, -3 to 2",
     [](Graph& g, const Value& i) {
       nn::Parameters parameters(g);
       return nn::Embedding(parameters, "e", 3, 2)(i);
     }},
    {"gather_elements", -3, 2, "is out of range for a dim of 3, -3 to 2",
     [](Graph& g, const Value& i) { return gather_elements(zeros(g, {3}), i); }},
    {"gather_nd", -3, 2, "is out of range for a dim of 3, -3 to 2",
     [](Graph& g, const Value& i) {
       return gather_nd(zeros(g, {3, 2}), reshape(i, {1, 1}));
     }},
    {"scatter_elements", -3, 2, "is out of range for a dim of 3, -3 to 2",
     [](Graph& g, const Value& i) { return scatter_elements(zeros(g, {3}), i, zeros(g, {1})); }},
    {"scatter_elements, added", -3, 2, "is out of range for a dim of 3, -3 to 2",
     [](Graph& g, const Value& i) { return scatter_elements(zeros(g, {3}), i, zeros(g, {1}), 0, Scatter::add); }},
    {"scatter_nd", -3, 2, "is out of range for a dim of 3, -3 to 2",
     [](Graph& g, const Value& i) {
       return scatter_nd(zeros(g, {3, 2}), reshape(i, {1, 1}), zeros(g, {1, 2}));
     }},
    {"reverse_sequence", 0, 3, "of sequence 0 is out of range for 3 steps",
     [](Graph& g, const Value& i) {
       return reverse_sequence(zeros(g, {3, 1, 2}), i);
     }},
    {"softmax_cross_entropy", 0, 2, "is not one of 3 classes, 0 to 2",
     [](Graph& g, const Value& i) {
       return softmax_cross_entropy(zeros(g, {1, 3}), i);
     }},
    {"nll_loss", 0, 2, "is not one of 3 classes, 0 to 2",
     [](Graph& g, const Value& i) {
       return nll_loss(zeros(g, {1, 3}), i);
     }},
    {"nll_loss with ignored labels", 0, 2, "is not one of 3 classes, 0 to 2",
     [](Graph& g, const Value& i) {
       return nll_loss(zeros(g, {1, 3}), i, kIgnoring);
     }},
    {"roi_align", 0, 1, "of region 0 is out of range for 2 images",
     [](Graph& g, const Value& i) { return region(g, i, 0); }},
    {"roi_align with samples", 0, 1, "of region 0 is out of range for 2 images",
     [](Graph& g, const Value& i) { return region(g, i, 2); }},
    {"max_unpool", 0, 7, "is not one of 8, 0 to 7",
     [](Graph& g, const Value& i) {
       return max_unpool(zeros(g, {1, 2, 1}), concat({i, i}, 0), {4});
     }},
    {"a recurrent layer", 0, 4, "of sequence 0 is out of range for 4 steps",
     [](Graph& g, const Value& i) { return recurrent(g, i, 100); }},
    {"a recurrent layer in a loop", 0, 4, "of sequence 0 is out of range for 4 steps",
     [](Graph& g, const Value& i) { return recurrent(g, i, 1); }},
    {"attention", 0, 5, "of sequence 0 is out of range for 5 steps",
     [](Graph& g, const Value& i) {
       const Value q = zeros(g, {1, 1, 2, 4}), k = zeros(g, {1, 1, 5, 4});
       return attention(q, k, k, {.lengths = i}).y;
     }},
    {"check_range", 0, 4, "is not one of 5, 0 to 4", [](Graph&, const Value& i) { return check_range(i, 5); }},
};

/// The error of a step in which the op gets this index; "" if there is none.
std::string error_with(const IndexedOp& op, DType dtype, std::int64_t index) {
  Graph g;
  const Value y = op.build(g, g.input("index", dtype, {1}));
  Tensor fed(dtype, {1});
  if (dtype == DType::int32)
    fed.mutable_data<std::int32_t>()[0] = static_cast<std::int32_t>(index);
  else
    fed.mutable_data<std::int64_t>()[0] = index;
  try {
    static_cast<void>(test::Evaluator(g).run({y}, {{"index", fed}}));
  } catch (const Error& error) {
    return error.text();
  }
  return "";
}

TEST_CASE("an index just outside of its range is an error in every op") {
  for (const IndexedOp& op : kOps)
    for (const DType dtype : {DType::int32, DType::int64}) {
      CAPTURE(op.name);
      CHECK(error_with(op, dtype, op.first) == "");
      CHECK(error_with(op, dtype, op.last) == "");
      for (const std::int64_t index : {op.first - 1, op.last + 1}) {
        const std::string error = error_with(op, dtype, index);
        CHECK_MESSAGE(test::has(error, " " + std::to_string(index) + " "), error);
        CHECK_MESSAGE(test::has(error, op.error), error);
      }
    }
}

TEST_CASE("nll_loss: only the ignored label need not be a class") {
  for (const IndexedOp& op : kOps)
    if (op.name == std::string_view("nll_loss with ignored labels")) CHECK(error_with(op, DType::int64, -100) == "");
}

TEST_CASE("one_hot gives zeros for an index out of range") {
  Graph g;
  const Value y = one_hot(g.constant({-1, 0, 2, 3}), 3);
  CHECK(test::Evaluator(g).run({y})[0].str() == "[[0 0 0] [1 0 0] [0 0 1] [0 0 0]]");
}

TEST_CASE("the size of a range is not negative") {
  Graph g;
  CHECK(test::error_of([&] { check_range(g.constant({1}), -1); }).starts_with("CheckRange: a size of -1\n"));
}

}  // namespace
}  // namespace ferry
