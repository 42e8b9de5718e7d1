// Jobs with several tasks in a process.
#pragma once

#include <functional>
#include <memory>

#include "comm/transport.hpp"

namespace ferry::test {

/// Runs `body` on each of this process's tasks of a job of `tasks` tasks over `between`, in a thread of its own; the
/// calling thread serves them. `closes` as in on_jobs(). Throws what the first of them threw.
void run_hosted(std::unique_ptr<Transport> between, int tasks, const std::function<void(Transport&)>& body,
                bool closes);

}  // namespace ferry::test
