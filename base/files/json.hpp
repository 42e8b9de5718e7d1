// The check of JSON in a file before a parser sees it.
#pragma once

#include <string_view>

namespace ferry {

/// `text` for nlohmann's parser, which would take a NUL for the end and not see what follows: "", which is no JSON, if
/// there is a NUL.
[[nodiscard]] constexpr std::string_view json_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos ? text : std::string_view();
}

}  // namespace ferry
