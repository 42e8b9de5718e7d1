// decode_unchecked: reads a plan from the flatbuffer in its file.
#pragma once

#include <cstddef>
#include <span>

#include "plan/plan.hpp"

namespace ferry {

/// The plan in the bytes after a file's head. Numbers and indices are copied from the file and may be wrong;
/// require_well_formed() checks them. Throws Error(file) if the bytes are not a flatbuffer of a plan. Thread-safe.
[[nodiscard]] Plan decode_unchecked(std::span<const std::byte> body);

}  // namespace ferry
