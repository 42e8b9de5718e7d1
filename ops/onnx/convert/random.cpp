// Converters of random numbers. The numbers come from ferry's generator, so they differ from the numbers of other
// runtimes.
#include "ops/math/random.hpp"

#include <bit>

#include "ops/array/reshape.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// The seed. ONNX's seeds are floats; their bits become ferry's seed.
std::int64_t seed_of(Context& c) {
  return c.has_attr("seed") ? static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(c.real("seed"))) : 0;
}

/// The shape in the attribute, or the shape of input 0 if there is one.
Shape shape_of(Context& c) {
  const Ints sizes = c.inputs() == 0 ? c.integers("shape") : c.sizes(0);
  return Shape(std::span<const std::int64_t>(sizes));
}

/// The dtype in the attribute. By default, it is the dtype of input 0, or float32 without inputs.
DType dtype_of_drawn(Context& c) {
  return c.dtype("dtype", c.inputs() == 0 ? DType::float32 : c.type(0).dtype);
}

Outs to_uniform(Context& c) {
  return uniform(c.graph(), shape_of(c), c.real("low", 0), c.real("high", 1), dtype_of_drawn(c), seed_of(c));
}

Outs to_normal(Context& c) {
  return normal(c.graph(), shape_of(c), c.real("mean", 0), c.real("scale", 1), dtype_of_drawn(c), seed_of(c));
}

/// Bernoulli: 1 with the probability in the input's element, else 0.
Outs to_bernoulli(Context& c) {
  const Value x = c.in(0);
  const Value drawn = uniform(c.graph(), shape_of(c), 0, 1, x.dtype(), seed_of(c));
  return cast(less(drawn, x), c.dtype("dtype", x.dtype()));
}

/// Multinomial: draws `sample_size` classes for each row of logarithms of weights [batch, classes]. The drawn class is
/// the number of leading classes whose cumulative weight is not above the drawn number.
Outs to_multinomial(Context& c) {
  const Ints sizes = c.sizes(0);
  if (sizes.size() != 2) Context::fail("its input is no matrix");
  const Value x = c.in(0);
  const Shape shape{sizes[0], c.integer("sample_size", 1), 1};
  const Value drawn = uniform(c.graph(), shape, 0, 1, x.dtype(), seed_of(c));
  const Value ends = expand_dims(cumsum(softmax(x), 1), {1});
  const Value passed = cast(less_equal(ends, drawn), DType::int64);
  // The last cumulative weight may be rounded to less than 1, and the drawn number may be above it.
  const Value chosen = minimum(sum(passed, {2}), static_cast<double>(sizes[1] - 1));
  return cast(chosen, c.dtype("dtype", DType::int32));
}

constexpr ConvertOp kRandom[] = {
    {"Bernoulli", 15, to_bernoulli},    {"Multinomial", 7, to_multinomial}, {"RandomNormal", 1, to_normal},
    {"RandomNormalLike", 1, to_normal}, {"RandomUniform", 1, to_uniform},   {"RandomUniformLike", 1, to_uniform},
};

}  // namespace

std::span<const ConvertOp> random_converters() {
  return kRandom;
}

}  // namespace ferry::onnx
