// Which size of buckets is best.
#pragma once

#include <cstddef>
#include <span>

#include "executor/session/session.hpp"

namespace ferry {

/// Of sizes that have been measured, the one with the fastest step; the first unless another is 2 % faster. There is at
/// least one.
[[nodiscard]] std::size_t best_size(std::span<const Tuned::Size> sizes);

}  // namespace ferry
