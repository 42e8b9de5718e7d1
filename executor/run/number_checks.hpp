// NumberChecks: checks the inputs and outputs of each instruction for NaN and Inf (SessionOptions::check_numerics).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "executor/observe/numerics.hpp"
#include "executor/run/resolved.hpp"

namespace ferry {

/// One per task. Thread-safe, except for collectives, which walker 0 alone runs.
class NumberChecks {
 public:
  explicit NumberChecks(const ResolvedPlan& resolved) : resolved_(resolved) {}

  void begin_step(std::int64_t step) { step_ = step; }
  /// Looks for NaN and Inf in the inputs of an instruction that is about to run; sets their extents first. Received
  /// values are left out, since their sender has checked them; of a collective it reads this task's contribution alone.
  [[nodiscard]] Given given_to(const Resolved& r);
  /// Error(numeric) where a result has NaN though no input had, or Inf though all inputs were finite.
  void check_result(const Resolved& r, const Given& given) const;

 private:
  void require_finite(const Given& given, const NotFinite& result) const;
  /// The first operand's bytes; empty if this task has none.
  [[nodiscard]] std::span<const std::byte> first_of(Range range, const std::byte* data) const;
  [[nodiscard]] DType dtype_of_collective(const Resolved& r) const;

  const ResolvedPlan& resolved_;
  std::int64_t step_ = 0;
  std::unordered_map<const Link*, Given> of_collectives_;  ///< given to the collectives in flight
};

}  // namespace ferry
