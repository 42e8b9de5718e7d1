// pack: places for live ranges of memory.
#pragma once

#include <cstdint>
#include <span>

namespace ferry {

/// Memory that is taken from one point in time to another, both included.
struct LiveRange {
  std::uint32_t first = 0, last = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< found by pack()
};

/// Gives each range an offset, ranges that live together apart from each other, and returns the bytes that all take.
/// The largest first, of these the longest lived, each into the smallest gap between those placed already that it fits
/// into (as TensorFlow Lite's greedy-by-size planner: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural
/// Net Inference", 2020); or in the same way first those that live when most bytes do, where that takes less. When
/// neither is within 1/64 of most_alive(), those at the end are placed first and the others again, some rounds; then in
/// the same way from those on that live the latest. The best is taken. Takes quadratic time. Deterministic,
/// thread-safe.
[[nodiscard]] std::uint64_t pack(std::span<LiveRange> ranges);

/// The most bytes that live at one time: no packing takes less.
[[nodiscard]] std::uint64_t most_alive(std::span<const LiveRange> ranges);

}  // namespace ferry
