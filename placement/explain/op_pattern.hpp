// Patterns for names of ops and values, as `ferry explain` takes them.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

/// Whether `pattern` stands for the op or value `name`: it is the name, the name of the op that has the value
/// ("c" for "c:1"), or a shell pattern with '*' or '?', which also match '/', for the name ("layer1/*").
[[nodiscard]] bool matches(std::string_view name, const std::string& pattern);

}  // namespace ferry
