// Products of matrices, softmax, normalisation.
#include "ops/nn.hpp"

#include "ops/linalg.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/reduce.hpp"
#include "ops/reshape.hpp"

namespace ferry::onnx {
namespace {

/// numpy's product: a vector is a row on the left and a column on the right.
Outs to_matmul(Context& c) {
  const bool row = c.rank(0) == 1, column = c.rank(1) == 1;
  const Value a = row ? expand_dims(c.in(0), {0}) : c.in(0);
  const Value b = column ? expand_dims(c.in(1), {-1}) : c.in(1);
  const Value product = matmul(a, b);
  Ints axes;
  if (row) axes.push_back(-2);
  if (column) axes.push_back(-1);
  return axes.empty() ? product : squeeze(product, axes);
}

Value scaled(const Value& x, double factor) {
  return factor == 1 ? x : x * factor;
}

Outs to_gemm(Context& c) {
  const Value a = c.in(0);
  const Value b = c.in(1);
  const bool turn_a = c.integer("transA", 0) != 0, turn_b = c.integer("transB", 0) != 0;
  const Value product = scaled(matmul(a, b, turn_a, turn_b), c.real("alpha", 1));
  const double beta = c.real("beta", 1);
  if (!c.has(2) || beta == 0) return product;
  const Value bias = scaled(c.in(2), beta);
  return product + bias;
}

using Rows = Value (*)(const Value&, std::int64_t, source_location);

template <Rows f>
Outs along(Context& c) {
  return f(c.in(0), c.axis(0, c.integer("axis", -1)), source_location::current());
}

/// Before operator set 13: of all dims from the axis on together.
template <Rows f>
Outs flattened(Context& c) {
  const Value x = c.in(0);
  const int axis = c.axis(0, c.integer("axis", 1));
  if (axis == x.rank() - 1) return f(x, -1, source_location::current());
  Ints sizes{-1, 1};
  for (int d = axis; d < x.rank(); ++d) sizes[1] *= c.size(0, d);
  if (sizes[1] == 0) return identity(x);
  const Value rows = f(reshape(x, sizes), -1, source_location::current());
  return reshape_as(rows, x);
}

Outs to_batch_norm(Context& c) {
  const Value x = c.in(0);
  const Value scale = c.in(1);
  const Value offset = c.in(2);
  const Value mean = c.in(3);
  const Value variance = c.in(4);
  const double epsilon = c.real("epsilon", 1e-5), momentum = c.real("momentum", 0.9);
  if (c.integer("training_mode", 0) == 0) {
    if (c.opset() < 14 && c.wants(1)) Context::fail("its training form of operator sets before 14 is not imported");
    return batch_norm(x, scale, offset, cast(mean, x.dtype()), cast(variance, x.dtype()), epsilon);
  }
  const BatchNorm now = batch_norm(x, scale, offset, epsilon);
  const Value new_mean = cast(now.mean, mean.dtype()) * (1 - momentum);
  const Value new_variance = cast(now.variance, variance.dtype()) * (1 - momentum);
  const Value kept_mean = mean * momentum + new_mean;
  const Value kept_variance = variance * momentum + new_variance;
  return {now.y, kept_mean, kept_variance};
}

/// Outside of training it is the identity, with a mask of trues.
Outs to_dropout(Context& c) {
  const Value x = c.in(0);
  const bool training = c.has(2) && c.number(2) != 0;
  if (training && !(c.has(1) && c.number(1) == 0)) Context::fail("dropout in training mode is not imported");
  const Value y = identity(x);
  if (!c.wants(1)) return y;
  const Value mask = equal(x, x);
  return {y,
          c.opset() >= 10 ? logical_or(mask, logical_not(mask)) : cast(logical_or(mask, logical_not(mask)), x.dtype())};
}

constexpr Converter kNn[] = {
    {"BatchNormalization", 1, to_batch_norm},
    {"Dropout", 1, to_dropout},
    {"Gemm", 1, to_gemm},
    {"LogSoftmax", 1, flattened<log_softmax>},
    {"LogSoftmax", 13, along<log_softmax>},
    {"MatMul", 1, to_matmul},
    {"Softmax", 1, flattened<softmax>},
    {"Softmax", 13, along<softmax>},
};

}  // namespace

std::span<const Converter> nn_converters() {
  return kNn;
}

}  // namespace ferry::onnx
