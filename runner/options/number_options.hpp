// Options that take a number in a range. base/numbers.hpp rejects all other values.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <string>

#include "base/numbers.hpp"

namespace ferry {

inline constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;
inline constexpr std::int64_t kMostEpochs = 1'000'000;
inline constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max();

/// Makes `option` take whole numbers from `least` to `most`; Error(usage) for anything else.
template <class T>
CLI::Option* restrict_range(CLI::Option* option, T least, T most) {
  const auto check = [name = option->get_name(false, true), least, most](std::string& text) {
    text = std::to_string(whole_number(name, text, least, most));  // CLI11 would read 010 as octal
    return std::string();
  };
  return option->transform(CLI::Validator(check, ""))->type_name("N");
}

/// Makes `option` take a number of bytes, such as 2GB; Error(usage) for anything else.
inline CLI::Option* bytes_of(CLI::Option* option) {
  const auto check = [name = option->get_name()](std::string& text) {
    text = std::to_string(byte_count(name, text));
    return std::string();
  };
  return option->transform(CLI::Validator(check, ""))->type_name("BYTES");
}

}  // namespace ferry
