// Ends of a job as threads of this process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/transport.hpp"

namespace ferry::test {

/// Runs `body` on each end, in a thread of its own. One that throws ends its job. Throws what the first of them threw.
void run_ends(const std::vector<std::unique_ptr<Transport>>& ends, const std::function<void(Transport&)>& body);

}  // namespace ferry::test
