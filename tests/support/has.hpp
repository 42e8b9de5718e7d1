// Looks for a text in another.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace ferry::test {

/// Whether `part` is in `text`, which is shown if it is not.
inline bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("not in: ", text);
  return found;
}

}  // namespace ferry::test
