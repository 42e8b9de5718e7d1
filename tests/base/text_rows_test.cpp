#include "base/files/text_rows.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/error.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// A file with rows on the disk.
class Text {
 public:
  explicit Text(const std::string& content) {
    local_files().write(folder_ / "x", content);
    file_ = local_files().open_beneath(folder_.path(), "x");
  }
  [[nodiscard]] TextRows rows(std::int64_t skip = 0, bool comments = false) const { return {*file_, skip, comments}; }
  [[nodiscard]] std::string read(const TextRows& rows, std::int64_t first, std::int64_t count) const {
    return std::string(rows.read(*file_, first, count).text());
  }

 private:
  test::TempFolder folder_;
  std::unique_ptr<FileReader> file_;
};

TEST_SUITE_BEGIN("base/text_rows");

TEST_CASE("text_rows: lines and where they are") {
  const Text text("first\nsecond\r\n third");
  TextRows rows = text.rows();
  REQUIRE(rows.rows() == 3);
  CHECK(text.read(rows, 1, 1) == "second\r\n");
  CHECK(text.read(rows, 1, 2) == "second\r\n third");
  CHECK(text.read(rows, 0, 0).empty());
  CHECK(rows.line(2) == 3);
  rows.drop_first();
  CHECK(rows.rows() == 2);
  CHECK(text.read(rows, 0, 1) == "second\r\n");
  CHECK(rows.line(0) == 2);
}

TEST_CASE("text_rows: skipped lines, comments, lines that hold nothing") {
  const Text text("head\n\n1\n # no row\n\n2 # two\n3\n\n \t\n");
  const TextRows rows = text.rows(1, true);
  REQUIRE(rows.rows() == 3);
  CHECK(text.read(rows, 1, 1) == "2 # two\n");
  CHECK(rows.line(0) == 3);
  CHECK(rows.line(1) == 6);
  CHECK(rows.line(2) == 7);
  CHECK(test::says(test::error_of([&] { (void)text.rows(2); }), "x:5:1: an empty line"));
}

TEST_CASE("text_rows: files without rows, and of several pieces") {
  CHECK(Text("").rows().rows() == 0);
  CHECK(Text("\n\n").rows().rows() == 0);
  CHECK(Text("skipped").rows(1).rows() == 0);
  std::string content;
  for (int i = 0; i < 300000; ++i) content += std::to_string(i) + "\n";
  const Text text(content);
  const TextRows rows = text.rows();
  REQUIRE(rows.rows() == 300000);
  for (std::int64_t row : {0, 1, 160000, 299999}) {
    CHECK(text.read(rows, row, 1) == std::to_string(row) + "\n");
    CHECK(rows.line(row) == row + 1);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
