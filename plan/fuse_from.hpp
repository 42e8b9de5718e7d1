// From how many elements on elementwise ops are fused where no options say it.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// The default of PlanOptions::fuse_from and SessionOptions::fuse_from.
inline constexpr std::int64_t kFuseFrom = 16384;

}  // namespace ferry
#pragma GCC visibility pop
