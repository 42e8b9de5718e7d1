#include "base/files/csv.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_number(std::string_view field) {
  double number = 0;
  return parse_real(field, number) != NumberFault::no_number;
}

bool is_quoted(std::string_view field) {
  return field.size() >= 2 && field.front() == '"' && field.back() == '"';
}

/// The separator of a field of several numbers that commas do not separate, such as "1;2"; 0 if the field is another
/// text.
char other_separator(std::string_view field) {
  for (const char separator : {';', '\t', ' ', '|'}) {
    std::size_t numbers = 0;
    bool all = true;
    for (const std::string_view part : split(field, separator)) {
      if (trimmed(part).empty()) continue;
      all = all && is_number(trimmed(part));
      ++numbers;
    }
    if (all && numbers > 1) return separator;
  }
  return 0;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view name, const CsvPart& part, const CsvFieldHandler& take)
      : rest_(text), name_(name), take_(take), header_(part.begins_file), number_(part.first_line - 1) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  CsvTable parse() {
    while (!trimmed(rest_).empty()) {
      next_line();
      if (trimmed(line_).empty()) fail(1, "an empty line");
      if (std::exchange(header_, false) && is_header()) {
        read_names();
      } else {
        read_row();
      }
    }
    return std::move(table_);
  }

 private:
  [[nodiscard]] Error error(std::size_t column, const std::string& why) const {
    return Error(Code::file, "{}:{}:{}: {}", name_, number_, column, as_is(why));
  }
  [[noreturn]] void fail(std::size_t column, const std::string& why) const { throw error(column, why); }

  /// Throws if the field has several numbers, which commas do not separate.
  void check_separators(std::string_view field) const {
    if (const char separator = other_separator(field); separator != 0)
      throw error(column_, formatted("{:?} has numbers separated by {:?}", field, std::string_view(&separator, 1)))
          .hint("separate numbers by commas, and write decimals with a point");
  }

  void next_line() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    begin_ = 0;
  }

  // Sets `field` to the next field of the line, without blanks and quotes around it. Returns false after the last
  // field.
  bool next_field(std::string_view& field) {
    if (begin_ > line_.size()) return false;
    const std::size_t end = field_end();
    field = trimmed(line_.substr(begin_, end - begin_));
    column_ = begin_ + 1;
    begin_ = end + 1;
    if (field.starts_with('"') && std::ranges::count(field, '"') % 2 != 0)
      throw error(column_, "quotes that do not end on this line; a field must have no line breaks")
          .hint("remove the line break; if it is in a header, you can skip the header's lines (`skip` of read_csv)");
    if (is_quoted(field)) field = trimmed(field.substr(1, field.size() - 2));
    return true;
  }

  // The end of the next field. A comma between quotes is no separator.
  [[nodiscard]] std::size_t field_end() const {
    bool quoted = false;
    for (std::size_t i = begin_; i < line_.size(); ++i) {
      if (line_[i] == '"') quoted = !quoted;
      if (line_[i] == ',' && !quoted) return i;
    }
    return line_.size();
  }

  bool is_header() {
    bool numbers = false;
    for (std::string_view field; next_field(field);) {
      check_separators(field);
      numbers = numbers || is_number(field);
    }
    begin_ = 0;
    return !numbers;
  }

  void read_names() {
    for (std::string_view field; next_field(field);) {
      if (!is_valid_utf8(field)) fail(column_, formatted("the column's name {:?} is not UTF-8", field));
      table_.names.emplace_back(field);
    }
    table_.columns = table_.names.size();
  }

  void read_row() {
    std::size_t count = 0;
    for (std::string_view field; next_field(field); ++count) take(field);
    if (table_.columns == 0) table_.columns = count;
    if (count != table_.columns) {
      fail(1, std::to_string(count) + " fields, and the line before has " + std::to_string(table_.columns));
    }
    ++table_.rows;
  }

  void take(std::string_view field) const {
    if (field.empty()) fail(column_, "an empty field");
    const std::string fault = take_(field);
    if (fault.empty()) return;
    check_separators(field);
    fail(column_, formatted("{:?} {}", field, as_is(fault)));
  }

  std::string_view rest_;
  std::string_view name_;
  const CsvFieldHandler& take_;
  std::string_view line_;
  bool header_;             // whether the next line may be a header
  std::int64_t number_;     // the line's number
  std::size_t begin_ = 0;   // the start of the next field in the line
  std::size_t column_ = 0;  // the column of the field read last
  CsvTable table_;
};

}  // namespace

CsvTable parse_csv(std::string_view text, std::string_view name, const CsvPart& part, const CsvFieldHandler& take) {
  return Parser(text, name, part, take).parse();
}

std::string_view without_lines(std::string_view text, std::int64_t lines) {
  for (; lines > 0 && !text.empty(); --lines) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

}  // namespace ferry
