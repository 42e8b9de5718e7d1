#include "base/files/text_rows.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

/// The line that is being read.
struct Line {
  std::uint64_t begin = 0;
  std::int64_t number = 1;
  bool holds = false, comment = false;
};

}  // namespace

TextRows::TextRows(const FileReader& file, std::int64_t skip, bool comments, std::int64_t most) {
  Line line;
  std::int64_t empty = 0;  // the first empty line; 0: none so far
  const auto end_line = [&](std::uint64_t next) {
    if (!line.holds && empty == 0 && line.number > skip) empty = line.number;
    if (line.holds && empty > 0 && !comments) throw Error(Code::file, "{}:{}:1: an empty line", file.name(), empty);
    if (line.holds && line.number > skip) {
      const auto row = static_cast<std::int64_t>(begins_.size());
      if (lines_.empty() || line.number - lines_.back().second != row - lines_.back().first)
        lines_.emplace_back(row, line.number);
      begins_.push_back(line.begin);
    }
    line = {.begin = next, .number = line.number + 1};
  };
  FileBytes piece(std::min(kPiece, file.size()));
  for (std::uint64_t at = 0; at < file.size() && static_cast<std::int64_t>(begins_.size()) <= most;
       at += piece.size()) {
    if (file.size() - at < piece.size()) piece.resize(file.size() - at);
    file.read(at, piece.span());
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const char c = piece.text()[i];
      if (c == '\n') {
        end_line(at + i + 1);
      } else if (comments && c == '#') {
        line.comment = true;
      } else if (c == '\0') {
        throw Error(Code::file, "{}:{}: NUL: this is no text", file.name(), line.number);
      } else if (c != ' ' && c != '\t' && c != '\r') {
        line.holds = line.holds || !line.comment;
      }
    }
  }
  end_line(file.size());
  begins_.push_back(file.size());
}

void TextRows::drop_first() {
  begins_.erase(begins_.begin());
  ++dropped_;
}

std::int64_t TextRows::line(std::int64_t row) const {
  row += dropped_;
  const auto after =
      std::upper_bound(lines_.begin(), lines_.end(), row, [](std::int64_t r, const auto& l) { return r < l.first; });
  const auto& [first, number] = *(after - 1);
  return number + row - first;
}

FileBytes TextRows::read(const FileReader& file, std::int64_t first, std::int64_t count) const {
  const std::uint64_t begin = begins_[first];
  FileBytes text(begins_[first + count] - begin);
  file.read(begin, text.span());
  return text;
}

}  // namespace ferry
