// FormReader: reads the texts of Program and ClassPlan, piece by piece.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "graph/types/layout.hpp"
#include "graph/types/shape.hpp"
#include "plan/plan.hpp"

namespace ferry::test {

/// The names of consecutive enumerators, from 0 to `last`.
template <class Enum, Enum last>
auto names_of() {
  std::array<std::string_view, static_cast<std::size_t>(last) + 1> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<Enum>(i));
  return names;
}

/// A place in a text of lines. Blanks between pieces, at the ends of lines, and empty lines do not count; everything
/// else must be as the printers write it. Functions throw Error(file) with line and column for anything else.
///
///     reader.expect("%");
///     const auto buffer = reader.number<std::uint32_t>();
///     if (reader.accept("at")) line = reader.rest();
class FormReader {
 public:
  explicit FormReader(std::string_view text) : text_(text) { skip_empty_lines(); }

  /// Whether no line is left.
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  /// Goes to the next line; the current one must have been read.
  void end_line();
  /// Whether the line has been read.
  [[nodiscard]] bool line_read();
  /// Whether `piece` comes next. A piece that ends with a letter or digit must end a word.
  [[nodiscard]] bool sees(std::string_view piece);
  [[nodiscard]] bool sees_number();
  /// Whether the line has only `piece`.
  [[nodiscard]] bool sees_line(std::string_view piece);
  /// Goes behind `piece` if it comes next.
  bool accept(std::string_view piece);
  void expect(std::string_view piece);
  /// All up to the next blank or the end of the line.
  std::string word();
  /// The characters up to the next one of `ends`, or the end of the line.
  std::string until(std::string_view ends);
  /// A name as exact_name() writes it.
  std::string name();
  /// What is left of the line.
  std::string rest();
  template <class T = std::int64_t>
  T number() {
    const std::int64_t value = integer();
    if (static_cast<std::int64_t>(static_cast<T>(value)) != value) fail("a number that fits");
    return static_cast<T>(value);
  }
  /// The number that a piece read before has; fails at this place.
  [[nodiscard]] std::uint32_t number_in(std::string_view piece) const;
  double decimal();
  /// The number of the name in the list.
  template <class Names>
  std::size_t one_of(const Names& names, const char* what) {
    for (std::size_t i = 0; i < std::size(names); ++i)
      if (accept(names[i])) return i;
    fail(what);
  }
  /// "3 bytes", "1 byte".
  template <class T = std::int64_t>
  T counted(std::string_view noun) {
    const T count = number<T>();
    expect(std::string(noun) + (count == 1 ? "" : "s"));
    return count;
  }

  /// "%3, %4", perhaps none.
  std::vector<std::uint32_t> references();
  std::uint32_t reference();
  /// "1,2,3".
  std::vector<std::int64_t> numbers();
  /// "0-2,5".
  std::vector<std::int32_t> ranges();
  /// "{0-1} {2-3}".
  Grouping groups();
  DType dtype();
  Type type();
  Layout layout();
  /// "(0,1,8,1,0,1,0)".
  Reads reads();
  /// "  at model.cpp:3", or nothing.
  SourceLine source_line();

  /// Says that `wanted` is not here.
  [[noreturn]] void fail(std::string_view wanted) const;

 private:
  std::int64_t integer();
  /// Where `piece` ends if it comes next, else npos. A blank in it stands for several.
  std::size_t end_of(std::string_view piece);
  void skip_blanks();
  void skip_empty_lines();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace ferry::test
