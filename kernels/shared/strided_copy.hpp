// Strided copies between parts of arrays: transposing, slicing, joining and broadcasting are all such copies.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "kernels/shared/nest.hpp"

namespace ferry {

/// A copy between two arrays: the first element in the source and in the target, and for each dim the size and the
/// steps in both.
struct StridedCopy {
  std::int64_t from_begin = 0, to_begin = 0;
  std::int64_t count = 1;  ///< number of elements
  Nest<2> nest;            ///< input 0 is the source, input 1 the target; no dims: one element

  /// Adds a dim. Call it for outer dims first.
  void add_dim(std::int64_t size, std::int64_t from_step, std::int64_t to_step) {
    count *= size;
    if (size == 1) return;
    if (nest.dims > 0) {
      const auto last = static_cast<std::size_t>(nest.dims - 1);
      if (nest.steps[0][last] == from_step * size && nest.steps[1][last] == to_step * size) {
        nest.sizes[last] *= size;
        nest.steps[0][last] = from_step;
        nest.steps[1][last] = to_step;
        return;
      }
    }
    const auto next = static_cast<std::size_t>(nest.dims++);
    nest.sizes[next] = size;
    nest.steps[0][next] = from_step;
    nest.steps[1][next] = to_step;
  }
  /// The dim with consecutive elements in the source, if it differs from the last dim, which has consecutive elements
  /// in the target. A copy transposes these two dims in blocks. Returns -1 if there is no such dim, or it is too small.
  [[nodiscard]] int transposed_dim() const {
    constexpr std::int64_t kWorthWhile = 8;
    if (nest.dims == 0) return -1;
    const auto last = static_cast<std::size_t>(nest.dims - 1);
    if (nest.steps[1][last] != 1 || nest.steps[0][last] <= 1 || nest.sizes[last] < kWorthWhile) return -1;
    for (std::size_t d = 0; d < last; ++d)
      if (nest.steps[0][d] == 1 && nest.sizes[d] >= kWorthWhile) return static_cast<int>(d);
    return -1;
  }
};

/// The position of the element at `index` in a row-major array of `sizes`.
[[nodiscard]] inline std::int64_t elements_before(std::span<const std::int64_t> index,
                                                  std::span<const std::int64_t> sizes) {
  const Strides steps = strides_of(sizes);
  std::int64_t before = 0;
  for (std::size_t d = 0; d < index.size(); ++d) before += index[d] * steps[d];
  return before;
}

/// The copy of a block of `sizes` elements between row-major arrays of sizes `from` and `to`. It begins with the first
/// element of both unless the caller sets from_begin or to_begin.
[[nodiscard]] inline StridedCopy copy_of_block(std::span<const std::int64_t> sizes, std::span<const std::int64_t> from,
                                               std::span<const std::int64_t> to) {
  const Strides from_steps = strides_of(from), to_steps = strides_of(to);
  StridedCopy copy;
  for (std::size_t d = 0; d < sizes.size(); ++d) copy.add_dim(sizes[d], from_steps[d], to_steps[d]);
  return copy;
}

/// The copy that fills `part` from the whole value.
[[nodiscard]] inline StridedCopy copy_of_part(const Array& part) {
  StridedCopy copy = copy_of_block(part.sizes, part.whole, part.sizes);
  copy.from_begin = elements_before(part.begin, part.whole);
  return copy;
}

}  // namespace ferry
