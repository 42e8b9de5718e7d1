#include "base/number_text.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <limits>

namespace ferry {
namespace {

using Limits = std::numeric_limits<double>;

std::string printed(const char* format, int precision, double value) {
  char text[512];
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

TEST_CASE("numbers are written as printf writes them in the locale C") {
  for (const double value : {0.0, -0.0, 0.125, 1.0 / 3, 2.5, 99999.5, 123456789.0, 1e20, 1e-5, -7e-300, Limits::max(),
                             Limits::lowest(), Limits::min(), Limits::denorm_min(), Limits::infinity(),
                             -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    for (const int digits : {1, 3, 4, 6, 10, 17}) CHECK(digits_text(value, digits) == printed("%.*g", digits, value));
    for (const int decimals : {0, 1, 3, 6}) CHECK(decimals_text(value, decimals) == printed("%.*f", decimals, value));
  }
}

TEST_CASE("text is aligned on the right, and never cut") {
  CHECK(right_aligned("1.5", 6) == "   1.5");
  CHECK(right_aligned("1234567", 6) == "1234567");
}

}  // namespace
}  // namespace ferry
