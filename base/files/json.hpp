// What of a file's text nlohmann's parser may be given.
#pragma once

#include <string_view>

namespace ferry {

/// Returns `text`, or "", which the parser refuses, if it has a NUL: the parser would take that for the end of the
/// text.
[[nodiscard]] constexpr std::string_view json_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos ? text : std::string_view();
}

}  // namespace ferry
