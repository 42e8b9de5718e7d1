#include "base/error.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
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

TEST_CASE("error: what other code threw") {
  const auto of = [](auto thrown) { return as_error(std::make_exception_ptr(thrown), Code::program, "it"); };
  CHECK(of(Error(Code::file, "torn")).code() == Code::file);
  CHECK(of(std::bad_alloc()).code() == Code::resource);
  CHECK(of(std::runtime_error("enough")).code() == Code::program);
  CHECK(of(std::runtime_error("enough")).text() == "it threw: enough");
  CHECK(of(42).text() == "it threw: something that is no std::exception");
}

}  // namespace
}  // namespace ferry
