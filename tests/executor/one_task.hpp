// Compares random graphs on several tasks with the same graphs on one.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::test {

/// Runs the random graph of that seed for two steps op by op, without a plan, on one task, and on `tasks` tasks of this
/// process. Every other seed joins elementwise ops into tile regions. With `simulated` it runs on simulated devices;
/// every third seed lets them work by themselves, with messages in chunks by way of hosts. Gives "" when all fetches
/// have the same bits and every task's traffic is what its plan predicted, else what differs.
[[nodiscard]] std::string differs_from_one_task(std::uint64_t seed, int tasks, bool simulated = false);

}  // namespace ferry::test
