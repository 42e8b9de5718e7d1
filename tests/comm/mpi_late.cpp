// Messages that arrive after the job of their receiver has failed: they must not be written into memory that it may
// have freed. For two ranks. They tell each other when to go on by MPI and by signals, past ferry, so that ferry on the
// other rank has not heard of the failure when it sends. Exits with 0, or says what was wrong.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "comm/backends.hpp"

namespace {

using namespace ferry;
using Bytes = std::vector<std::byte>;

constexpr std::byte kBefore{1}, kSent{2};

int wrongs = 0;

void require(bool holds, const char* what, std::size_t bytes) {
  if (holds) return;
  std::cerr << "mpi_late: " << what << ", of " << bytes << " bytes" << std::endl;
  ++wrongs;
}

bool all_are(const Bytes& bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte b) { return b == value; });
}

sigset_t only_usr1() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  return set;
}

/// Waits without calling MPI, so that no message moves on.
void await_signal() {
  const sigset_t set = only_usr1();
  int signal = 0;
  sigwait(&set, &signal);
}

void fail(Transport& end) {
  end.abort({end.task(), Code::numeric, "loss: NaN"});
}

/// Waits until the failure is known; then both tasks begin a new job, and close both.
void restart(Transport& end) {
  while (!end.failure()) {
  }
  const auto next = end.renewed(std::chrono::seconds(20));
  (void)next->exchange("here", {system_clock(), std::chrono::seconds(20)});
  end.close();
  next->close();
}

/// The message is sent after its receive has been withdrawn.
void sent_late(Transport& end, std::size_t bytes) {
  Bytes in(bytes, kBefore);
  const Bytes out(bytes, kSent);
  if (end.task() == 0) {
    (void)end.receive(1, 7, in);
    fail(end);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    (void)end.send(0, 7, out);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  restart(end);
  require(all_are(in, kBefore), "a message was written after its receiver had failed", bytes);
}

/// The message is in flight when the job fails, and its sender makes progress only after that. It must have arrived
/// when the job starts again.
void arrives_late(Transport& end, std::size_t bytes) {
  const auto processes = end.exchange(std::to_string(getpid()), {system_clock(), std::chrono::seconds(20)});
  Bytes in(bytes, kBefore);
  const Bytes out(bytes, kSent);
  if (end.task() == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    const Ticket receiving = end.receive(1, 7, in);
    require(!end.done(receiving), "a message came without its sender", bytes);
    fail(end);
    kill(std::stoi(processes[1]), SIGUSR1);
  } else {
    (void)end.send(0, 7, out);
    MPI_Barrier(MPI_COMM_WORLD);
    await_signal();
  }
  while (!end.failure()) {
  }
  const auto next = end.renewed(std::chrono::seconds(20));
  require(end.task() == 1 || all_are(in, kSent), "a message had not come when the job began anew", bytes);
  (void)next->exchange("here", {system_clock(), std::chrono::seconds(20)});
  end.close();
  next->close();
}

}  // namespace

int main() {
  // Messages are copied by the sender, in pieces, as between hosts, not by the receiver alone in one copy.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
  const sigset_t set = only_usr1();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{8000}, std::size_t{1} << 24})
    sent_late(*mpi_transport(), bytes);
  arrives_late(*mpi_transport(), std::size_t{1} << 24);
  return wrongs == 0 ? 0 : 1;
}
