#include "base/system/system_file.hpp"

#include <fstream>
#include <iterator>

namespace ferry {

std::string system_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace ferry
