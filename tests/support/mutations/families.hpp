// The families of mutations, one file each. mutations.hpp gives them all in one list.
#pragma once

#include <span>

#include "tests/support/mutations/mutations.hpp"

namespace ferry::test {

[[nodiscard]] std::span<const Mutation> channel_mutations();
[[nodiscard]] std::span<const Mutation> collective_mutations();
[[nodiscard]] std::span<const Mutation> bucket_mutations();
[[nodiscard]] std::span<const Mutation> schedule_mutations();
[[nodiscard]] std::span<const Mutation> memory_mutations();
[[nodiscard]] std::span<const Mutation> tile_mutations();
[[nodiscard]] std::span<const Mutation> stencil_mutations();
[[nodiscard]] std::span<const Mutation> value_mutations();
[[nodiscard]] std::span<const Mutation> region_mutations();

}  // namespace ferry::test
