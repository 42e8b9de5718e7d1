// The content of a file, for tests of what is written.
#pragma once

#include <string>

#include "base/files/files.hpp"

namespace ferry::test {

inline std::string text_in(const std::string& path) {
  const FileBytes bytes = local_files().read(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ferry::test
