// The proof that a plan computes its graph. It shares no code with the passes that make plans, nor with the
// verifier. docs/internals/equality.md has its rules and assumptions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "graph/op/constant_op.hpp"
#include "plan/plan.hpp"
#include "plan/signature.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class KernelLookup;

/// Inputs of the proof besides the graph and the plan.
struct EqualityHelp {
  const KernelLookup* kernels = nullptr;  ///< the plan's kernels, for their packed inputs; not null
  /// Like PlanOptions::evaluate. Null: no constants are computed, so a plan with computed constants is not equal.
  std::function<std::vector<Tensor>(const ConstantOp&)> evaluate = {};
};

struct Equality {
  enum class Verdict : std::uint8_t {
    equal,      ///< each fetch, variable and effect of the plan is equal to the graph's
    differs,    ///< the plan has a value that the rules cannot prove equal to the graph's
    not_proved  ///< the plan has something that the rules do not cover
  };
  Verdict verdict = Verdict::not_proved;
  std::vector<std::string> rests_on;  ///< if the verdict is `equal`: the assumptions of the proof, one in a line
  std::string reason;                 ///< otherwise: the first instruction with a difference, and the user's line
};

/// "equal", "differs", "not proved".
[[nodiscard]] std::string_view name_of(Equality::Verdict verdict);

/// Throws unless the verdict is `equal`: Error(plan) with the first difference, or Error(conformance) if the rules do
/// not cover the plan. Thread-safe.
void require_equal(const Equality& equality);

/// Compares the values that the plan computes with the values of the graph for a request. The plan must have passed
/// verify(), because the proof assumes that its buffers hold values correctly. Takes time in proportion to the
/// instructions of all classes. Thread-safe.
[[nodiscard]] Equality compare(const Graph& graph, const Signature& signature, const Plan& plan,
                               const EqualityHelp& help);

}  // namespace ferry
#pragma GCC visibility pop
