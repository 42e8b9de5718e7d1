#include "base/system/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <string>

namespace ferry {
namespace {

std::atomic<int> requested{0};
std::atomic<bool> preempted{false};
std::atomic<int> saves{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch it");

}  // namespace

void request_interrupt(int signal) noexcept {
  int none = 0;
  requested.compare_exchange_strong(none, signal, std::memory_order_relaxed);
}

int interrupt_requested() noexcept {
  return requested.load(std::memory_order_relaxed);
}

void request_preemption() noexcept {
  preempted.store(true, std::memory_order_relaxed);
}

bool preemption_requested() noexcept {
  return preempted.load(std::memory_order_relaxed);
}

void request_save() noexcept {
  saves.fetch_add(1, std::memory_order_relaxed);
}

std::int64_t saves_requested() noexcept {
  return saves.load(std::memory_order_relaxed);
}

void clear_interrupt() noexcept {
  preempted.store(false, std::memory_order_relaxed);
  requested.store(0, std::memory_order_relaxed);
}

void check_interrupt() {
  const int signal = interrupt_requested();
  if (signal != 0) throw interrupt_error(signal);
}

Error interrupt_error(int signal) {
  return {Code::interrupted,
          signal == SIGINT ? std::string("interrupted by Ctrl-C") : "interrupted by signal " + std::to_string(signal)};
}

}  // namespace ferry
