// How MPI jobs end, mpi_exit MODE: each mode ends the processes in its own way; the test that starts it by mpirun
// checks the exit code, the output and the time.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/backends.hpp"

namespace {

using namespace ferry;

std::vector<std::byte> big(std::size_t{1} << 24);

void wait(Transport& end, Ticket ticket) {
  while (!end.done(ticket)) end.idle(std::chrono::milliseconds(1));
}

/// Uses MPI on a thread that has ended before the process ends.
int act_on_a_thread() {
  std::thread([] {
    const auto end = mpi_transport();
    (void)end->exchange("here", {system_clock(), std::chrono::seconds(20)});
    end->close();
  }).join();
  return 0;
}

/// Runs the mode on this task, and returns its exit code. If a mode has a fault, the fault is on the last task.
int act(std::string_view mode) {
  if (mode == "well_on_a_thread") return act_on_a_thread();
  const auto end = mpi_transport();
  const int last = end->tasks() - 1;
  const bool culprit = end->task() == last;
  (void)end->exchange("here", {system_clock(), std::chrono::seconds(20)});
  if (mode == "well") {
    end->close();
    return 0;
  }
  if (mode == "early_exit" && culprit) std::exit(0);
  if (mode == "terminates" && culprit) {
    leave_mpi(Code::numeric, "loss: NaN", true);
    std::_Exit(static_cast<int>(Code::numeric));
  }
  if (mode == "early_return" && culprit) return 0;  // destroys `end` without close()
  if (mode == "fails_beside_a_stuck_task" && end->task() == 0) {
    for (;;) pause();  // in the program's own code, deaf to ferry: only a signal ends it
  }
  // Large messages that nobody takes are under way when the job fails.
  const Ticket sending = end->send((end->task() + 1) % end->tasks(), 1, big);
  if (culprit) {
    end->abort({last, Code::numeric, "loss: NaN"});
    return static_cast<int>(Code::numeric);
  }
  wait(*end, sending);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return act(argc > 1 ? argv[1] : "");
  } catch (const Error& error) {
    std::cerr << error.text() << std::endl;
    return static_cast<int>(error.code());
  }
}
