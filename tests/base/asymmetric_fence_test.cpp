#include "base/system/event_count.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace ferry {
namespace {

TEST_CASE("of two threads that write and then look, one sees the other") {
  constexpr int kRounds = 20'000;
  const AsymmetricFence fence;
  std::atomic<int> left{0}, right{0}, seen_left{0}, seen_right{0};
  std::atomic<int> at_work{0};
  int missed = 0;
  const auto meet = [&](int number) {
    at_work.fetch_add(1);
    while (at_work.load() < number) spin_pause();
  };
  std::thread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      meet(4 * round - 2);
      right.store(round, std::memory_order_relaxed);
      fence.light();
      seen_left.store(left.load(std::memory_order_relaxed));
      meet(4 * round);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    meet(4 * round - 2);
    left.store(round, std::memory_order_relaxed);
    fence.heavy();
    seen_right.store(right.load(std::memory_order_relaxed));
    meet(4 * round);
    missed += seen_left.load() != round && seen_right.load() != round ? 1 : 0;
  }
  other.join();
  CHECK(missed == 0);
}

}  // namespace
}  // namespace ferry
