#include "executor/event.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace ferry {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "a futex is 32 bits");

void Event::sleep(std::uint32_t key, std::chrono::nanoseconds at_most) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(at_most.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(at_most.count() % 1'000'000'000);
  syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, key, &time, nullptr, 0);
  sleepers_.fetch_sub(1);
}

void Event::wake() {
  epoch_.fetch_add(1);
  syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ferry
