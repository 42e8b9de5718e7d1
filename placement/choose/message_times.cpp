#include "placement/choose/message_times.hpp"

#include <bit>
#include <utility>

namespace ferry {
namespace {

/// The time in picoseconds that a task loses when it waits for a message: as measured, else kWaitPicoseconds.
std::int64_t wait_picoseconds(const Topology& topology) {
  const std::int64_t measured = rounded_time(topology.compute.wait);
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
  return add_times(wait_picoseconds(topology) + repeat_time(latency_picoseconds(link), rounds),
                   moving_picoseconds(link, bytes));
}

SumTime sum_picoseconds(const Topology& topology, const SumMembers& members, std::int64_t bytes) {
  if (bytes == 0 || members.on_host * members.hosts == 1) return {};
  SumTime time{wait_picoseconds(topology), 0};
  for (const auto& [count, link] :
       {std::pair{members.on_host, topology.sums(true)}, std::pair{members.hosts, topology.sums(false)}}) {
    time.waiting += repeat_time(latency_picoseconds(link), rounds_of(CollectiveKind::all_reduce, count));
    time.moving = add_times(time.moving, moving_picoseconds(link, sum_bytes(bytes, count)));
  }
  return time;
}

std::int64_t tree_picoseconds(const Topology& topology, const LinkCost& on_host, const LinkCost& between_hosts,
                              const SumMembers& members, std::int64_t bytes) {
  if (bytes == 0 || members.on_host * members.hosts == 1) return 0;
  std::int64_t time = wait_picoseconds(topology);
  for (const auto& [count, link] : {std::pair{members.on_host, on_host}, std::pair{members.hosts, between_hosts}})
    if (count > 1)
      time = add_times(time + repeat_time(latency_picoseconds(link), rounds_of(CollectiveKind::broadcast, count)),
                       moving_picoseconds(link, bytes));
  return time;
}

}  // namespace ferry
