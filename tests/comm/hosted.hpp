// Jobs with several tasks in a process.
#pragma once

#include <functional>
#include <memory>

#include "comm/transport.hpp"

namespace ferry::test {

/// Runs `body` on each of this process's tasks of a job of `tasks` tasks, in a thread of its own; the calling thread
/// relays their messages over `between`, the transport of the processes. `closes` as in on_jobs(). Throws as run_ends()
/// does.
void run_hosted(std::unique_ptr<Transport> between, int tasks, const std::function<void(Transport&)>& body,
                bool closes);

}  // namespace ferry::test
