// Prefetcher: background threads make blocks of bytes before they are needed.
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

/// Makes the block of each step on its own threads, up to `ahead` steps before the caller takes it. It has memory for
/// `ahead` + 1 blocks. Only one thread at a time may call take().
///
///     Prefetcher blocks(1 << 20, 4, [&](std::int64_t step, std::span<std::byte> block) { … });
///     const std::span<const std::byte> first = blocks.take(0);
class Prefetcher {
 public:
  /// Fills the block of a step. Several threads call it at the same time, each for another step. If it throws, take()
  /// rethrows the exception for that step.
  using Make = std::function<void(std::int64_t step, std::span<std::byte> block)>;

  /// `ahead` and `threads` are at least 1. Error(resource) if the system has no memory or no thread.
  Prefetcher(std::size_t block_bytes, int ahead, int threads, Make make);
  /// Waits for the blocks that are being made.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The block of a step, valid until the next call. Blocks are made ahead for successive steps; after a jump they are
  /// made ahead from the new step on.
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
  Monitor blocks_;           // guards the members below and the slots
  std::int64_t taken_ = -1;  // the step of the block that was taken last
  std::int64_t next_ = 0;    // the first step that no thread has begun
  int making_ = 0;           // blocks that are being made
  bool started_ = false, stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ferry
