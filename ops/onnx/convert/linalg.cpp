// Converters of sums of products and of determinants.
#include "ops/math/linalg.hpp"

#include "ops/math/einsum.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

Outs to_einsum(Context& c) {
  return einsum(c.text("equation"), c.all());
}

Outs to_det(Context& c) {
  return det(c.in(0));
}

constexpr ConvertOp kLinalg[] = {
    {"Det", 11, to_det},
    {"Einsum", 12, to_einsum},
};

}  // namespace

std::span<const ConvertOp> linalg_converters() {
  return kLinalg;
}

}  // namespace ferry::onnx
