#include "base/system/event_count.hpp"

#include "base/system/futex.hpp"

namespace ferry {
namespace {

constexpr int kSpins = 200;

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

}  // namespace ferry
