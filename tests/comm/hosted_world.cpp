#include "tests/comm/ends.hpp"
#include "tests/comm/hosted.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {

/// Threads that stand for processes, each with tasks in threads of their own.
void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  struct Job {
    int processes, tasks;
  };
  for (const auto [processes, tasks] : {Job{1, 3}, Job{2, 2}, Job{2, 3}, Job{2, 4}, Job{3, 8}}) {
    auto between = inproc_transports(processes);
    run_tasks(processes,
              [&, tasks = tasks](int process) { run_hosted(std::move(between[process]), tasks, body, closes); });
  }
}

}  // namespace ferry::test
