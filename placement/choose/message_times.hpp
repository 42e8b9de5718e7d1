// The planned times of messages, for choosing layouts.
#pragma once

#include <cstdint>

#include "base/planned_time.hpp"
#include "placement/layout/conversion.hpp"
#include "plan/schedule/schedule.hpp"
#include "plan/topology/topology.hpp"

namespace ferry {

/// The time in picoseconds that a task waits for another task's message, in addition to the link's latency, because the
/// two tasks are rarely ready at the same time. It is used if there is no calibrated ComputeCosts::wait. On two tasks
/// of one host, the samples' steps fit 4 to 5 µs (bench/NOTEBOOK.md).
constexpr std::int64_t kWaitPicoseconds = 4'000'000;

/// The number of messages that follow one another in a collective: its depth as a tree.
[[nodiscard]] std::int64_t rounds_of(CollectiveKind kind, std::int64_t members);

/// The time in picoseconds in which a task sends or receives `bytes` bytes in `rounds` rounds, with one wait.
[[nodiscard]] std::int64_t message_picoseconds(const Topology& topology, const LinkCost& link, std::int64_t bytes,
                                               std::int64_t rounds);

/// The time of an all-reduce in picoseconds.
struct SumTime {
  std::int64_t waiting = 0;  ///< one wait, and the latencies of the rounds
  std::int64_t moving = 0;   ///< moving the bytes that a task sends
  [[nodiscard]] std::int64_t all() const { return add_times(waiting, moving); }
};

/// The time of an all-reduce of a value of `bytes` bytes: first over the tasks of each host, then between the hosts.
[[nodiscard]] SumTime sum_picoseconds(const Topology& topology, const SumMembers& members, std::int64_t bytes);

/// The time of a broadcast or reduce of a value of `bytes` bytes in picoseconds: a tree over the tasks of each host, on
/// the link `on_host`, and a tree over the hosts.
[[nodiscard]] std::int64_t tree_picoseconds(const Topology& topology, const LinkCost& on_host,
                                            const LinkCost& between_hosts, const SumMembers& members,
                                            std::int64_t bytes);

}  // namespace ferry
