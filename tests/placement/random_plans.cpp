// Plans of random graphs: random_plans COUNT prints a line for each of COUNT seeds and 1 to 4 tasks, with the size and
// hash of the plan's file. Every compiler's build must print the same (same_plans.py).
#include <cstdio>
#include <cstdlib>

#include "base/hash.hpp"
#include "plan/file/plan_file.hpp"
#include "tests/support/plans.hpp"

int main(int, char** argv) {
  using namespace ferry;
  const std::uint64_t count = std::strtoull(argv[1], nullptr, 10);
  for (std::uint64_t seed = 0; seed < count; ++seed)
    for (int tasks = 1; tasks <= 4; ++tasks) {
      const test::RandomGraph made = test::random_graph(seed, 10 + static_cast<int>(seed * 7 % 200), tasks);
      const auto bytes =
          encode_plan(test::planned(*made.graph, made.fetches, tasks, made.targets, test::feeds_of(made)));
      std::printf("seed %llu on %d tasks: %zu bytes %016llx\n", static_cast<unsigned long long>(seed), tasks,
                  bytes.size(), static_cast<unsigned long long>(hash64(bytes, 0)));
    }
}
