// Escapes text for XML, for the pictures that ferry writes.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

/// Returns the text as the content of an element.
[[nodiscard]] inline std::string in_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else
      result += c;
  }
  return result;
}

}  // namespace ferry
