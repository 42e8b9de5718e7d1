#include "base/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/ascii.hpp"
#include "base/format.hpp"

namespace ferry {
namespace {

/// The power of 1024 of a unit, such as 1 for "KB"; -1 for an unknown unit.
int power_of(std::string_view unit) {
  if (unit.empty()) return 0;
  const std::string lower = lower_case(unit);
  if (lower == "b") return 0;
  const std::size_t power = std::string_view("kmgtp").find(lower.front());
  const std::string rest = lower.substr(1);
  const bool known = power != std::string_view::npos && (rest.empty() || rest == "b" || rest == "ib");
  return known ? static_cast<int>(power) + 1 : -1;
}

/// A decimal number: 0.DIGITS times 10^exponent. The digits neither begin nor end with 0; zero has none.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

/// Parses an exponent such as "+12"; nothing for any other text. Clamps the exponent to ±2⁶⁰, so that adding the number
/// of digits of a text cannot overflow.
std::optional<std::int64_t> exponent_of(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.starts_with('-') ? -kMost : kMost;
  return std::clamp(exponent, -kMost, kMost);
}

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  if (end < text.size()) {
    const auto exponent = exponent_of(text.substr(end + 1));
    if (!exponent) return std::nullopt;
    decimal.exponent = *exponent;
  }
  bool any = false, behind_point = false;
  for (const char c : text.substr(0, end)) {
    if (c == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    any = true;
    const bool counts = c != '0' || !decimal.digits.empty();
    if (counts) decimal.digits += c;
    if (counts && !behind_point) ++decimal.exponent;
    if (!counts && behind_point) --decimal.exponent;
  }
  if (!any) return std::nullopt;
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  return decimal;
}

template <class T>
NumberFault parse_floating(std::string_view text, T& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return NumberFault::no_number;
  if (error == std::errc::result_out_of_range) {  // too large, or too small
    const auto decimal = decimal_of(text);
    if (!decimal || (!decimal->digits.empty() && decimal->exponent > 0)) return NumberFault::out_of_range;
    value = decimal->negative ? -T{0} : T{0};
  }
  number = value;
  return NumberFault::none;
}

}  // namespace

NumberFault parse_real(std::string_view text, float& number) {
  return parse_floating(text, number);
}

NumberFault parse_real(std::string_view text, double& number) {
  return parse_floating(text, number);
}

NumberFault parse_whole(std::string_view text, std::uint64_t& size, bool& negative) {
  constexpr std::int64_t kMostDigits = std::numeric_limits<std::uint64_t>::digits10 + 1;
  auto decimal = decimal_of(text);
  if (!decimal) {
    double number = 0;  // "inf" and "nan" are numbers, too
    return parse_real(text, number) == NumberFault::no_number ? NumberFault::no_number : NumberFault::not_whole;
  }
  negative = decimal->negative && !decimal->digits.empty();
  size = 0;
  if (decimal->digits.empty()) return NumberFault::none;
  if (std::ssize(decimal->digits) > decimal->exponent) return NumberFault::not_whole;
  if (decimal->exponent > kMostDigits) return NumberFault::out_of_range;
  decimal->digits.resize(static_cast<std::size_t>(decimal->exponent), '0');
  const char* const end = decimal->digits.data() + decimal->digits.size();
  return std::from_chars(decimal->digits.data(), end, size).ec == std::errc() ? NumberFault::none
                                                                              : NumberFault::out_of_range;
}

Error not_a_number(std::string_view option, std::string_view text, std::string_view kind, const std::string& least,
                   const std::string& most) {
  std::string what = std::string(option) + (text.empty() ? ": empty, not " : formatted(" {}: not ", text));
  return Error(Code::usage, what.append(kind).append(" from ").append(least).append(" to ").append(most));
}

Error out_of_range(std::string_view name, const std::string& value, const std::string& least, const std::string& most) {
  return {Code::usage, std::string(name) + ": " + value + " is not from " + least + " to " + most};
}

void require_time(std::string_view name, std::chrono::milliseconds time) {
  if (time >= kShortestTime && time <= kLongestTime) return;
  const auto text = [](std::chrono::duration<double> value) { return digits_text(value.count(), 10) + " s"; };
  throw out_of_range(name, text(time), text(kShortestTime), text(kLongestTime));
}

std::chrono::milliseconds time_span(std::string_view option, std::string_view text) {
  constexpr std::chrono::duration<double> kLeast = kShortestTime, kMost = kLongestTime;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size() && seconds >= kLeast.count() && seconds <= kMost.count())
    return std::chrono::milliseconds(std::llround(seconds * 1000));
  throw not_a_number(option, text, "a number of seconds", "0.001", "1000000000");
}

std::uint64_t byte_count(std::string_view option, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const int power = power_of(trimmed(text.substr(static_cast<std::size_t>(end - text.data()))));
  const bool read = error == std::errc() && power >= 0 && number >= 1;
  if (!read || number > (kMostBytes >> (10 * power)))
    throw Error(Code::usage, "{} {}: not a number of bytes from 1 to 8191 PiB", option, text)
        .hint(std::string(option) + " 2GB");
  return number << (10 * power);
}

}  // namespace ferry
