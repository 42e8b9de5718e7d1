// Skipping a test case at run time, visibly: ./check counts and prints each.
#pragma once

#include <doctest/doctest.h>

#include <iostream>
#include <string_view>

namespace ferry::test {

/// Prints "[skip] <test case>: <reason>", the line that scripts/tally.py counts.
inline void report_skip(std::string_view reason) {
  const auto* test = doctest::getContextOptions()->currentTest;
  std::cout << "[skip] " << (test == nullptr ? "?" : test->m_name) << ": " << reason << std::endl;
}

}  // namespace ferry::test

/// Ends the test case as skipped. Use it only where something that the machine may lack is missing.
#define FERRY_SKIP(reason)              \
  do {                                  \
    ::ferry::test::report_skip(reason); \
    return;                             \
  } while (false)
