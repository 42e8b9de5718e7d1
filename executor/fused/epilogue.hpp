// Epilogue: elementwise kernels that change another kernel's output in place, each piece as soon as it is computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "executor/fused/tiles.hpp"

namespace ferry {

/// A tile region with a first kernel that computes its output in pieces. That kernel gets this object as
/// KernelRun::finish.
class Epilogue final : public Finish {
 public:
  /// `head`: the first kernel's instruction, for messages. `members`: the other kernels. `arrays`: each member's
  /// inputs, then its output, in the order of members.
  Epilogue(const Instruction& head, std::vector<TileMember> members, std::vector<Array> arrays, Parallel& parallel,
           const std::int64_t& step, std::span<const std::int64_t> iterations)
      : head_(head),
        members_(std::move(members)),
        arrays_(std::move(arrays)),
        parallel_(parallel),
        step_(step),
        iterations_(iterations) {}

  /// Throws FailedMember.
  void operator()(const Piece& piece) const override;

  [[nodiscard]] const Instruction& head() const { return head_; }

 private:
  const Instruction& head_;
  const std::vector<TileMember> members_;
  mutable std::vector<Array> arrays_;  // kernels take mutable arrays, to set extents; no array here is bounded
  Parallel& parallel_;
  const std::int64_t& step_;
  std::span<const std::int64_t> iterations_;
};

}  // namespace ferry
