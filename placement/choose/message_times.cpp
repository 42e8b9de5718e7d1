#include "placement/choose/message_times.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace ferry {
namespace {

/// The time in picoseconds that a task loses when it waits for a message: as measured, else kWaitPicoseconds.
std::int64_t wait_picoseconds(const Topology& topology) {
  const std::int64_t measured = std::llround(topology.compute.wait);
  return measured > 0 ? measured : kWaitPicoseconds;
}

}  // namespace

std::int64_t rounds_of(CollectiveKind kind, std::int64_t members) {
  const auto depth = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(members - 1)));
  return kind == CollectiveKind::all_reduce && members > 2 ? 2 * depth : depth;
}

std::int64_t message_picoseconds(const Topology& topology, const LinkCost& link, std::int64_t bytes,
                                 std::int64_t rounds) {
  if (bytes == 0) return 0;
  return wait_picoseconds(topology) + rounds * latency_picoseconds(link) + moving_picoseconds(link, bytes);
}

SumTime sum_picoseconds(const Topology& topology, const SumMembers& members, std::int64_t bytes) {
  if (bytes == 0 || members.on_host * members.hosts == 1) return {};
  SumTime time{wait_picoseconds(topology), 0};
  for (const auto& [count, link] :
       {std::pair{members.on_host, topology.sums(true)}, std::pair{members.hosts, topology.sums(false)}}) {
    time.waiting += rounds_of(CollectiveKind::all_reduce, count) * latency_picoseconds(link);
    time.moving += moving_picoseconds(link, sum_bytes(bytes, count));
  }
  return time;
}

}  // namespace ferry
