// What kernels say of bad values, the same on every kind of device. Each function makes the error for input number
// `input`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.hpp"

namespace ferry {

/// An integer is divided by zero.
[[nodiscard]] BadValue bad_divisor(std::size_t input);
/// `label` is not one of `classes`.
[[nodiscard]] BadValue bad_label(std::size_t input, std::int64_t label, std::int64_t classes);
/// `length` is not a valid length for a sequence with `steps` steps.
[[nodiscard]] BadValue bad_length(std::size_t input, std::int64_t sequence, std::int64_t length, std::int64_t steps);
/// `image` is no index of an image, for that region.
[[nodiscard]] BadValue bad_image(std::size_t input, std::int64_t region, std::int64_t image, std::int64_t images);
/// `index` is not the index of a row.
[[nodiscard]] BadValue bad_row(std::size_t input, std::int64_t index, std::int64_t rows);
/// `index` is out of range for one of several dims.
[[nodiscard]] BadValue bad_index(std::size_t input, std::int64_t index, std::int64_t size);

}  // namespace ferry
