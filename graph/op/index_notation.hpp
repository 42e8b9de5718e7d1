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

/// The notation of one op, bound to its inputs: every dim of every operand has a letter, stored as a number from 0 on.
struct IndexSpace {
  /// The letters of the dims of each input and output. A broadcast dim of size 1 has the letter of the dim to which it
  /// is broadcast.
  std::vector<std::vector<int>> inputs;
  std::vector<std::vector<int>> outputs;
  std::vector<Dim> sizes;   ///< the size of each letter; unknown for output-only letters
  std::vector<bool> whole;  ///< for each letter: whether it is marked as [n] or (n), and so may not be split
  /// For each letter with different sizes in an output and in the inputs: the greatest common divisor of the sizes. An
  /// example is a dim that a reshape merges with the dims after it. The letter may be split only along one axis, and
  /// only into a number of parts that divides this divisor, so that equal parts of the dims correspond to each other.
  /// 0: the sizes are equal.
  std::vector<std::int64_t> divisor;
  /// For each letter: whether it is marked as (n). Its position follows from the positions of the other letters, so it
  /// adds no points. For example, the row of an image follows from the position of a window and the row in the window.
  std::vector<bool> implied;
  /// Whether a dim of an input is broadcast (its size is 1, but the size of its letter is not): broadcast[input][dim].
  std::vector<std::vector<bool>> broadcast;

  [[nodiscard]] bool in_output(int letter, int output) const;
  /// The number of points of the space: the product of the sizes of all letters that are not implied. The op computes
  /// once for each point. A bounded size counts as its bound, an unknown size as 1.
  [[nodiscard]] double points() const;
};

/// Binds `notation` to the shapes of the inputs. Throws Error(plan), such as "sizes differ: k is 3 and 4", if they do
/// not fit. An unknown size fits any size.
[[nodiscard]] IndexSpace bind_index(std::string_view notation, const OpFacts& facts);

/// The notation of `def` for these facts: def.index, or the result of index_of.
[[nodiscard]] std::string notation_of(const OpDef& def, const OpFacts& facts);

/// The space of an op with outputs of these types, with the sizes of output-only letters. Returns nothing if the op has
/// no notation. Throws Error(plan) like bind_index().
[[nodiscard]] std::optional<IndexSpace> index_space(const OpDef& def, const OpFacts& facts,
                                                    std::span<const Type> outputs);

/// Generates letters for index notation.
class Letters {
 public:
  /// A letter that was not returned before. Throws Error(plan) after 180 letters.
  [[nodiscard]] std::string next();
  /// Returns `count` letters.
  [[nodiscard]] std::string next(int count);

 private:
  int used_ = 0;
};

/// "[x]" for "x": a letter that may not be split.
[[nodiscard]] inline std::string whole(const std::string& letter) {
  return "[" + letter + "]";
}
/// "(x)" for "x": a letter that may not be split, with a position that follows from the positions of the other letters.
[[nodiscard]] inline std::string implied(const std::string& letter) {
  return "(" + letter + ")";
}
/// The letters of one operand in the notation: "." for a scalar, which has no letters.
[[nodiscard]] inline std::string term(const std::string& letters) {
  return letters.empty() ? "." : letters;
}

}  // namespace ferry
#pragma GCC visibility pop
