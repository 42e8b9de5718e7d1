#include "tests/comm/hosted.hpp"

#include <atomic>
#include <exception>
#include <thread>

#include "comm/backends.hpp"
#include "tests/comm/ends.hpp"

namespace ferry::test {

void run_hosted(std::unique_ptr<Transport> between, int tasks, const std::function<void(Transport&)>& body,
                bool closes) {
  const HostedTasks job = host_tasks(std::move(between), tasks);
  std::atomic<bool> done{false};
  std::exception_ptr thrown;
  std::thread bodies([&] {
    try {
      run_ends(job.ends, [&](Transport& end) {
        body(end);
        if (closes) end.close();
      });
    } catch (...) {
      thrown = std::current_exception();
    }
    done = true;
    job.relay->wake();
  });
  job.relay->serve([&] { return done.load(); });
  bodies.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace ferry::test
