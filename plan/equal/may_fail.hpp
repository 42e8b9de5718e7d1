// Which ops can end a step with an error because of the values of their inputs.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "graph/op/op_def.hpp"
#include "graph/types/dtype.hpp"
#include "ops/op_set.hpp"
#include "plan/equal/terms.hpp"

namespace ferry::equal {

/// The ops that check indices, labels, lengths or counts: their kernels throw BadValue.
inline constexpr std::string_view kCheckingOps[] = {"Arange",
                                                    "CheckRange",
                                                    "Gather",
                                                    "GatherElements",
                                                    "GatherND",
                                                    "ReverseSequence",
                                                    "RoiAlign",
                                                    "ScatterAdd",
                                                    "ScatterElements",
                                                    "ScatterND",
                                                    "SoftmaxCrossEntropy",
                                                    "SoftmaxCrossEntropyGrad"};
/// The ops that fail if an integer is divided by zero.
inline constexpr std::string_view kDividingOps[] = {"Div", "Fmod", "Mod"};

/// Whether the op can fail for some inputs of these types. An op of the user can fail for any inputs. An op on bounded values
/// can fail because their extents do not fit each other; a sum of two values is an exception, because planning may
/// change the order of a sum, which then fails for the same inputs.
[[nodiscard]] inline bool may_fail(const OpDef& def, const Terms& terms, std::span<const TypedTerm> inputs) {
  if (def.is(kStateful) || default_ops().find(def.name) == nullptr) return true;
  if (std::ranges::find(kCheckingOps, def.name) != std::end(kCheckingOps)) return true;
  if (std::ranges::find(kDividingOps, def.name) != std::end(kDividingOps))
    return is_integer(terms.type(inputs[1].type).dtype);
  if (def.reduce == Reduce::sum && inputs.size() == 2 && def.linear == 0b11) return false;
  return std::ranges::any_of(inputs, [&](const TypedTerm& input) { return terms.type(input.type).shape.bounded(); });
}

/// The term that identifies this computation of an op, from the terms of its outputs; kNoTerm: the op cannot fail, or
/// its outputs are known without computing it.
[[nodiscard]] inline TermId fallible(const OpDef& def, const Terms& terms, std::span<const TypedTerm> inputs,
                                     std::span<const TypedTerm> outputs) {
  if (!may_fail(def, terms, inputs)) return kNoTerm;
  const auto made = std::ranges::find_if(outputs, [&](const TypedTerm& output) {
    return terms[output.term].kind == Terms::Kind::op && terms[output.term].def == &def;
  });
  return made == outputs.end() ? kNoTerm : made->term;
}

}  // namespace ferry::equal
