#include "base/format.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace ferry {
namespace {

TEST_CASE("formatted: text is escaped, numbers are written whole") {
  CHECK(formatted("the feed '{}' has {} rows", "a\nb", 3) == "the feed 'a\\nb' has 3 rows");
  CHECK(formatted("{}{}", std::string("x"), std::string_view("y")) == "xy");
  CHECK(formatted("{} {} {}", std::int8_t{-3}, std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::uint64_t>::max()) == "-3 -9223372036854775808 18446744073709551615");
  CHECK(formatted("{}", std::string(100, 'x')) == std::string(80, 'x') + "… (100 bytes)");
}

TEST_CASE("formatted: quotes, limits, braces, and text that is complete") {
  CHECK(formatted("{:?}: no folder", "a\"\t") == "\"a\"\\t\": no folder");
  CHECK(formatted("{:.5}", "ééé") == "éé… (6 bytes)");
  CHECK(formatted("{:.400}", std::string(100, 'x')) == std::string(100, 'x'));
  CHECK(formatted("run(…, {{{{\"{}\", tensor}}}})", "x") == "run(…, {{\"x\", tensor}})");
  CHECK(formatted("{}", as_is(std::string(100, '\n'))) == std::string(100, '\n'));
}

TEST_CASE("errors format their texts") {
  const Error error = Error(Code::usage, "there is no input '{}'", "a\nb").note("line {}", 7).hint("feed {:?}", "c\td");
  CHECK(error.text() == "there is no input 'a\\nb'\n  line 7\n  try: feed \"c\\td\"");
  CHECK(Error(Code::usage, "{}").text() == "{}");
}

}  // namespace
}  // namespace ferry
