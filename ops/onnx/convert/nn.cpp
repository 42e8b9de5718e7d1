// Converters of products of matrices and of softmax.
#include "ops/nn/nn.hpp"

#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

Outs to_matmul(Context& c) {
  return matmul(c.in(0), c.in(1));
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
  if (c.opset() < 7) c.no_effect({"broadcast"});
  if (!c.has(2) || beta == 0) return product;
  const Value bias = scaled(c.in(2), beta);
  return product + bias;
}

/// Swiglu: a * sigmoid(alpha * a) * b.
Outs to_swiglu(Context& c) {
  const Value a = c.in(0);
  const Value b = c.in(1);
  const Value gate = a * sigmoid(scaled(a, c.real("alpha", 1)));
  return gate * b;
}

using Rows = Value (*)(const Value&, std::int64_t, source_location);

template <Rows f>
Outs along(Context& c) {
  return f(c.in(0), c.axis(0, c.integer("axis", -1)), source_location::current());
}

/// Softmax and LogSoftmax before operator set 13: work on all dims from the axis on together.
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

constexpr ConvertOp kNn[] = {
    {"Gemm", 1, to_gemm},
    {"LogSoftmax", 1, flattened<log_softmax>},
    {"LogSoftmax", 13, along<log_softmax>},
    {"MatMul", 1, to_matmul},
    {"Softmax", 1, flattened<softmax>},
    {"SwiGLU", 28, to_swiglu},
    {"Softmax", 13, along<softmax>},
};

}  // namespace

std::span<const ConvertOp> nn_converters() {
  return kNn;
}

}  // namespace ferry::onnx
