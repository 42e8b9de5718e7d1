// Numbers as people write them on a command line: each is checked here, and nowhere else. All functions are pure and
// thread-safe.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {

/// The Error(usage) "--steps x: not a whole number from 1 to 9".
[[nodiscard]] Error not_a_number(std::string_view option, std::string_view text, std::string_view kind,
                                 const std::string& least, const std::string& most);

/// The whole number that `text` is in decimal digits, from `least` to `most`; else Error(usage), which names `option`.
/// T: an integer.
template <class T>
[[nodiscard]] T whole_number(std::string_view option, std::string_view text, T least, T most) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return number;
  throw not_a_number(option, text, "a whole number", std::to_string(least), std::to_string(most));
}

/// The time that `text` gives in seconds, such as "60", "0.5" or "1e3"; from a thousandth to 31 years.
[[nodiscard]] std::chrono::milliseconds time_span(std::string_view option, std::string_view text);

/// The number of bytes that `text` gives, such as "4096", "2GB", "1 GiB" or "512k"; units are powers of 1024, in
/// letters of either case; from 1 to 2⁶³ − 1.
[[nodiscard]] std::uint64_t byte_count(std::string_view option, std::string_view text);

}  // namespace ferry
