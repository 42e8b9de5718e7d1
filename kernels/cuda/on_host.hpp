// Replaces launch.hpp on the host, for tests. for_each() and for_each_block() run the kernel in the calling thread
// before they return. The threads of a block are fibers. They switch only at sync() and exchange(), in an order that
// tests choose. So a kernel with a missing barrier gives different results in different orders.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "kernels/cuda/queue.hpp"
#include "kernels/kernel.hpp"

#define FERRY_DEVICE

namespace ferry::cuda {

inline constexpr int kWarp = 32;

/// As DeviceBlock in launch.hpp. Error(bug) if some threads of a block wait at a barrier that other threads do not
/// reach.
class HostBlock {
 public:
  explicit HostBlock(int thread) : thread_(thread) {}
  [[nodiscard]] int thread() const { return thread_; }
  [[nodiscard]] int threads() const;
  void sync() const;
  template <class T>
  [[nodiscard]] T exchange(T value, int lanes) const {
    static_assert(sizeof(T) <= sizeof(double) * 2);
    std::byte shown[sizeof(T)];
    std::memcpy(shown, &value, sizeof(T));
    exchange_bytes(shown, lanes);
    T result;
    std::memcpy(&result, shown, sizeof(T));
    return result;
  }

 private:
  void exchange_bytes(std::span<std::byte> value, int lanes) const;
  int thread_;
};

namespace detail {

inline constexpr int kThreads = 64;

/// Calls f(i) for each i in [0, n), in the order that run_threads() chose.
void in_order(std::int64_t n, const std::function<void(std::int64_t)>& f);
/// Runs f in all threads of a block.
void run_block(const std::function<void(const HostBlock&)>& f);
/// Runs a kernel on its queue's stream; a stream that captures keeps the kernel for later. Without a queue, it throws
/// BadValue if the kernel reports a bad value. With a queue, the failure appears when an event is queried.
void launch(const KernelRun& run, std::function<void()> kernel);
void launch_on(void* stream, std::function<void()> kernel);

}  // namespace detail

template <class F>
void for_each(const KernelRun& run, std::int64_t n, const F& f) {
  detail::launch(run, [n, f] { detail::in_order(n, [&](std::int64_t i) { f(i); }); });
}

template <class F>
void for_each_block(const KernelRun& run, std::int64_t n, const F& f) {
  static_assert(std::is_trivially_copyable_v<typename F::Shared>);
  detail::launch(run, [n, f] {
    const auto shared = std::make_unique<typename F::Shared>();
    detail::in_order(n, [&](std::int64_t item) {
      std::memset(static_cast<void*>(shared.get()), 0xa5, sizeof *shared);
      detail::run_block([&](const HostBlock& block) { f(item, block, *shared); });
    });
  });
}

inline void copy_bytes(const KernelRun& run, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (run.queue == nullptr)
    std::memcpy(to, from, bytes);
  else
    require_launched(copy_in_pieces(static_cast<Queue*>(run.queue)->stream, to, from, bytes));
}

}  // namespace ferry::cuda
