#include "base/files/csv.hpp"

#include <charconv>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files/compress.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Number {
  std::optional<double> value;
  bool out_of_range = false;
};

Number number_of(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (end != field.data() + field.size()) return {};
  if (error == std::errc::result_out_of_range) return {{}, true};
  return error == std::errc() ? Number{value} : Number{};
}

bool is_quoted(std::string_view field) {
  return field.size() >= 2 && field.front() == '"' && field.back() == '"';
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view name, char separator, const CsvPart& part)
      : rest_(text), name_(name), separator_(separator), header_(part.begins_file), number_(part.first_line - 1) {
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
  [[noreturn]] void fail(std::size_t column, const std::string& why) const {
    throw Error(Code::file, escaped(name_) + ":" + std::to_string(number_) + ":" + std::to_string(column) + ": " + why);
  }

  void next_line() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    begin_ = 0;
  }

  // The next field of the line, without blanks and quotes around it; false after the last.
  bool next_field(std::string_view& field) {
    if (begin_ > line_.size()) return false;
    const std::size_t end = field_end();
    field = trimmed(line_.substr(begin_, end - begin_));
    column_ = begin_ + 1;
    begin_ = end + 1;
    if (is_quoted(field)) field = trimmed(field.substr(1, field.size() - 2));
    return true;
  }

  // A separator between quotes does not count.
  [[nodiscard]] std::size_t field_end() const {
    bool quoted = false;
    for (std::size_t i = begin_; i < line_.size(); ++i) {
      if (line_[i] == '"') quoted = !quoted;
      if (line_[i] == separator_ && !quoted) return i;
    }
    return line_.size();
  }

  bool is_header() {
    bool numbers = false;
    for (std::string_view field; next_field(field);) numbers = numbers || number_of(field).value;
    begin_ = 0;
    return !numbers;
  }

  void read_names() {
    for (std::string_view field; next_field(field);) {
      if (!is_valid_utf8(field)) fail(column_, "the column's name " + in_quotes(field) + " is not UTF-8");
      table_.names.emplace_back(field);
    }
    table_.columns = table_.names.size();
  }

  void read_row() {
    std::size_t count = 0;
    for (std::string_view field; next_field(field); ++count) table_.values.push_back(read_number(field));
    if (table_.columns == 0) table_.columns = count;
    if (count != table_.columns) {
      fail(1, std::to_string(count) + " fields, and the line before has " + std::to_string(table_.columns));
    }
    ++table_.rows;
  }

  [[nodiscard]] double read_number(std::string_view field) const {
    if (field.empty()) fail(column_, "an empty field");
    const Number number = number_of(field);
    if (number.out_of_range) fail(column_, in_quotes(field) + " is out of the range of float64");
    if (!number.value) fail(column_, in_quotes(field) + " is not a number");
    return *number.value;
  }

  std::string_view rest_;
  std::string_view name_;
  char separator_;
  std::string_view line_;
  bool header_;             // whether the next line may be a header
  std::int64_t number_;     // the line's number
  std::size_t begin_ = 0;   // where the next field begins
  std::size_t column_ = 0;  // the column of the field read last
  CsvTable table_;
};

}  // namespace

CsvTable parse_csv(std::string_view text, std::string_view name, char separator, const CsvPart& part) {
  return Parser(text, name, separator, part).parse();
}

CsvTable read_csv(FileSystem& files, const std::string& path, std::uint64_t limit, char separator) {
  const FileBytes file = maybe_decompress(files.read(path, limit), limit, path);
  return parse_csv(file.text(), path, separator);
}

}  // namespace ferry
