#include "placement/choose/message_times.hpp"

#include <bit>
#include <cmath>

namespace ferry {

std::int64_t rounds_of(CollectiveKind kind, std::int64_t members) {
  const auto depth = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(members - 1)));
  return kind == CollectiveKind::all_reduce && members > 2 ? 2 * depth : depth;
}

std::int64_t moving_picoseconds(const LinkCost& link, std::int64_t bytes) {
  return bytes * std::llround(1e12 / link.bytes_per_second);
}

std::int64_t message_picoseconds(const Topology& topology, const LinkCost& link, std::int64_t bytes,
                                 std::int64_t rounds) {
  if (bytes == 0) return 0;
  const std::int64_t measured = std::llround(topology.compute.wait);
  return (measured > 0 ? measured : kWaitPicoseconds) + rounds * std::llround(link.latency_seconds * 1e12) +
         moving_picoseconds(link, bytes);
}

}  // namespace ferry
