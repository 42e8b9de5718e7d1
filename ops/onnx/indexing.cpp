// Ops whose inputs or results are indices.
#include "ops/indexing.hpp"

#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// Indices of ONNX count from the end when they are negative.
Value from_front(const Value& indices, std::int64_t size) {
  const Value shifted = indices + static_cast<double>(size);
  return select(less(indices, 0), shifted, indices);
}

Outs to_gather(Context& c) {
  const std::int64_t axis = c.axis(0, c.integer("axis", 0));
  const Value x = c.in(0);
  const Tensor known = c.constant_if(1);
  bool negative = !known.defined();
  for (std::int64_t i = 0; known.defined() && i < known.count(); ++i) negative = negative || known.integer(i) < 0;
  const Value indices = negative ? from_front(c.in(1), c.size(0, axis)) : c.in(1);
  return gather(x, indices, axis);
}

constexpr Converter kIndexing[] = {
    {"Gather", 1, to_gather},
};

}  // namespace

std::span<const Converter> indexing_converters() {
  return kIndexing;
}

}  // namespace ferry::onnx
