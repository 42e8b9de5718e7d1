#include "comm/backends.hpp"
#include "tests/comm/hosted.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {

/// Processes under mpirun, with more tasks than processes.
void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  auto between = mpi_transport();
  const int tasks = between->tasks() + 2;
  run_hosted(std::move(between), tasks, body, closes);
}

}  // namespace ferry::test
