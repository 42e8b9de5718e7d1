// Terms of ops that can end a step with an error because of the values of their inputs.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "graph/op/op_def.hpp"
#include "ops/may_fail.hpp"
#include "plan/equal/terms.hpp"

namespace ferry::equal {

/// The term that identifies this computation of an op, from the terms of its outputs; kNoTerm: the op cannot fail, or
/// its outputs are known without computing it.
[[nodiscard]] inline TermId fallible(const OpDef& def, const Terms& terms, std::span<const TypedTerm> inputs,
                                     std::span<const TypedTerm> outputs) {
  std::vector<const Type*> types;
  for (const TypedTerm& input : inputs) types.push_back(&terms.type(input.type));
  if (!may_fail(def, types)) return kNoTerm;
  const auto made = std::ranges::find_if(outputs, [&](const TypedTerm& output) {
    return terms[output.term].kind == Terms::Kind::op && terms[output.term].def == &def;
  });
  return made == outputs.end() ? kNoTerm : made->term;
}

}  // namespace ferry::equal
