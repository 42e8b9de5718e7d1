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

/// What the proof may ask besides the graph and the plan.
struct EqualityHelp {
  const KernelLookup* kernels = nullptr;  ///< which inputs they take in packed form; not null
  /// As PlanOptions::evaluate. Null: no constants are computed, so a plan that has some is not equal.
  std::function<std::vector<Tensor>(const ConstantOp&)> evaluate = {};
};

struct Equality {
  enum class Verdict : std::uint8_t {
    equal,      ///< each fetch, variable and effect of the plan is the graph's
    differs,    ///< the plan has a value that the rules cannot make equal to the graph's
    not_proved  ///< the plan has something that the rules do not follow
  };
  Verdict verdict = Verdict::not_proved;
  std::vector<std::string> rests_on;  ///< what the proof takes for granted, a line each, if they are equal
  std::string reason;                 ///< otherwise: the first instruction, with the user's line
};

/// "equal", "differs", "not proved".
[[nodiscard]] std::string_view name_of(Equality::Verdict verdict);

/// Throws unless the verdict is `equal`: Error(plan) with the first difference, or Error(conformance) if the rules do
/// not follow the plan. Thread-safe.
void require_equal(const Equality& equality);

/// Compares what the plan computes with what the graph says for a request. The plan must have passed verify(): the
/// proof takes its buffers for values. Takes time in proportion to the instructions of all classes. Thread-safe.
[[nodiscard]] Equality compare(const Graph& graph, const Signature& signature, const Plan& plan,
                               const EqualityHelp& help);

}  // namespace ferry
#pragma GCC visibility pop
