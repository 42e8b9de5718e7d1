#include "base/files/csv.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;
using Values = std::vector<double>;

/// A table of float64 numbers.
struct Parsed : CsvTable {
  Values values = {};
};

Parsed parsed(std::string_view text) {
  Parsed result;
  static_cast<CsvTable&>(result) = parse_csv(text, "x.csv", {}, [&](std::string_view field) -> std::string {
    double number = 0;
    const NumberFault fault = parse_real(field, number);
    result.values.push_back(number);
    return fault == NumberFault::none ? "" : fault == NumberFault::no_number ? "is not a number" : "is too large";
  });
  return result;
}

TEST_SUITE_BEGIN("base/csv");

TEST_CASE("csv: rows and columns of numbers") {
  const Parsed table = parsed("1,2.5,-3\n4,5e2,+6\n");
  CHECK(table.names.empty());
  CHECK(table.rows == 2);
  CHECK(table.columns == 3);
  CHECK(table.values == Values{1, 2.5, -3, 4, 500, 6});
}

TEST_CASE("csv: a header line is told by having no number") {
  const Parsed table = parsed("x,\"y, or z\",größe\n1,2,3\n");
  CHECK(table.names == std::vector<std::string>{"x", "y, or z", "größe"});
  CHECK(table.values == Values{1, 2, 3});
  CHECK(error_of([] { (void)parsed("1e999,x\n"); }).text() == "x.csv:1:1: \"1e999\" is too large");
  CHECK(parsed("a 5\" pipe\n1\n").names == std::vector<std::string>{"a 5\" pipe"});
  const Parsed only = parsed("x,y\n");
  CHECK(only.rows == 0);
  CHECK(only.columns == 2);
}

TEST_CASE("csv: line ends, blanks, quotes, byte order mark, nothing at all") {
  CHECK(parsed("1,2\r\n3,4").values == Values{1, 2, 3, 4});
  CHECK(parsed(" 1 ,\t2 \n").values == Values{1, 2});
  CHECK(parsed("\"1\",\" 2 \"\n").values == Values{1, 2});
  CHECK(parsed("\xef\xbb\xbf"
               "1,2\n")
            .values == Values{1, 2});
  CHECK(parsed("1\n2\n\n\n").values == Values{1, 2});
  CHECK(parsed("").rows == 0);
  CHECK(parsed("\n").rows == 0);
}

TEST_CASE("csv: infinities and NaN are numbers") {
  const Parsed table = parsed("inf,-inf,nan\n");
  CHECK(table.values[0] == INFINITY);
  CHECK(table.values[1] == -INFINITY);
  CHECK(std::isnan(table.values[2]));
}

TEST_CASE("csv: errors name file, line and column") {
  const auto refused = [](std::string_view text, std::string_view why) {
    const Error error = error_of([&] { (void)parsed(text); });
    CHECK(error.code() == Code::file);
    CHECK(error.text() == why);
  };
  const std::string in_quotes =
      ": quotes that do not end on this line; a field must have no line breaks\n  try: remove the line break; if it is "
      "in "
      "a header, you can skip the header's lines (`skip` of read_csv)";
  refused("1,2\n3,x4\n", "x.csv:2:3: \"x4\" is not a number");
  refused("1,2x\n", "x.csv:1:3: \"2x\" is not a number");
  refused("\"a\nb\",c\n1,2\n", "x.csv:1:1" + in_quotes);
  refused("1,\"2\n\"\n", "x.csv:1:3" + in_quotes);
  refused("a,b\n1,\n", "x.csv:2:3: an empty field");
  refused("1,2\n3\n", "x.csv:2:1: 1 fields, and the line before has 2");
  refused("a,b\n1,2,3\n", "x.csv:2:1: 3 fields, and the line before has 2");
  refused("1\n\n2\n", "x.csv:2:1: an empty line");
  refused("1\n 1e999\n", "x.csv:2:1: \"1e999\" is too large");
  refused("1\n+-2\n", "x.csv:2:1: \"+-2\" is not a number");
  refused("1\n0x10\n", "x.csv:2:1: \"0x10\" is not a number");
  refused("a,\xff\n1,2\n", "x.csv:1:3: the column's name \"\\xff\" is not UTF-8");
  refused(std::string_view("1\n2\0\n", 5), "x.csv:2:1: \"2\\x00\" is not a number");
}

TEST_CASE("csv: numbers that commas do not separate are refused, and are no header") {
  for (const std::string row : {"1;2", "1\t2", "1 2", "1 ;  2", "1|2|3", "1.5;2e3;", "1;2,3"}) {
    const Error first = error_of([&] { (void)parsed(row + "\n"); });
    CHECK(first.code() == Code::file);
    CHECK(first.text().starts_with("x.csv:1:1: \"1"));
    CHECK(test::says(first, "has numbers separated by \""));
    CHECK(test::says(first, "separate numbers by commas"));
    CHECK(test::says(error_of([&] { (void)parsed("a,b\n" + row + "\n"); }), "x.csv:2:1: \"1"));
  }
  CHECK(parsed("from 1 to 2,2 or 3\n1,2\n").names == std::vector<std::string>{"from 1 to 2", "2 or 3"});
}

TEST_CASE("csv: a long hostile field is cut in the message") {
  const Error error = error_of([] { (void)parsed("1\n" + std::string(1'000'000, 'x')); });
  CHECK(error.text().size() < 200);
}

TEST_CASE("csv: cut or flipped anywhere, it is refused or read as whole rows") {
  const auto read = [](const std::string& text) {
    const Parsed table = parsed(text);
    CHECK(table.values.size() == table.rows * table.columns);
  };
  const std::string good = "a,b,c\n1,-2.5e3,3\n\"4\",5,inf\n";
  CHECK(test::cut_everywhere(good, read) > 0);
  test::flip_everywhere(good, read);
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
