#include "base/system/event_count.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace ferry {
namespace {

constexpr int kSpins = 200;

void futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* at_most,
           Sleepers sleepers) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  const int flag = sleepers == Sleepers::of_this_process ? FUTEX_PRIVATE_FLAG : 0;
  syscall(SYS_futex, &word, what | flag, value, at_most, nullptr, 0);
}

}  // namespace

void EventCount::notify() noexcept {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(count_, Sleepers::of_this_process);
}

void EventCount::wait(std::uint32_t seen, std::chrono::microseconds at_most) noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (now() != seen) return;
    spin_pause();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (now() == seen) futex_wait(count_, seen, at_most, Sleepers::of_this_process);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

AsymmetricFence::AsymmetricFence() noexcept
    : free_(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {}

void AsymmetricFence::heavy() const noexcept {
  if (free_) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::microseconds at_most,
                Sleepers sleepers) noexcept {
  const std::int64_t micros = std::clamp<std::int64_t>(at_most.count(), 0, 3'600'000'000);
  const timespec time{static_cast<std::time_t>(micros / 1'000'000), static_cast<long>(micros % 1'000'000) * 1000};
  futex(word, FUTEX_WAIT, value, &time, sleepers);
}

void futex_wake_one(std::atomic<std::uint32_t>& word, Sleepers sleepers) noexcept {
  futex(word, FUTEX_WAKE, 1, nullptr, sleepers);
}

void futex_wake_all(std::atomic<std::uint32_t>& word, Sleepers sleepers) noexcept {
  futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(std::numeric_limits<int>::max()), nullptr, sleepers);
}

}  // namespace ferry
