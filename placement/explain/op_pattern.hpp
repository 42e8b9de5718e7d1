// Patterns for names of ops and values, for `ferry explain`.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

/// Whether `pattern` matches the op or value `name`: the pattern is this name, the name of the op that makes the value
/// ("c" for "c:1"), or a shell pattern for the name ("layer1/*"). '*' and '?' also match '/'.
[[nodiscard]] bool matches(std::string_view name, const std::string& pattern);

}  // namespace ferry
