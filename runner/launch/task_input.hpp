// TaskInput: forwards the launcher's stdin to task 0.
#pragma once

#include <cstddef>

#include "runner/launch/wire.hpp"

namespace ferry {

/// Reads only as much as the task takes, so that input does not pile up in memory. Does not read in the background of a
/// terminal, because reading would stop the launcher.
class TaskInput {
 public:
  [[nodiscard]] DescriptorWatch watch() const;
  /// Reads the available input, once, and sends it.
  void forward_input(AgentWire& wire);
  /// Call it when the task has taken `bytes` bytes.
  void taken(std::size_t bytes) { under_way_ -= bytes; }

 private:
  std::size_t under_way_ = 0;
  bool ended_ = false;
};

}  // namespace ferry
