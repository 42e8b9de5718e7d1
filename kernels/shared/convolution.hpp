// The sizes of convolutions and of their gradients.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "kernels/shared/sized.hpp"
#include "kernels/shared/slide.hpp"

namespace ferry {

/// The sizes of a convolution. Channels are counted per group.
struct Convolution {
  std::int64_t images = 0, groups = 1;
  std::int64_t in = 0, out = 0;  ///< channels
  Plane image, filter, output;
  Slide slide;

  [[nodiscard]] constexpr std::int64_t taps() const { return filter.area(); }
  /// The number of rows of the matrix of columns (im2col).
  [[nodiscard]] constexpr std::int64_t depth() const { return in * taps(); }
  /// Whether the matrix of columns is the image itself.
  [[nodiscard]] bool plain() const {
    return taps() == 1 && slide.rows.stride == 1 && slide.columns.stride == 1 && slide.rows.padding == 0 &&
           slide.columns.padding == 0 && image == output;
  }
};

/// The convolution of images x and filters w with outputs y.
[[nodiscard]] inline Convolution conv_of(const Array& x, const Array& w, const Array& y, const Slide& slide,
                                         std::int64_t groups) {
  Convolution conv;
  conv.images = x.sizes[0];
  conv.groups = groups;
  conv.in = w.sizes[1];
  conv.out = w.sizes[0] / groups;
  conv.image = plane_of(x);
  conv.filter = plane_of(w);
  conv.output = plane_of(y);
  conv.slide = slide;
  for (const std::int64_t size : {conv.out, conv.depth(), conv.output.area(), conv.image.area()})
    if (size > std::numeric_limits<int>::max())
      throw Error(Code::plan, "a convolution has a matrix with a dim of {}; the limit is 2147483647", size);
  return conv;
}

/// The operands with these roles in the convolution, as indices into the inputs; the index after the last input is the
/// output.
struct ConvOperands {
  std::size_t image, filter, output;
};

/// The type of that operand, by the indices of ConvOperands.
[[nodiscard]] inline const Type& type_of(const KernelSetup& setup, std::size_t operand) {
  return operand < setup.inputs.size() ? setup.inputs[operand] : setup.outputs[operand - setup.inputs.size()];
}

/// How windows slide over the parts that this task has.
[[nodiscard]] inline Slide slide_here(const KernelSetup& setup, const ConvOperands& of) {
  const Slide slide = slide_of(setup.attrs);
  return setup.parts.empty() ? slide : slide.over_part(setup.parts[of.image].begin, setup.parts[of.output].begin);
}

[[nodiscard]] inline Convolution conv_of(const KernelSetup& setup, const ConvOperands& of) {
  SizedArray image(type_of(setup, of.image)), filter(type_of(setup, of.filter)), output(type_of(setup, of.output));
  return conv_of(image.array(), filter.array(), output.array(), slide_here(setup, of),
                 setup.attrs.get<std::int64_t>("groups"));
}

}  // namespace ferry
