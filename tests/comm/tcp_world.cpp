#include <barrier>

#include "comm/backends.hpp"
#include "comm/rendezvous.hpp"
#include "tests/comm/ends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {

/// Threads of one process, which meet over the loopback interface.
void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  const std::string secret = "what the tasks of a test know";
  for (int tasks = 1; tasks <= 5; ++tasks) {
    const RendezvousServer server({.tasks = tasks, .secret = secret});
    std::barrier formed(tasks);  // a body may end its job at once, while other tasks still connect
    run_tasks(tasks, [&](int task) {
      const auto end = tcp_transport({.task = task,
                                      .tasks = tasks,
                                      .address = server.address(),
                                      .port = server.port(),
                                      .served = true,
                                      .secret = secret});
      formed.arrive_and_wait();
      run_end(*end, [&](Transport& running) {
        body(running);
        if (closes) running.close();
      });
    });
  }
}

}  // namespace ferry::test
