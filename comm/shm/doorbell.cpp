#include "comm/shm/doorbell.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/event_count.hpp"

namespace ferry::shm {

bool Doorbell::register_process() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

/// The barriers on both sides make sure that either the ringer sees `sleeping_`, or the sleeper sees the data that the
/// ringer wrote before it rang.
void Doorbell::prepare_sleep(bool fenced) noexcept {
  sleeping_.store(1, std::memory_order_seq_cst);
  if (!fenced) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Doorbell::sleep(std::chrono::microseconds at_most) noexcept {
  futex_wait(sleeping_, 1, at_most, Sleepers::of_all_processes);
}

void Doorbell::wake() noexcept {
  if (sleeping_.exchange(0) != 0) futex_wake_one(sleeping_, Sleepers::of_all_processes);
}

}  // namespace ferry::shm
