#include "base/numbers.hpp"

#include <cmath>
#include <limits>

#include "base/ascii.hpp"

namespace ferry {
namespace {

/// The power of 1024 that a unit stands for; -1: it is no unit.
int power_of(std::string_view unit) {
  if (unit.empty()) return 0;
  const std::string lower = lower_case(unit);
  if (lower == "b") return 0;
  const std::size_t power = std::string_view("kmgtp").find(lower.front());
  const std::string rest = lower.substr(1);
  const bool known = power != std::string_view::npos && (rest.empty() || rest == "b" || rest == "ib");
  return known ? static_cast<int>(power) + 1 : -1;
}

}  // namespace

Error not_a_number(std::string_view option, std::string_view text, std::string_view kind, const std::string& least,
                   const std::string& most) {
  std::string what = std::string(option) + (text.empty() ? ": empty, not " : " " + escaped(text) + ": not ");
  return Error(Code::usage, what.append(kind).append(" from ").append(least).append(" to ").append(most));
}

std::chrono::milliseconds time_span(std::string_view option, std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size() && seconds >= 0.001 && seconds <= 1e9)
    return std::chrono::milliseconds(std::llround(seconds * 1000));
  throw not_a_number(option, text, "a number of seconds", "0.001", "1000000000");
}

std::uint64_t byte_count(std::string_view option, std::string_view text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const int power = power_of(trimmed(text.substr(static_cast<std::size_t>(end - text.data()))));
  const bool read = error == std::errc() && power >= 0 && number >= 1;
  if (!read || number > (kMost >> (10 * power)))
    throw Error(Code::usage, std::string(option) + " " + escaped(text) + ": not a number of bytes from 1 to 8191 PiB")
        .hint(std::string(option) + " 2GB");
  return number << (10 * power);
}

}  // namespace ferry
