// What JSON in a file must be before a parser sees it.
#pragma once

#include <string_view>

namespace ferry {

/// `text` for nlohmann's parser, which takes NUL for the end, so that what follows goes unseen: "", which is no JSON,
/// where there is one.
[[nodiscard]] constexpr std::string_view json_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos ? text : std::string_view();
}

}  // namespace ferry
