#include "runner/run/invariant_cost.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "comm/backends.hpp"
#include "plan/traffic/class_traffic.hpp"

namespace ferry {
namespace {

constexpr std::uint32_t kStep = 1;  ///< the region of the step in every class

/// The bytes of the process that needs the most memory.
std::uint64_t memory_of(const Plan& plan, int tasks) {
  const int shards = plan.topology.size();
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(tasks), 0);
  for (int shard = 0; shard < shards; ++shard)
    for (const PlanDevice& device : plan.class_for(shard).devices)
      bytes[process_of_task(shard, shards, tasks)] += device.step_bytes + device.state_bytes;
  return *std::max_element(bytes.begin(), bytes.end());
}

std::string messages_of(const Plan& plan) {
  Traffic all;
  ClassTraffic traffic(plan);
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) all += traffic.of(c, kStep);
  return std::to_string(all.sent_messages) + " of " + human_bytes(static_cast<std::uint64_t>(all.sent_bytes));
}

}  // namespace

std::string invariant_cost(const Plan& plan, int tasks, const Plan* without) {
  const int shards = plan.topology.size();
  const int least = shards / tasks, most = (shards + tasks - 1) / tasks;
  std::string shares = std::to_string(least);
  if (most > least) shares += " or " + std::to_string(most);
  std::string memory = human_bytes(memory_of(plan, tasks)), messages = messages_of(plan);
  if (without != nullptr) {
    memory += ", without " + human_bytes(memory_of(*without, tasks));
    messages += ", without " + messages_of(*without);
  }
  return "--invariant=" + std::to_string(shards) + ": shards of a task: " + shares +
         "; memory of a task by the plan: " + memory + "; messages of a step: " + messages;
}

}  // namespace ferry
