// Parses numbers of a command line; all checks of them are here. All functions are pure and thread-safe.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The Error(usage) "--steps x: not a whole number from 1 to 9".
[[nodiscard]] Error not_a_number(std::string_view option, std::string_view text, std::string_view kind,
                                 const std::string& least, const std::string& most);

/// The whole number, from `least` to `most`, that `text` is in decimal digits; Error(usage), which names `option`, for
/// any other text. T: an integer type.
template <class T>
[[nodiscard]] T whole_number(std::string_view option, std::string_view text, T least, T most) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return number;
  throw not_a_number(option, text, "a whole number", std::to_string(least), std::to_string(most));
}

/// The time that `text` gives in seconds, such as "60", "0.5" or "1e3"; from 0.001 to 10⁹. Errors as whole_number().
[[nodiscard]] std::chrono::milliseconds time_span(std::string_view option, std::string_view text);

/// The number of bytes that `text` gives, such as "4096", "2GB", "1 GiB" or "512k"; units are powers of 1024, in
/// letters of either case; from 1 to 2⁶³ − 1. Errors as whole_number().
[[nodiscard]] std::uint64_t byte_count(std::string_view option, std::string_view text);

}  // namespace ferry
#pragma GCC visibility pop
