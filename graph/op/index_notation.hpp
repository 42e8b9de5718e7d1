// Index notation, such as "...mk,...kn->...mn", bound to actual shapes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op/op_def.hpp"
#include "graph/types/shape.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// One op's notation, bound to its inputs: every dim of every operand has a letter, stored as a number from 0 on.
struct IndexSpace {
  /// Letters of the dims of each input and output; a broadcast dim of size 1 has the letter of the dim it is spread
  /// over.
  std::vector<std::vector<int>> inputs;
  std::vector<std::vector<int>> outputs;
  std::vector<Dim> sizes;   ///< of each letter; unknown for output-only letters
  std::vector<bool> whole;  ///< for each letter: marked as [n] or (n), may not be split
  /// For each letter with another size in an output than in the inputs, such as a dim that a reshape merges with the
  /// dims after it: the greatest common divisor of the sizes. The letter may be split only into as many parts as divide
  /// it, and along one axis only, because then equal parts of the dims correspond to each other. 0: the sizes are
  /// equal.
  std::vector<std::int64_t> divisor;
  /// For each letter: marked as (n). Its position follows from the positions of the other letters, as the row of an
  /// image follows from a window's and the row in the window, or from an index. So it adds no points.
  std::vector<bool> implied;
  /// Whether a dim of an input is broadcast (its size is 1, but its letter's size is not): broadcast[input][dim].
  std::vector<std::vector<bool>> broadcast;

  [[nodiscard]] bool in_output(int letter, int output) const;
  /// The points of the space, which the op computes with: the product of the sizes of all letters that are not implied,
  /// a bounded size at its bound, an unknown one as 1.
  [[nodiscard]] double points() const;
};

/// Binds `notation` to the shapes of the inputs. Error(plan), such as "sizes differ: k is 3 and 4", when they do not
/// fit; an unknown size fits any other.
[[nodiscard]] IndexSpace bind_index(std::string_view notation, const OpFacts& facts);

/// The notation of `def` for these facts: def.index, or what index_of gives.
[[nodiscard]] std::string notation_of(const OpDef& def, const OpFacts& facts);

/// The space of an op with outputs of these types, including the sizes of output-only letters; nothing if the op has no
/// notation. Error(plan) as bind_index.
[[nodiscard]] std::optional<IndexSpace> index_space(const OpDef& def, const OpFacts& facts,
                                                    std::span<const Type> outputs);

/// Hands out letters for index notation.
class Letters {
 public:
  /// A letter not yet handed out; Error(plan) after all 180.
  [[nodiscard]] std::string next();
  /// `count` of them.
  [[nodiscard]] std::string next(int count);

 private:
  int used_ = 0;
};

/// "[x]" for "x": a letter that may not be split.
[[nodiscard]] inline std::string whole(const std::string& letter) {
  return "[" + letter + "]";
}
/// "(x)" for "x": the same, and its position follows from the positions of the other letters.
[[nodiscard]] inline std::string implied(const std::string& letter) {
  return "(" + letter + ")";
}
/// The letters of one operand as the notation writes them: "." for a scalar, which has none.
[[nodiscard]] inline std::string term(const std::string& letters) {
  return letters.empty() ? "." : letters;
}

}  // namespace ferry
#pragma GCC visibility pop
