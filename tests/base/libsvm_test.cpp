#include "base/files/libsvm.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "base/files/compress.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;

constexpr std::string_view kGood = "1 3:1 9:0.5\n0\n-1.5e1 0:+2 4:-1 5:1e-3 # the last\n";

TEST_SUITE_BEGIN("base/libsvm");

TEST_CASE("libsvm: rows are compressed") {
  const LibsvmRows rows = parse_libsvm(kGood, "x");
  CHECK(rows.labels == std::vector<float>{1, 0, -15});
  CHECK(rows.values == std::vector<float>{1, 0.5F, 2, -1, 1e-3F});
  CHECK(rows.indices == std::vector<std::int32_t>{3, 9, 0, 4, 5});
  CHECK(rows.offsets == std::vector<std::int64_t>{0, 2, 2, 5});
}

TEST_CASE("libsvm: blanks, comments, empty lines, a byte order mark, CRLF and no end of line") {
  const std::string text = "\xef\xbb\xbf# made by hand\r\n\r\n  1\t 3:1  9:0.5 \r\n0 #\n\n-15 0:2 4:-1 5:0.001";
  const LibsvmRows rows = parse_libsvm(text, "x");
  CHECK(libsvm_rows(text) == 3);
  CHECK(rows.labels == std::vector<float>{1, 0, -15});
  CHECK(rows.values == parse_libsvm(kGood, "x").values);
  CHECK(parse_libsvm("", "x").offsets == std::vector<std::int64_t>{0});
}

TEST_CASE("libsvm: numbers too small for float32 are subnormal ones or 0, as sklearn reads them") {
  const LibsvmRows rows =
      parse_libsvm("-1e-50 0:1e-46 1:1e-40 2:-0.0000000000000000000000000000000000000000000001\n", "x");
  CHECK(rows.labels == std::vector<float>{0});
  CHECK(rows.values == std::vector<float>{0, 1e-40F, 0});
}

TEST_CASE("libsvm: an index without a value has the value 1, a query's id is left out") {
  const LibsvmRows rows = parse_libsvm("1 qid:7 2 4:3 9\n0 qid:8\n", "x");
  CHECK(rows.labels == std::vector<float>{1, 0});
  CHECK(rows.indices == std::vector<std::int32_t>{2, 4, 9});
  CHECK(rows.values == std::vector<float>{1, 3, 1});
}

TEST_CASE("libsvm: a label may have a weight, which is 1 by default") {
  const LibsvmRows rows = parse_libsvm("1:0.5 2:3\n0 qid:8\n-1:2e1 qid:8 1\n", "x");
  CHECK(rows.labels == std::vector<float>{1, 0, -1});
  CHECK(rows.weights == std::vector<float>{0.5F, 1, 20});
  CHECK(rows.indices == std::vector<std::int32_t>{2, 1});
}

TEST_CASE("libsvm: a range of rows, the others unread") {
  const LibsvmRows rows = parse_libsvm("nonsense\n1 2:3\n2 4:5\nnonsense\n", "x", {}, {1, 2});
  CHECK(rows.labels == std::vector<float>{1, 2});
  CHECK(rows.offsets == std::vector<std::int64_t>{0, 1, 2});
  CHECK(parse_libsvm(kGood, "x", {}, {2, 9}).labels == std::vector<float>{-15});
}

TEST_CASE("libsvm: files are read packed or not, within the limit") {
  const test::TempFolder folder;
  local_files().write(folder / "plain", kGood);
  local_files().write(folder / "packed", gzip(std::as_bytes(std::span(kGood))).span());
  for (const std::string name : {"plain", "packed"}) {
    CHECK(read_libsvm(local_files(), folder / name).rows() == 3);
    CHECK(error_of([&] { (void)read_libsvm(local_files(), folder / name, 20); }).code() == Code::file);
  }
}

TEST_CASE("libsvm: bad files are refused with line, column and reason") {
  const auto refused = [](std::string_view text, std::string_view why, const LibsvmBounds& bounds = {}) {
    const Error error = error_of([&] { (void)parse_libsvm(text, "x.txt", bounds); });
    CHECK(error.code() == Code::file);
    CHECK(test::says(error, why));
  };
  refused("1 2:3\none 2:3\n", "x.txt:2:1: the label \"one\" is not a number");
  refused("1 2:3 four\n", "x.txt:1:7: the index \"four\" is not a number");
  refused("1 qid:x 2:3\n", "x.txt:1:3: the qid \"x\" is not a number");
  refused("1 2:3 qid:1\n", "x.txt:1:7: the index \"qid\" is not a number");
  refused("1: 2:3\n", "x.txt:1:3: the weight \"\" is not a number");
  refused("one:2 2:3\n", "x.txt:1:1: the label \"one\" is not a number");
  refused("1:-0.5 2:3\n", "x.txt:1:3: the weight \"-0.5\" is negative");
  refused("1 2.5:3\n", "x.txt:1:3: the index \"2.5\" is not a number");
  refused("1 2:\n", "x.txt:1:5: the value \"\" is not a number");
  refused("1 2:3x\n", "x.txt:1:5: the value \"3x\" is not a number");
  refused("1 2:1e99\n", "x.txt:1:5: the value \"1e99\" is out of range");
  refused("1 99999999999:1\n", "x.txt:1:3: the index \"99999999999\" is out of range");
  refused("1 -2:3\n", "x.txt:1:3: the index -2 is negative");
  refused("1 2:3 2:4\n", "x.txt:1:7: the index 2 is not above the one before, 2");
  refused("\n# two lines\n1 7:1\n", "x.txt:3:3: the index 7 is not below 7, the number of features", {.features = 7});
  refused("1 2:3 4:5\n", "x.txt:1:7: more than 1 entries in a row", {.entries = 1});
  refused("1\n2\n3\n", "x.txt:3:1: more than 2 rows", {.rows = 2});
  refused(std::string_view("1 2:\0\n", 6), "is not a number");
}

TEST_CASE("libsvm: cut or flipped anywhere, it is refused or read") {
  const std::string good(kGood);
  const auto read = [](const std::string& file) {
    const LibsvmRows rows = parse_libsvm(file, "x", {.rows = 5, .entries = 5, .features = 20});
    CHECK(rows.values.size() == rows.indices.size());
    CHECK(rows.offsets.back() == static_cast<std::int64_t>(rows.values.size()));
    for (const std::int32_t index : rows.indices) CHECK((index >= 0 && index < 20));
  };
  CHECK(test::cut_everywhere(good, read) < static_cast<int>(good.size()));
  CHECK(test::flip_everywhere(good, read) < static_cast<int>(good.size()) * 8);
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
