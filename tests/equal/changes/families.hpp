// The families of changes, one file each. changes.hpp gives all of them in one list.
#pragma once

#include <span>

#include "tests/equal/changes.hpp"

namespace ferry::test {

[[nodiscard]] std::span<const MeaningChange> kernel_changes();
[[nodiscard]] std::span<const MeaningChange> message_changes();
[[nodiscard]] std::span<const MeaningChange> port_changes();
[[nodiscard]] std::span<const MeaningChange> control_changes();

}  // namespace ferry::test
