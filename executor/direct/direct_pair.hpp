// Direct messages between two tasks of a group.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "executor/direct/direct.hpp"

namespace ferry {

/// Both ends exchange a description of the message; the values follow if the two are equal. Errors as Collectives.
[[nodiscard]] std::shared_ptr<DirectRun> start_sending(DirectGroup& group, DType dtype,
                                                       std::span<const std::byte> values, int to,
                                                       const source_location& at);
[[nodiscard]] std::shared_ptr<DirectRun> start_receiving(DirectGroup& group, DType dtype, std::span<std::byte> values,
                                                         int from, const source_location& at);

}  // namespace ferry
