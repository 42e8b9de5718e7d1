// Lists of numbers in short: "0-3,8".
#pragma once

#include <span>
#include <string>

namespace ferry {

/// Sorted numbers, runs of them as FIRST-LAST. Pure and thread-safe.
[[nodiscard]] std::string ranges(std::span<const int> numbers);

}  // namespace ferry
