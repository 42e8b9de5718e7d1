#include "base/system/system_file.hpp"

#include <exception>
#include <fstream>
#include <iterator>

namespace ferry {

std::string system_text(const char* path) try {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
} catch (const std::exception&) {  // a file that opens may still refuse to be read
  return {};
}

}  // namespace ferry
