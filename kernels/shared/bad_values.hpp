// The errors of kernels for bad values, the same on every kind of device. Each function makes the error for input
// number `input`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.hpp"

namespace ferry {

/// The error of an integer division by zero.
[[nodiscard]] BadValue bad_divisor(std::size_t input);
/// `label` is not in [0, classes).
[[nodiscard]] BadValue bad_label(std::size_t input, std::int64_t label, std::int64_t classes);
/// `length` is not a valid length for a sequence with `steps` steps.
[[nodiscard]] BadValue bad_length(std::size_t input, std::int64_t sequence, std::int64_t length, std::int64_t steps);
/// `image`, the image index of region `region`, is not in [0, images).
[[nodiscard]] BadValue bad_image(std::size_t input, std::int64_t region, std::int64_t image, std::int64_t images);
/// `position` is not in [0, size), and negative positions do not count from the end.
[[nodiscard]] BadValue bad_position(std::size_t input, std::int64_t position, std::int64_t size);
/// `index` is out of range for an array of `rows` rows.
[[nodiscard]] BadValue bad_row(std::size_t input, std::int64_t index, std::int64_t rows);
/// `index` is out of range for a dim of `size` elements.
[[nodiscard]] BadValue bad_index(std::size_t input, std::int64_t index, std::int64_t size);

/// The number of the first element of `numbers`, which may be a part of a vector. Sequences and regions in errors are
/// counted from it.
[[nodiscard]] inline std::int64_t first_number(const Array& numbers) {
  return numbers.rank() == 1 ? numbers.begin[0] : 0;
}

}  // namespace ferry
