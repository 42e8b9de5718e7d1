// NumberChecks: looks at the numbers that each instruction is given and gives (SessionOptions::check_numerics).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "executor/observe/numerics.hpp"
#include "executor/run/resolved.hpp"

namespace ferry {

/// Of one task. Thread-safe, but for collectives, which are walker 0's.
class NumberChecks {
 public:
  explicit NumberChecks(const ResolvedPlan& resolved) : resolved_(resolved) {}

  void begin_step(std::int64_t step) { step_ = step; }
  /// What an instruction that is about to run reads. What comes from another task was looked at there; of a sum over
  /// tasks it is what this one gave.
  [[nodiscard]] Given given_to(const Resolved& r);
  /// Error(numeric) where an instruction that has run made NaN of none, or an infinity of finite numbers.
  void check_result(const Resolved& r, const Given& given) const;

 private:
  void require_finite(const Given& given, const NotFinite& result) const;
  /// The first operand, of those that are here.
  [[nodiscard]] std::span<const std::byte> first_of(Range range, const std::byte* data) const;
  [[nodiscard]] DType dtype_of_collective(const Resolved& r) const;

  const ResolvedPlan& resolved_;
  std::int64_t step_ = 0;
  std::unordered_map<const Link*, Given> of_collectives_;  ///< under way
};

}  // namespace ferry
