// Ends of a job as threads of this process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/transport.hpp"

namespace ferry::test {

/// Runs `body` on `end`. When it throws, the job ends with that.
void run_end(Transport& end, const std::function<void(Transport&)>& body);
/// Runs `body` for each task in a thread of its own. Throws what the first of them threw.
void run_tasks(int tasks, const std::function<void(int task)>& body);
/// Runs `body` on each end, in a thread of its own. One that throws ends its job. Throws what the first of them threw.
void run_ends(const std::vector<std::unique_ptr<Transport>>& ends, const std::function<void(Transport&)>& body);

}  // namespace ferry::test
