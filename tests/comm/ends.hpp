// Runs the ends of a job (the transports of its tasks) in threads of this process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/transport.hpp"

namespace ferry::test {

/// Runs `body` on `end`. If it throws, ends the job with that error, and throws it on.
void run_end(Transport& end, const std::function<void(Transport&)>& body);
/// Runs `body` for each task in a thread of its own. If some throw, throws what the lowest of these tasks threw.
void run_tasks(int tasks, const std::function<void(int task)>& body);
/// Runs `body` on each end in a thread of its own, as run_end() does. Throws as run_tasks() does.
void run_ends(const std::vector<std::unique_ptr<Transport>>& ends, const std::function<void(Transport&)>& body);

}  // namespace ferry::test
