#include "runner/run/tuning_text.hpp"

#include <doctest/doctest.h>

namespace ferry {

TEST_CASE("--tune tells the best size, then the others from the fastest on") {
  const Tuned tuned{{{std::nullopt, 0.0013}, {0, 0.00231}, {1 << 18, 0.00120449}, {1 << 20, 0.001304}}, 2};
  CHECK(tuning_text(tuned) ==
        "--tune: a step takes 1.204 ms with buckets of 256 KiB; 1.3 ms with buckets as the links suggest, "
        "1.304 ms with buckets of 1 MiB, 2.31 ms with each value alone");
}

TEST_CASE("--tune tells where there is nothing to tune") {
  CHECK(tuning_text({{{std::nullopt, 0}}, 0}) == "--tune: no values of the step can share messages");
}

TEST_CASE("--tune tells how many sizes it left out, over the budget") {
  CHECK(
      tuning_text({{{std::nullopt, 0.001}, {0, 0.002}}, 0, 1}) ==
      "--tune: a step takes 1 ms with buckets as the links suggest; 2 ms with each value alone; 1 size left out, over "
      "the budget or the memory");
  CHECK(tuning_text({{{std::nullopt, 0}}, 0, 7}) ==
        "--tune: of the sizes of messages only buckets as the links suggest fits the budget and the memory");
}

}  // namespace ferry
