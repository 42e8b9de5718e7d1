// What a piece of code writes to stderr.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temp_folder.hpp"

namespace ferry::test {

/// What `run` writes to stderr.
template <class F>
std::string errors_of(const F& run) {
  const TempFolder folder;
  const std::string path = folder / "stderr";
  std::fflush(stderr);
  const int kept = ::dup(STDERR_FILENO);
  std::FILE* file = std::fopen(path.c_str(), "w");
  ::dup2(::fileno(file), STDERR_FILENO);
  run();
  std::fflush(stderr);
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  std::fclose(file);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace ferry::test
