// The ways to carry out a collective, and their common code. prepare_call() (comm/group.hpp) picks one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/group.hpp"

namespace ferry {

/// Executes the schedule's steps one by one.
[[nodiscard]] std::unique_ptr<GroupCall> stepwise_call(Transport& transport, const GroupSpec& spec);

/// A one-shot all-reduce: each member gives its whole input to every other.
[[nodiscard]] std::unique_ptr<GroupCall> one_shot_call(Transport& transport, const GroupSpec& spec);

/// Folds the contributions of all members, one tile after another, and writes the result to all targets.
struct TiledFold {
  /// Where the result is written.
  struct Target {
    std::byte* at = nullptr;
    bool around = false;  ///< written around the caches
  };

  Fold fold;
  std::size_t element = 1;                      ///< bytes
  std::vector<const std::byte*> contributions;  ///< in the order of the members, this one's own included
  std::vector<Target> targets;                  ///< first the own output, which may also be one of the contributions

  /// Computes bytes [first, last) of the result.
  void run(std::size_t first, std::size_t last) const;
};

}  // namespace ferry
