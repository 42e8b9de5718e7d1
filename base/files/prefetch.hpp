// Blocks of bytes that threads of their own make before they are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "base/files/bytes.hpp"
#include "base/system/monitor.hpp"

namespace ferry {

/// Makes the block of each step, up to `ahead` steps before it is taken. Memory: `ahead` + 1 blocks. Taken from by one
/// thread at a time.
///
///     Prefetcher blocks(1 << 20, 4, [&](std::int64_t step, std::span<std::byte> block) { … });
///     const std::span<const std::byte> first = blocks.take(0);
class Prefetcher {
 public:
  /// Fills the block of a step; called from several threads at once, for other steps. What it throws, the take of that
  /// step throws.
  using Make = std::function<void(std::int64_t step, std::span<std::byte> block)>;

  /// Error(resource) when there is no memory or no thread. At least one step ahead, and one thread.
  Prefetcher(std::size_t block_bytes, int ahead, int threads, Make make);
  /// Waits for what is being made.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The block of a step, until the next call. The step after the one before is there soon; any other begins anew.
  [[nodiscard]] std::span<const std::byte> take(std::int64_t step);

 private:
  struct Slot {
    FileBytes bytes;
    bool made = false;
    std::exception_ptr failure;
  };
  [[nodiscard]] Slot& slot(std::int64_t step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }
  void work();
  void stop();
  void begin_at(std::int64_t step, Monitor::Lock& lock);

  const Make make_;
  std::vector<Slot> slots_;
  Monitor blocks_;           // guards what follows, and what is in the slots
  std::int64_t taken_ = -1;  // the step whose block is out
  std::int64_t next_ = 0;    // the first step that nobody makes
  int making_ = 0;           // blocks under way
  bool started_ = false, stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ferry
