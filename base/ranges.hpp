// Short texts for lists of numbers, such as "0-3,8".
#pragma once

#include <span>
#include <string>

#pragma GCC visibility push(default)
namespace ferry {

/// `numbers`, which must be ascending, as text; successive numbers become FIRST-LAST. Pure and thread-safe.
[[nodiscard]] std::string ranges(std::span<const int> numbers);

}  // namespace ferry
#pragma GCC visibility pop
