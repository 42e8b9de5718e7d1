// A library to preload that breaks one fsync() of a process. The environment variable FERRY_TEST_SYNC is "fail N" (the
// N-th fails, from 1) or "kill N" (at the N-th the process is killed); a third word R limits that to rank R of mpirun.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Fault {
  char what[8] = "";
  int at = 0, rank = -1;
};

Fault read_fault() {
  Fault fault;
  const char* const text = std::getenv("FERRY_TEST_SYNC");
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (text == nullptr || std::sscanf(text, "%7s %d %d", fault.what, &fault.at, &fault.rank) < 2) return {};
  if (fault.rank >= 0 && (rank == nullptr || std::atoi(rank) != fault.rank)) return {};
  return fault;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int fsync(int descriptor) {
  static const Fault fault = read_fault();
  static std::atomic<int> count{0};
  if (++count == fault.at) {
    if (std::strcmp(fault.what, "kill") == 0) raise(SIGKILL);
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}
