#include "tests/comm/ends.hpp"

#include <exception>
#include <thread>

namespace ferry::test {

void run_end(Transport& end, const std::function<void(Transport&)>& body) {
  try {
    body(end);
  } catch (const std::exception& e) {
    end.abort({end.task(), Code::bug, e.what()});
    throw;
  } catch (...) {  // thrown by a failed REQUIRE
    end.abort({end.task(), Code::bug, "a test failed"});
    throw;
  }
}

void run_tasks(int tasks, const std::function<void(int task)>& body) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(tasks));
  std::vector<std::thread> threads;
  for (int task = 0; task < tasks; ++task) {
    threads.emplace_back([&, task] {
      try {
        body(task);
      } catch (...) {
        thrown[task] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
}

void run_ends(const std::vector<std::unique_ptr<Transport>>& ends, const std::function<void(Transport&)>& body) {
  run_tasks(static_cast<int>(ends.size()), [&](int task) { run_end(*ends[task], body); });
}

}  // namespace ferry::test
