#include "base/error.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/throws.hpp"

namespace ferry {
namespace {

TEST_CASE("error: the text holds message, line, notes and hint in order") {
  const Error error = Error(Code::plan, "add: shapes differ: [2] and [3]")
                          .at(SourceLine("model.cpp", 12))
                          .note("inputs: a, b")
                          .hint("reshape one of them");
  CHECK(error.code() == Code::plan);
  CHECK(error.text() ==
        "add: shapes differ: [2] and [3]\n  at model.cpp:12\n  inputs: a, b\n  try: reshape one of them");
  CHECK(std::string(error.what()) == error.text());
}

TEST_CASE("error: an unknown line adds nothing") {
  CHECK(Error(Code::file, "graph: empty").at(SourceLine()).text() == "graph: empty");
}

TEST_CASE("error: a failed assertion is a bug and names the condition and its line") {
  const auto violate = [] { FERRY_ASSERT(1 + 1 == 3, "sums are wrong"); };
  CHECK_NOTHROW(FERRY_ASSERT(1 + 1 == 2, "sums are right"));
  const Error error = test::error_of(violate);
  CHECK(error.code() == Code::bug);
  CHECK(test::says(error, "violated: 1 + 1 == 3"));
  CHECK(test::says(error, "error_test.cpp:"));
}

}  // namespace
}  // namespace ferry
