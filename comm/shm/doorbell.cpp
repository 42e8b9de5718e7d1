#include "comm/shm/doorbell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace ferry::shm {
namespace {

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* at_most) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, &word, what, value, at_most, nullptr, 0);
}

}  // namespace

bool Doorbell::register_process() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

/// Either the ringer sees that somebody is down, or the sleeper sees what the ringer wrote before.
void Doorbell::lie_down(bool fenced) noexcept {
  down_.store(1, std::memory_order_seq_cst);
  if (!fenced) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Doorbell::sleep(std::chrono::microseconds at_most) noexcept {
  const timespec time{static_cast<std::time_t>(at_most.count() / 1'000'000),
                      static_cast<long>(at_most.count() % 1'000'000) * 1000};
  futex(down_, FUTEX_WAIT, 1, &time);
}

void Doorbell::wake() noexcept {
  if (down_.exchange(0) != 0) futex(down_, FUTEX_WAKE, 1, nullptr);
}

}  // namespace ferry::shm
