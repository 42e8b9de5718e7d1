#include "base/files/libsvm.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/files/compress.hpp"
#include "base/format.hpp"
#include "base/numbers.hpp"

namespace ferry {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kQuery = "qid:";

/// Iterates over the lines of a text that have a row. Removes comments from the lines.
class Lines {
 public:
  explicit Lines(std::string_view text, std::int64_t first_line = 1) : rest_(text), number_(first_line - 1) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  bool next(std::string_view& line) {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      line = line.substr(0, line.find('#'));
      if (line.find_first_not_of(kBlanks) != std::string_view::npos) return true;
    }
    return false;
  }
  /// The line number, in the file, of the line that next() returned last.
  [[nodiscard]] std::int64_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::int64_t number_;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view name, const LibsvmBounds& bounds, std::int64_t first_line)
      : lines_(text, first_line), name_(name), bounds_(bounds) {}

  LibsvmRows parse(const LibsvmRange& range) {
    rows_.offsets.push_back(0);
    for (std::int64_t row = 0; lines_.next(line_); ++row) {
      at_ = 0;
      if (row == bounds_.rows) fail(0, "more than " + std::to_string(bounds_.rows) + " rows");
      if (row >= range.first && row - range.first < range.count) read_row();
    }
    return std::move(rows_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& why) const {
    throw Error(Code::file, "{}:{}:{}: {}", name_, lines_.number(), at + 1, as_is(why));
  }

  /// Sets `word` to the next word of the line. Returns false after the last word.
  bool next_word(std::string_view& word) {
    begin_ = std::min(line_.find_first_not_of(kBlanks, at_), line_.size());
    at_ = std::min(line_.find_first_of(kBlanks, begin_), line_.size());
    word = line_.substr(begin_, at_ - begin_);
    return !word.empty();
  }

  void read_row() {
    std::string_view word;
    next_word(word);
    read_label(word);
    std::int64_t before = -1;
    const std::size_t first = rows_.values.size();
    bool is_first = true;
    while (next_word(word)) {
      if (std::exchange(is_first, false) && word.starts_with(kQuery)) {
        static_cast<void>(number<std::int32_t>(word.substr(kQuery.size()), "qid"));
        continue;
      }
      if (static_cast<std::int64_t>(rows_.values.size() - first) == bounds_.entries)
        fail(begin_, "more than " + std::to_string(bounds_.entries) + " entries in a row");
      before = read_entry(word, before);
    }
    rows_.offsets.push_back(static_cast<std::int64_t>(rows_.values.size()));
  }

  void read_label(std::string_view word) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    rows_.labels.push_back(number<float>(word.substr(0, colon), "label"));
    begin_ += colon + 1;
    const float weight = colon == word.size() ? 1 : number<float>(word.substr(colon + 1), "weight");
    if (weight < 0) fail(begin_, formatted("the weight {:?} is negative", word.substr(colon + 1)));
    rows_.weights.push_back(weight);
  }

  std::int64_t read_entry(std::string_view word, std::int64_t before) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto index = number<std::int32_t>(word.substr(0, colon), "index");
    if (index < 0) fail(begin_, "the index " + std::to_string(index) + " is negative");
    if (index <= before)
      fail(begin_, "the index " + std::to_string(index) + " is not above the one before, " + std::to_string(before));
    if (index >= bounds_.features)
      fail(begin_, "the index " + std::to_string(index) + " is not below " + std::to_string(bounds_.features) +
                       ", the number of features");
    rows_.indices.push_back(index);
    begin_ += colon + 1;
    rows_.values.push_back(colon == word.size() ? 1 : number<float>(word.substr(colon + 1), "value"));
    return index;
  }

  template <class T>
  [[nodiscard]] T number(std::string_view word, std::string_view what) const {
    T value{};
    const NumberFault fault = parse(word, value);
    const std::string text = formatted("the {} {:?}", as_is(what), word);
    if (fault == NumberFault::out_of_range) fail(begin_, text + " is out of range");
    if (fault != NumberFault::none) fail(begin_, text + " is not a number");
    return value;
  }

  static NumberFault parse(std::string_view word, float& value) { return parse_real(word, value); }
  static NumberFault parse(std::string_view word, std::int32_t& index) {
    const bool digits = word.find_first_not_of("+-0123456789") == std::string_view::npos;
    return digits ? parse_integer(word, index) : NumberFault::no_number;
  }

  Lines lines_;
  std::string_view name_;
  const LibsvmBounds& bounds_;
  std::string_view line_;
  std::size_t at_ = 0;     // the end of the word read last
  std::size_t begin_ = 0;  // the start of the word or number read last
  LibsvmRows rows_;
};

}  // namespace

std::int64_t libsvm_rows(std::string_view text) {
  Lines lines(text);
  std::int64_t rows = 0;
  for (std::string_view line; lines.next(line);) ++rows;
  return rows;
}

LibsvmRows parse_libsvm(std::string_view text, std::string_view name, const LibsvmBounds& bounds,
                        const LibsvmRange& range, std::int64_t first_line) {
  return Parser(text, name, bounds, first_line).parse(range);
}

LibsvmRows read_libsvm(FileSystem& files, const std::string& path, std::uint64_t limit, const LibsvmBounds& bounds,
                       const LibsvmRange& range) {
  const FileBytes file = maybe_decompress(files.read(path, limit), limit, path);
  return parse_libsvm(file.text(), path, bounds, range);
}

}  // namespace ferry
