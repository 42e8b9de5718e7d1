#include "tests/plans/form_reader.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace ferry::test {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

void FormReader::fail(std::string_view wanted) const {
  const std::string_view before = text_.substr(0, at_);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // 0 in the first line
  const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_);
  throw Error(Code::file, "line " + std::to_string(line) + ", column " + std::to_string(at_ - begin + 1) +
                              ": expected " + std::string(wanted) + ", found '" + std::string(rest.substr(0, 40)) +
                              "'");
}

void FormReader::skip_blanks() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

void FormReader::skip_empty_lines() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
}

bool FormReader::line_read() {
  skip_blanks();
  return at_ == text_.size() || text_[at_] == '\n';
}

void FormReader::end_line() {
  if (!line_read()) fail("the end of the line");
  skip_empty_lines();
}

std::size_t FormReader::end_of(std::string_view piece) {
  skip_blanks();
  std::size_t end = at_;
  for (const char c : piece) {
    if (end == text_.size() || text_[end] != c) return std::string_view::npos;
    ++end;
    while (c == ' ' && end < text_.size() && text_[end] == ' ') ++end;
  }
  const bool cut = is_word(piece.back()) && end < text_.size() && is_word(text_[end]);
  return cut ? std::string_view::npos : end;
}

bool FormReader::sees(std::string_view piece) {
  return end_of(piece) != std::string_view::npos;
}

bool FormReader::sees_number() {
  skip_blanks();
  return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
}

bool FormReader::sees_line(std::string_view piece) {
  if (!sees(piece)) return false;
  const std::size_t end = text_.find_first_not_of(' ', end_of(piece));
  return end == std::string_view::npos || text_[end] == '\n';
}

bool FormReader::accept(std::string_view piece) {
  const std::size_t end = end_of(piece);
  if (end == std::string_view::npos) return false;
  at_ = end;
  return true;
}

void FormReader::expect(std::string_view piece) {
  if (!accept(piece)) fail("'" + std::string(piece) + "'");
}

std::string FormReader::until(std::string_view ends) {
  skip_blanks();
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n' && ends.find(text_[at_]) == std::string_view::npos) ++at_;
  if (at_ == begin) fail("a word");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string FormReader::word() {
  return until(" ");
}

std::string FormReader::name() {
  if (!accept("\"")) return word();
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n' && text_[at_] != '\\') ++at_;
  if (at_ == text_.size() || text_[at_] != '"') fail("a name without '\\' and its closing quote");
  return std::string(text_.substr(begin, at_++ - begin));
}

std::string FormReader::rest() {
  return until("");
}

std::int64_t FormReader::integer() {
  skip_blanks();
  std::int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("a number");
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

std::uint32_t FormReader::number_in(std::string_view piece) const {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), value);
  if (error != std::errc() || end != piece.data() + piece.size()) fail("a number at the end of the piece before this");
  return value;
}

double FormReader::decimal() {
  skip_blanks();
  double value = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("a number");
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

std::uint32_t FormReader::reference() {
  expect("%");
  return number<std::uint32_t>();
}

std::vector<std::uint32_t> FormReader::references() {
  std::vector<std::uint32_t> list;
  if (!sees("%")) return list;
  do list.push_back(reference());
  while (accept(","));
  return list;
}

std::vector<std::int64_t> FormReader::numbers() {
  std::vector<std::int64_t> list;
  do list.push_back(number());
  while (accept(","));
  return list;
}

std::vector<std::int32_t> FormReader::ranges() {
  std::vector<std::int32_t> list;
  do {
    const auto first = number<std::int32_t>();
    const auto last = accept("-") ? number<std::int32_t>() : first;
    for (std::int32_t i = first; i <= last; ++i) list.push_back(i);
  } while (at_ + 1 < text_.size() && text_[at_] == ',' && text_[at_ + 1] != ' ' && accept(","));
  return list;
}

Grouping FormReader::groups() {
  Grouping groups;
  while (accept("{")) {
    groups.push_back(ranges());
    expect("}");
  }
  if (groups.empty()) fail("'{'");
  return groups;
}

DType FormReader::dtype() {
  for (const DType dtype : kDTypes)
    if (accept(name_of(dtype))) return dtype;
  fail("a dtype");
}

Type FormReader::type() {
  Type type{dtype(), {}};
  expect("[");
  if (accept("]")) return type;
  do {
    const bool bounded = accept("<=");
    const std::int64_t size = number();
    type.shape.push_back(bounded ? Dim::at_most(size) : Dim(size));
  } while (accept(","));
  expect("]");
  return type;
}

Layout FormReader::layout() {
  static constexpr Reduce kReduces[] = {Reduce::sum, Reduce::max, Reduce::min};
  Layout layout;
  expect("[");
  do {
    if (accept("R")) {
      layout.push_back(replicated());
    } else if (accept("S")) {
      expect("(");
      layout.push_back(split(number<std::int16_t>()));
      expect(")");
    } else {
      expect("P");
      expect("(");
      std::string_view names[3];
      std::ranges::transform(kReduces, names, [](Reduce reduce) { return name_of(reduce); });
      layout.push_back(partial(kReduces[one_of(names, "sum, max or min")]));
      expect(")");
    }
  } while (accept(","));
  expect("]");
  return layout;
}

Reads FormReader::reads() {
  expect("(");
  const std::vector<std::int64_t> n = numbers();
  if (n.size() != 7) fail("seven numbers");
  expect(")");
  return {.begin = n[0], .step = n[1], .size = n[2], .extent = n[3], .windows = {n[4], n[5], n[6]}};
}

SourceLine FormReader::source_line() {
  if (!accept("at")) return {};
  const std::string text = rest();
  const std::size_t colon = text.rfind(':');
  int line = 0;
  if (colon == std::string::npos ||
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), line).ec != std::errc())
    fail("FILE:LINE before this");
  return {text.substr(0, colon), line};
}

}  // namespace ferry::test
