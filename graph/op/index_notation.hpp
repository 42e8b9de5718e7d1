// Index notation: "...mk,...kn->...mn" read against actual shapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/op/op_def.hpp"
#include "graph/types/shape.hpp"

namespace ferry {

/// One op's notation, bound to the ranks of its inputs: every dim of every operand is a letter (a small number).
struct IndexSpace {
  /// Letters of the dims of each input and output; a broadcast dim of size 1 has the letter of the dim it is spread
  /// over.
  std::vector<std::vector<int>> inputs;
  std::vector<std::vector<int>> outputs;
  std::vector<Dim> sizes;   ///< of each letter; unknown for output-only letters
  std::vector<bool> whole;  ///< marked [n]: may not be split
  /// Dims of inputs that are spread (size 1 against a larger letter): broadcast[input][dim].
  std::vector<std::vector<bool>> broadcast;

  [[nodiscard]] bool in_output(int letter, int output) const;
};

/// Binds `notation` to the shapes. Error(plan) "inner sizes differ: k is 3 and 4" style when they do not fit; unknown
/// sizes fit everything.
[[nodiscard]] IndexSpace bind_index(std::string_view notation, const OpFacts& facts);

/// The notation of `def` for these facts: def.index, or what index_of gives.
[[nodiscard]] std::string notation_of(const OpDef& def, const OpFacts& facts);

/// Hands out letters for index notation.
class Letters {
 public:
  /// A letter not yet handed out. Stops inference when there are no more (about 200).
  [[nodiscard]] std::string next();
  /// `count` of them.
  [[nodiscard]] std::string next(int count);

 private:
  int used_ = 0;
};

/// "[x]" for "x": a letter that must be whole.
[[nodiscard]] inline std::string whole(const std::string& letter) {
  return "[" + letter + "]";
}
/// A term as notation writes it where it may be alone: "." for a scalar.
[[nodiscard]] inline std::string term(const std::string& letters) {
  return letters.empty() ? "." : letters;
}

}  // namespace ferry
