// Damages a good file in every small way. A reader must accept a file or throw an Error of Code::file; any other
// exception, or a signal, fails the test.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/error.hpp"

namespace ferry::test {

using Reader = std::function<void(const std::string& file)>;

/// 1 when the file is accepted, 0 when it is refused with Code::file.
inline int taken(const std::string& file, const Reader& read) {
  try {
    read(file);
    return 1;
  } catch (const Error& error) {
    if (error.code() != Code::file) throw;
    return 0;
  }
}

/// Cuts the file to each smaller size; returns how many of the cut files are accepted.
inline int cut_everywhere(const std::string& good, const Reader& read) {
  int count = 0;
  for (std::size_t size = 0; size < good.size(); ++size) count += taken(good.substr(0, size), read);
  return count;
}

/// Flips each bit alone; returns how many of the damaged files are accepted.
inline int flip_everywhere(const std::string& good, const Reader& read) {
  int count = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    count += taken(bad, read);
  }
  return count;
}

}  // namespace ferry::test
