// Parses and checks numbers of data files and command lines. All functions are pure and thread-safe, and do not depend
// on the locale.
#pragma once

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The fault of a text that should be a number of some type.
enum class NumberFault { none, no_number, not_whole, out_of_range };

/// Parses the whole text, such as "-2", "+1.5e-3", "inf" or "nan", as the nearest number of its type. A number too
/// small for the type becomes a subnormal number or 0, as with strtod. A number too large for the type is out of range.
/// `number` is set only if there is no fault.
[[nodiscard]] NumberFault parse_real(std::string_view text, float& number);
[[nodiscard]] NumberFault parse_real(std::string_view text, double& number);

/// Parses a whole number, such as "-2", "1e3" or "4.0", without rounding. `size` is its absolute value.
[[nodiscard]] NumberFault parse_whole(std::string_view text, std::uint64_t& size, bool& negative);

/// Parses an integer of type T as parse_whole(); bool: 0 or 1.
template <std::integral T>
[[nodiscard]] NumberFault parse_integer(std::string_view text, T& number) {
  std::uint64_t size = 0;
  bool negative = false;
  if (const NumberFault fault = parse_whole(text, size, negative); fault != NumberFault::none) return fault;
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (size > (negative ? (std::is_signed_v<T> ? most + 1 : 0) : most)) return NumberFault::out_of_range;
  number = static_cast<T>(negative ? 0 - size : size);
  return NumberFault::none;
}

/// The Error(usage) "--steps x: not a whole number from 1 to 9".
[[nodiscard]] Error not_a_number(std::string_view option, std::string_view text, std::string_view kind,
                                 const std::string& least, const std::string& most);

/// Parses a whole number in decimal digits, from `least` to `most`. Error(usage), which names `option`, for any other
/// text. T: an integer type.
template <class T>
[[nodiscard]] T whole_number(std::string_view option, std::string_view text, T least, T most) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return number;
  throw not_a_number(option, text, "a whole number", std::to_string(least), std::to_string(most));
}

/// Error(usage) "tasks: -1 is not from 0 to 9", which begins with `name`.
[[nodiscard]] Error out_of_range(std::string_view name, const std::string& value, const std::string& least,
                                 const std::string& most);

/// Throws out_of_range() unless the value of the field `name` is from `least` to `most`. A NaN is out of range.
template <class T>
void require_range(std::string_view name, T value, T least, T most) {
  if (value >= least && value <= most) return;
  const auto text = [](T number) {
    if constexpr (std::is_floating_point_v<T>)
      return digits_text(number, 6);
    else
      return std::to_string(number);
  };
  throw out_of_range(name, text(value), text(least), text(most));
}

/// The limits for times and numbers of bytes in options.
inline constexpr std::chrono::milliseconds kShortestTime{1}, kLongestTime{std::chrono::seconds(1'000'000'000)};
inline constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
/// Calls require_range() for a time in seconds, with the limits kShortestTime and kLongestTime.
void require_time(std::string_view name, std::chrono::milliseconds time);

/// Parses a time in seconds, such as "60", "0.5" or "1e3", from 0.001 to 10⁹. Errors as whole_number().
[[nodiscard]] std::chrono::milliseconds time_span(std::string_view option, std::string_view text);

/// Parses a number of bytes from 1 to 2⁶³ − 1, such as "4096", "2GB", "1 GiB" or "512k". Units are powers of 1024, in
/// letters of either case. Errors as whole_number().
[[nodiscard]] std::uint64_t byte_count(std::string_view option, std::string_view text);

}  // namespace ferry
#pragma GCC visibility pop
