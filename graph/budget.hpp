// Budget: the limits on the costs of a step.
#pragma once

#include <cstdint>
#include <optional>

#pragma GCC visibility push(default)
namespace ferry {

/// Limits of a step, for Graph::budget(). A field without a value is not limited.
struct Budget {
  std::optional<std::int64_t> bytes = {};     ///< the bytes sent in a step, over all tasks
  std::optional<std::int64_t> messages = {};  ///< the messages sent in a step, over all tasks
  std::optional<std::int64_t> memory = {};    ///< the bytes of the values of a task, on all its devices together

  [[nodiscard]] bool empty() const { return !bytes && !messages && !memory; }
  bool operator==(const Budget&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
