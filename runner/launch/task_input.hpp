// The launcher's stdin, on its way to task 0.
#pragma once

#include <cstddef>

#include "runner/launch/wire.hpp"

namespace ferry {

/// Passes on only as much as the task takes, so that none of it piles up. In the background of a terminal nothing is
/// read, as that would stop the launcher.
class TaskInput {
 public:
  [[nodiscard]] DescriptorWatch watch() const;
  /// Reads the available input, once, and sends it.
  void pass_on(AgentWire& wire);
  /// The task has taken `bytes` bytes.
  void taken(std::size_t bytes) { under_way_ -= bytes; }

 private:
  std::size_t under_way_ = 0;
  bool ended_ = false;
};

}  // namespace ferry
