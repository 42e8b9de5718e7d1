#include "comm/backends.hpp"
#include "tests/comm/ends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {

/// Threads of one process. Their messages go through shared memory over the in-process transport.
void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  for (int tasks = 1; tasks <= 4; ++tasks) {
    auto ends = inproc_transports(tasks);
    run_tasks(tasks, [&](int task) {
      const auto end = shared_memory_transport(std::move(ends[task]), 1, std::chrono::seconds(20));
      run_end(*end, [&](Transport& running) {
        body(running);
        if (closes) running.close();
      });
    });
  }
}

}  // namespace ferry::test
