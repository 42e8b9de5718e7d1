// What kernels say of bad values, the same on every kind of device.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/kernel.hpp"

namespace ferry {

/// `label`, an element of input number `input`, is not one of `classes`.
[[nodiscard]] BadValue bad_label(std::size_t input, std::int64_t label, std::int64_t classes);
[[nodiscard]] inline BadValue bad_length(std::size_t input, std::int64_t sequence, std::int64_t length,
                                         std::int64_t steps) {
  return {input, "the length " + std::to_string(length) + " of sequence " + std::to_string(sequence) +
                     " is out of range for " + std::to_string(steps) + " steps"};
}

[[nodiscard]] inline BadValue bad_image(std::size_t input, std::int64_t region, std::int64_t image,
                                        std::int64_t images) {
  return {input, "the image " + std::to_string(image) + " of region " + std::to_string(region) +
                     " is out of range for " + std::to_string(images) + " images"};
}

}  // namespace ferry
