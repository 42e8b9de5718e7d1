// NumberChecks: checks the inputs and outputs of kernels, feeds and collectives for NaN and Inf
// (ExecutionOptions::check_numerics).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "executor/observe/numerics.hpp"
#include "executor/run/resolved.hpp"

namespace ferry {

/// The elements of an array in the host's memory that are not finite; none for an array without data.
[[nodiscard]] NotFinite not_finite(const Array& array);

/// One per task. Thread-safe, except that begin_step() and collectives are for walker 0 alone.
class NumberChecks {
 public:
  explicit NumberChecks(const ResolvedPlan& resolved) : resolved_(resolved) {}

  void begin_step(std::int64_t step) { step_ = step; }
  /// Sets the present sizes of the bounded inputs of an instruction that is about to run, then checks the inputs. It
  /// does not check received values, which their sender has checked. Of a collective's inputs it checks only this
  /// task's contribution.
  [[nodiscard]] NonFiniteInputs check_inputs(const Resolved& r);
  /// Error(numeric) when a result has NaN though no input had, or Inf though all inputs were finite.
  void check_result(const Resolved& r, const NonFiniteInputs& given) const;
  void require_finite(const NonFiniteInputs& given, const NotFinite& result) const;

 private:
  [[nodiscard]] static std::span<const std::byte> fed(const Resolved& r);
  /// The first operand's bytes; empty if this task has none.
  [[nodiscard]] std::span<const std::byte> first_of(Range range, const std::byte* data) const;
  [[nodiscard]] DType dtype_of_collective(const Resolved& r) const;

  const ResolvedPlan& resolved_;
  std::int64_t step_ = 0;
  std::unordered_map<const Link*, NonFiniteInputs> of_collectives_;  ///< the inputs of collectives in flight
};

}  // namespace ferry
