#include "base/system/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace ferry {
namespace {

void futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* at_most,
           Sleepers sleepers) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  const int flag = sleepers == Sleepers::of_this_process ? FUTEX_PRIVATE_FLAG : 0;
  syscall(SYS_futex, &word, what | flag, value, at_most, nullptr, 0);
}

}  // namespace

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
