#include "base/error.hpp"

namespace ferry {

void assertion_failed(const char* condition, std::string_view message, source_location at) {
  throw Error(Code::bug, "a bug in ferry: " + std::string(message))
      .note(std::string("violated: ") + condition)
      .at(at)
      .hint("report this with the graph that caused it");
}

}  // namespace ferry
