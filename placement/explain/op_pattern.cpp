#include "placement/explain/op_pattern.hpp"

#include <fnmatch.h>

namespace ferry {

bool matches(std::string_view name, const std::string& pattern) {
  if (name.starts_with(pattern) && (name.size() == pattern.size() || name[pattern.size()] == ':')) return true;
  return pattern.find_first_of("*?") != std::string::npos &&
         ::fnmatch(pattern.c_str(), std::string(name).c_str(), FNM_NOESCAPE) == 0;
}

}  // namespace ferry
