// What kernels say of bad values, the same on every kind of device.
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"

namespace ferry {

/// `label`, an element of input number `input`, is not one of `classes`.
[[nodiscard]] BadValue bad_label(std::size_t input, std::int64_t label, std::int64_t classes);

}  // namespace ferry
