// Makes a file's text safe for nlohmann's JSON parser.
#pragma once

#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// Returns `text`, or "" if `text` contains a NUL: the parser would take a NUL for the end of the text, but it rejects
/// "".
[[nodiscard]] constexpr std::string_view json_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos ? text : std::string_view();
}

}  // namespace ferry
#pragma GCC visibility pop
