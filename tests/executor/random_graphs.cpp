// The long form of a test in session_test.cpp: random_graphs FIRST COUNT [sim] compares the random graphs of COUNT
// seeds, from FIRST on, with one task; with `sim`, on simulated devices. Prints each seed that fails.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "tests/executor/one_task.hpp"

namespace {

std::string difference(std::uint64_t seed, bool simulated) {
  try {
    return ferry::test::differs_from_one_task(seed, (simulated ? 1 : 2) + static_cast<int>(seed % 4), simulated);
  } catch (const ferry::Error& error) {
    return error.text();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const bool simulated = argc > 3 && std::string_view(argv[3]) == "sim";
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string why = difference(seed, simulated);
    if (why.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), why.c_str());
  }
  std::printf("%llu of %llu random graphs equal one task\n", static_cast<unsigned long long>(count - failed),
              static_cast<unsigned long long>(count));
  return failed == 0 ? 0 : 1;
}
