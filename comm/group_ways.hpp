// The implementations of GroupCall, and their common code. prepare_call() (comm/group.hpp) chooses one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/group_call.hpp"

namespace ferry {

/// Executes the schedule's steps one by one.
[[nodiscard]] std::unique_ptr<GroupCall> stepwise_call(Transport& transport, const GroupSpec& spec);

/// A one-shot all-reduce: each member sends its whole input to every other member.
[[nodiscard]] std::unique_ptr<GroupCall> one_shot_call(Transport& transport, const GroupSpec& spec);

/// Folds the contributions of all members, one tile after another, and writes the result to all targets.
struct TiledFold {
  /// Memory to which the result is written.
  struct Target {
    std::byte* at = nullptr;
    bool stream = false;  ///< written around the caches
  };

  Fold fold;
  std::size_t element = 1;                      ///< bytes
  std::vector<const std::byte*> contributions;  ///< in the order of the members, with this member's own
  /// First this member's output, which may also be one of the contributions.
  std::vector<Target> targets;

  /// Computes bytes [first, last) of the result.
  void run(std::size_t first, std::size_t last) const;
};

}  // namespace ferry
