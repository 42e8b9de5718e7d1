#include "base/number_text.hpp"

#include <array>
#include <charconv>

#include "base/error.hpp"

namespace ferry {
namespace {

/// Characters of the longest text. The largest double has 309 digits before the point.
constexpr std::size_t kMostText = 400;

std::string number_text(double value, std::chars_format format, int precision) {
  std::array<char, kMostText> text;
  const auto [end, error] = std::to_chars(text.begin(), text.end(), value, format, precision);
  FERRY_ASSERT(error == std::errc(), "a number has at most 400 characters");
  return {text.begin(), end};
}

}  // namespace

std::string digits_text(double value, int digits) {
  return number_text(value, std::chars_format::general, digits);
}

std::string decimals_text(double value, int decimals) {
  return number_text(value, std::chars_format::fixed, decimals);
}

std::string milliseconds_text(double seconds) {
  return decimals_text(seconds * 1e3, 3) + " ms";
}

std::string right_aligned(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

}  // namespace ferry
