#include <exception>
#include <thread>

#include "tests/comm/world.hpp"

namespace ferry::test {
namespace {

void run_end(Transport& end, const std::function<void(Transport&)>& body, bool closes, std::exception_ptr& thrown) {
  try {
    body(end);
    if (closes) end.close();
  } catch (const std::exception& e) {
    thrown = std::current_exception();
    end.abort({end.task(), Code::bug, e.what()});
  } catch (...) {  // doctest's, of a failed REQUIRE
    thrown = std::current_exception();
    end.abort({end.task(), Code::bug, "a test failed"});
  }
}

}  // namespace

void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  for (int tasks = 1; tasks <= 4; ++tasks) {
    auto ends = inproc_transports(tasks);
    std::vector<std::exception_ptr> thrown(ends.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      threads.emplace_back([&, i] { run_end(*ends[i], body, closes, thrown[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& exception : thrown) {
      if (exception) std::rethrow_exception(exception);
    }
  }
}

}  // namespace ferry::test
