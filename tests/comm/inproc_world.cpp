#include "tests/comm/ends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {

void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  for (int tasks = 1; tasks <= 4; ++tasks) {
    run_ends(inproc_transports(tasks), [&](Transport& end) {
      body(end);
      if (closes) end.close();
    });
  }
}

}  // namespace ferry::test
