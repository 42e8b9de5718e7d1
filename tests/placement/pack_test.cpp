#include "placement/class/pack.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ferry {
namespace {

void check_apart(const std::vector<LiveRange>& ranges, std::uint64_t bytes) {
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    CHECK(ranges[a].offset + ranges[a].bytes <= bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = ranges[a].first <= ranges[b].last && ranges[b].first <= ranges[a].last;
      const bool apart = ranges[a].offset + ranges[a].bytes <= ranges[b].offset ||
                         ranges[b].offset + ranges[b].bytes <= ranges[a].offset;
      CHECK((!together || apart));
    }
  }
}

TEST_CASE("ranges that live after each other share their bytes, also where one ends as the other begins they do not") {
  std::vector<LiveRange> ranges = {{0, 1, 64}, {2, 3, 128}, {3, 4, 64}};
  CHECK(max_live_bytes(ranges) == 192);
  CHECK(pack(ranges) == 192);
  check_apart(ranges, 192);
}

TEST_CASE("small ranges that come first do not keep large ones from their gaps") {
  // In order of first touch the fourth would find two gaps of 64 bytes, and none of 128.
  std::vector<LiveRange> ranges = {{0, 1, 64}, {0, 4, 64}, {0, 1, 64}, {2, 4, 128}};
  CHECK(pack(ranges) == 192);
  check_apart(ranges, 192);
}

TEST_CASE("what lives at the peak goes first where that takes less, of a training step of two layers") {
  std::vector<LiveRange> ranges = {{5, 23, 3072},  {6, 22, 5120},  {8, 10, 3072}, {9, 10, 1536},
                                   {9, 19, 3072},  {12, 13, 3072}, {13, 28, 64},  {14, 17, 64},
                                   {17, 21, 3072}, {20, 23, 5120}, {21, 27, 960}, {23, 25, 960}};
  CHECK(max_live_bytes(ranges) == 17408);
  CHECK(pack(ranges) == 17408);
  check_apart(ranges, 17408);
}

TEST_CASE("what lay at the end goes first where that takes less, of a network's first block") {
  // The second range is alive together with the first, and later with the fifth: its place must suit both.
  std::vector<LiveRange> ranges = {{0, 2, 1024}, {2, 5, 256}, {3, 4, 256}, {4, 6, 256},  {5, 6, 1024},
                                   {6, 9, 1024}, {7, 8, 256}, {8, 9, 256}, {9, 12, 1024}};
  CHECK(max_live_bytes(ranges) == 2304);
  CHECK(pack(ranges) == 2304);
  check_apart(ranges, 2304);
}

TEST_CASE("what lives the latest goes first where that takes less, of an optimizer's update") {
  // Placed by size, the second would lie behind the fifth, and the gap between it and the first would be too small for
  // the fourth.
  std::vector<LiveRange> ranges = {{0, 6, 3136}, {1, 9, 1344}, {5, 8, 8064}, {6, 6, 1024}, {7, 7, 4032}};
  CHECK(max_live_bytes(ranges) == 13568);
  CHECK(pack(ranges) == 13568);
  check_apart(ranges, 13568);
}

TEST_CASE("random ranges lie apart, and take little more than what lives at once") {
  std::uint64_t state = 1;
  const auto below = [&](std::uint32_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 33) % n;
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<LiveRange> ranges;
    for (std::uint32_t i = 0; i < 60; ++i)
      ranges.push_back({i, i + below(round % 2 == 0 ? 8 : 40), 64 * (1 + std::uint64_t{below(100)})});
    const std::uint64_t bytes = pack(ranges);
    check_apart(ranges, bytes);
    CHECK(bytes >= max_live_bytes(ranges));
    CHECK(bytes <= max_live_bytes(ranges) * 4 / 3);
  }
}

TEST_CASE("nothing takes nothing") {
  CHECK(pack({}) == 0);
  CHECK(max_live_bytes({}) == 0);
}

}  // namespace
}  // namespace ferry
