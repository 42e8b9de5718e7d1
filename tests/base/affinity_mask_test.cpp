#include "base/system/limits.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

using namespace ferry;

TEST_CASE("the mask is that of the calling thread, in order, and can be that of the process again") {
  const auto mine = affinity_mask();
  REQUIRE(!mine.empty());
  CHECK(std::is_sorted(mine.begin(), mine.end()));
  std::vector<int> bound, unpinned;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(mine.front()), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    bound = affinity_mask();
    unpin_thread();
    unpinned = affinity_mask();
  }).join();
  CHECK(bound == std::vector{mine.front()});
  CHECK(unpinned == mine);
  CHECK(affinity_mask() == mine);
}
