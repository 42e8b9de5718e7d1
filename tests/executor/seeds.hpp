// The main function of programs that try random seeds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ferry::test {

/// The program NAME FIRST COUNT [sim]: calls difference(seed, whether it is on simulated devices) for COUNT seeds from
/// FIRST on, and prints each seed for which that says something or throws an Error. `right` says what the others are.
template <class Difference>
int try_seeds(int argc, char** argv, const char* right, const Difference& difference) {
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const bool simulated = argc > 3 && std::string_view(argv[3]) == "sim";
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::string wrong;
    try {
      wrong = difference(seed, simulated);
    } catch (const Error& error) {
      wrong = error.text();
    }
    if (wrong.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
  }
  std::printf("%llu of %llu %s\n", static_cast<unsigned long long>(count - failed),
              static_cast<unsigned long long>(count), right);
  return failed == 0 ? 0 : 1;
}

}  // namespace ferry::test
