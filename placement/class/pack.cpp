#include "placement/class/pack.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace ferry {
namespace {

/// The start of the smallest gap of at least `bytes` between the ranges `taken`, which are sorted by offset; if there
/// is none, the end of all ranges.
std::uint64_t gap_for(std::uint64_t bytes, const std::vector<const LiveRange*>& taken) {
  std::uint64_t end = 0, best = UINT64_MAX, smallest = UINT64_MAX;
  for (const LiveRange* range : taken) {
    if (range->offset >= end + bytes && range->offset - end < smallest) {
      smallest = range->offset - end;
      best = end;
    }
    end = std::max(end, range->offset + range->bytes);
  }
  return best == UINT64_MAX ? end : best;
}

/// Places the ranges one after another in this order, and returns the bytes that all of them take together.
std::uint64_t place_in_order(const std::vector<std::uint32_t>& order, std::span<LiveRange> ranges) {
  std::uint64_t all = 0;
  std::vector<const LiveRange*> placed, taken;  // both by offset
  for (const std::uint32_t i : order) {
    LiveRange& range = ranges[i];
    taken.clear();
    std::ranges::copy_if(placed, std::back_inserter(taken), [&](const LiveRange* other) {
      return other->first <= range.last && range.first <= other->last;
    });
    range.offset = gap_for(range.bytes, taken);
    all = std::max(all, range.offset + range.bytes);
    placed.insert(std::ranges::upper_bound(placed, range.offset, {}, &LiveRange::offset), &range);
  }
  return all;
}

struct Peak {
  std::uint32_t time = 0;
  std::uint64_t bytes = 0;
};

Peak peak_of(std::span<const LiveRange> ranges) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> changes;  // (2 time, bytes): at equal times, begins before ends
  for (const LiveRange& range : ranges) {
    changes.emplace_back(2 * std::uint64_t{range.first}, static_cast<std::int64_t>(range.bytes));
    changes.emplace_back(2 * std::uint64_t{range.last} + 1, -static_cast<std::int64_t>(range.bytes));
  }
  std::ranges::sort(changes);
  std::int64_t alive = 0;
  Peak peak;
  for (const auto& [time, bytes] : changes) {
    alive += bytes;
    if (alive > static_cast<std::int64_t>(peak.bytes))
      peak = {static_cast<std::uint32_t>(time / 2), static_cast<std::uint64_t>(alive)};
  }
  return peak;
}

constexpr std::uint64_t kLoose = 64;
constexpr std::size_t kMostRounds = 16, kMostWork = std::size_t{1} << 25;

/// Keeps the best packing of several orders.
class Packing {
 public:
  explicit Packing(std::span<LiveRange> ranges) : ranges_(ranges), now_(ranges.begin(), ranges.end()), best_(now_) {}

  void attempt(const std::vector<std::uint32_t>& order) {
    const std::uint64_t bytes = place_in_order(order, now_);
    if (bytes >= bytes_) return;
    bytes_ = bytes;
    best_ = now_;
  }

  /// In each round, first places the ranges that were at the end of memory. Stops when all ranges together take at most
  /// `enough` bytes, or after a limited number of rounds.
  void improve(std::vector<std::uint32_t>& order, std::uint64_t enough) {
    const std::size_t n = ranges_.size();
    const std::size_t rounds = std::min(kMostRounds, kMostWork / std::max<std::size_t>(1, n * n));
    for (std::size_t round = 0; round < rounds && bytes_ > enough; ++round) {
      const std::uint64_t end = end_of(now_);
      std::stable_partition(order.begin(), order.end(),
                            [&](std::uint32_t i) { return now_[i].offset + now_[i].bytes == end; });
      attempt(order);
    }
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  std::uint64_t keep() {
    std::ranges::copy(best_, ranges_.begin());
    return bytes_;
  }

 private:
  static std::uint64_t end_of(const std::vector<LiveRange>& ranges) {
    std::uint64_t end = 0;
    for (const LiveRange& range : ranges) end = std::max(end, range.offset + range.bytes);
    return end;
  }

  std::span<LiveRange> ranges_;
  std::vector<LiveRange> now_, best_;
  std::uint64_t bytes_ = UINT64_MAX;
};

}  // namespace

std::uint64_t pack(std::span<LiveRange> ranges) {
  Packing packing(ranges);
  std::vector<std::uint32_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t i) {
    return std::pair(ranges[i].bytes, ranges[i].last - ranges[i].first);
  });
  packing.attempt(order);
  const Peak peak = peak_of(ranges);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::uint32_t i) { return ranges[i].first <= peak.time && peak.time <= ranges[i].last; });
  packing.attempt(order);
  const std::uint64_t enough = peak.bytes + peak.bytes / kLoose;
  packing.improve(order, enough);
  if (packing.bytes() > enough) {
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::uint32_t i) { return std::pair(ranges[i].last, ranges[i].bytes); });
    packing.attempt(order);
    packing.improve(order, enough);
  }
  return packing.keep();
}

std::uint64_t max_live_bytes(std::span<const LiveRange> ranges) {
  return peak_of(ranges).bytes;
}

}  // namespace ferry
