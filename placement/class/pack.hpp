// pack: finds offsets for live ranges of memory.
#pragma once

#include <cstdint>
#include <span>

namespace ferry {

/// Memory that is in use from one point in time to another, both included.
struct LiveRange {
  std::uint32_t first = 0, last = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< found by pack()
};

/// Gives each range an offset so that ranges which are live at the same time do not overlap, and returns the bytes that
/// all ranges take together. Ranges are placed one after another, each into the smallest gap that fits it. The best of
/// these orders wins:
/// - largest first, among equals the longest lived (as TensorFlow Lite's greedy-by-size planner: Pisarchyk and Lee,
///   "Efficient Memory Management for Deep Neural Net Inference", 2020);
/// - the same, but first the ranges that are live when the most bytes are live;
/// - if the result is not within 1/64 of max_live_bytes(), some rounds in which the ranges that were at the end of
/// memory
///   come first; then such rounds again, beginning with the ranges that end last.
/// Takes quadratic time. Deterministic, thread-safe.
[[nodiscard]] std::uint64_t pack(std::span<LiveRange> ranges);

/// The most bytes that are live at one time. No packing takes fewer bytes.
[[nodiscard]] std::uint64_t max_live_bytes(std::span<const LiveRange> ranges);

}  // namespace ferry
