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

}  // namespace ferry
