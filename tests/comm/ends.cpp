#include "tests/comm/ends.hpp"

#include <exception>
#include <thread>

namespace ferry::test {
namespace {

void run_end(Transport& end, const std::function<void(Transport&)>& body, std::exception_ptr& thrown) {
  try {
    body(end);
  } catch (const std::exception& e) {
    thrown = std::current_exception();
    end.abort({end.task(), Code::bug, e.what()});
  } catch (...) {  // doctest's, of a failed REQUIRE
    thrown = std::current_exception();
    end.abort({end.task(), Code::bug, "a test failed"});
  }
}

}  // namespace

void run_ends(const std::vector<std::unique_ptr<Transport>>& ends, const std::function<void(Transport&)>& body) {
  std::vector<std::exception_ptr> thrown(ends.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back([&, i] { run_end(*ends[i], body, thrown[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
}

}  // namespace ferry::test
