// Makes a file's text safe for nlohmann's JSON parser.
#pragma once

#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// Returns `text`; if it contains a NUL, which the parser would take for the end of the text, "", which the parser
/// refuses.
[[nodiscard]] constexpr std::string_view json_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos ? text : std::string_view();
}

}  // namespace ferry
#pragma GCC visibility pop
