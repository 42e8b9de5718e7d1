// The long form of a test in session_test.cpp: random_graphs FIRST COUNT [sim] compares the random graphs of COUNT
// seeds, from FIRST on, with one task; with `sim`, on simulated devices. Prints each seed that fails.
#include <cstdint>

#include "tests/executor/one_task.hpp"
#include "tests/executor/seeds.hpp"

int main(int argc, char** argv) {
  return ferry::test::try_seeds(argc, argv, "random graphs equal one task", [](std::uint64_t seed, bool simulated) {
    return ferry::test::differs_from_one_task(seed, (simulated ? 1 : 2) + static_cast<int>(seed % 4), simulated);
  });
}
