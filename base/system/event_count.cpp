#include "base/system/event_count.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace ferry {
namespace {

constexpr int kSpins = 200;

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* at_most) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, &word, what | FUTEX_PRIVATE_FLAG, value, at_most, nullptr, 0);
}

}  // namespace

void EventCount::notify() noexcept {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) {
    futex(count_, FUTEX_WAKE, static_cast<std::uint32_t>(std::numeric_limits<int>::max()), nullptr);
  }
}

void EventCount::wait(std::uint32_t seen, std::chrono::microseconds at_most) noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (now() != seen) return;
    spin_pause();
  }
  const std::int64_t micros = std::clamp<std::int64_t>(at_most.count(), 0, 3'600'000'000);
  const timespec time{static_cast<std::time_t>(micros / 1'000'000), static_cast<long>(micros % 1'000'000) * 1000};
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (now() == seen) futex(count_, FUTEX_WAIT, seen, &time);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace ferry
