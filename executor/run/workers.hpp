// Workers: the threads of one task, and how kernels are split over them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/system/event_count.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

struct WorkersOptions {
  int threads = 1;
  bool crowded = false;               ///< more threads than cores on this host: sleep soon instead of spinning
  std::function<void(int)> on_start;  ///< called first on each new thread, with its walker's number, to pin it
};

/// The walkers of one task. Walker 0 is the thread that calls run(); the others are threads made here, which sleep
/// while there is nothing to do. Ferry has no other thread pool: kernels are split over the same threads, and a walker
/// that waits helps the others with their kernels.
///
/// The walker that splits a kernel takes chunks from the front, helpers take them from the back: so each walker
/// computes about the same part of successive kernels, which is in its cache. Which walker computes a chunk depends on
/// timing, but the bounds of a chunk depend only on n and grain, so results have the same bits for any number of
/// threads.
///
/// run() is called by one thread at a time. for_each() and wait() may be called by all walkers at once, for_each() also
/// from inside its own body. On a thread that is no walker of this task, for_each() runs all chunks on that thread.
class Workers final : public Parallel {
 public:
  /// Error(resource) when the system gives no more threads.
  explicit Workers(const WorkersOptions& options);
  ~Workers() override;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] int threads() const override { return threads_; }

  /// Calls body(walker) on all walkers at once and returns when all have returned. The body must not throw.
  void run(const std::function<void(int walker)>& body);

  /// Calls f on the calling thread as walker 0; the others only help with kernels that f splits.
  template <class F>
  void run_alone(const F& f);

  /// As Parallel::for_each. If the body throws, later chunks are skipped and the exception of the lowest failed chunk
  /// is rethrown here.
  void for_each(std::int64_t n, std::int64_t grain, const Body& body) override;

  /// Sets what walker 0 calls between chunks, so that its transfers progress while it computes; null: nothing. It must
  /// not throw.
  void on_chunk(std::function<void()> poll) { poll_ = std::move(poll); }

  /// Runs chunks of a kernel that another walker has split; false when there are none.
  bool help();

  /// Polls ready() for `turns` turns and returns whether it became true. In each turn it helps another walker if it
  /// can; otherwise it pauses in every `pause_every`-th turn. Helping restarts the count, since a walker that splits
  /// one kernel soon splits the next. ready() may throw.
  template <class Ready>
  [[nodiscard]] bool spin(const Ready& ready, int turns, int pause_every);
  /// Returns when ready() is true: spins, then alternates between helping and sleeping until notify(). ready() may
  /// throw.
  template <class Ready>
  void wait(const Ready& ready);
  /// Unless ready(), sleeps until notify(), until there is a kernel to help with, or for `at_most`.
  template <class Ready>
  void sleep(const Ready& ready, std::chrono::microseconds at_most);
  /// Call it after a store that walkers may wait for.
  void notify() {
    fence_.light();
    if (drowsy_.load(std::memory_order_relaxed) != 0) events_.notify();
  }
  /// Asks the walkers to end early: cancelled() is true from now on. May be called by any thread.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  /// How many turns to spin before sleeping.
  [[nodiscard]] int spins() const { return spins_; }

 private:
  /// A kernel being split. Slots are reused, never freed, so that a helper that comes late finds a closed slot.
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> state{0};  // bit 0: open; the bits above: the number of helpers inside
    std::atomic<std::int64_t> chunks{0};
    std::int64_t n = 0, grain = 1;
    const Body* body = nullptr;
    std::mutex failing;
    std::atomic<std::int64_t> failed_chunk{0};  // the lowest; later chunks are skipped
    std::exception_ptr failure;
    alignas(64) std::atomic<std::uint64_t> taken{0};  // chunks taken: lower half from the front, upper from the back
  };
  enum class End : std::uint8_t { front, back };
  /// Depth of nested splits up to which others help; deeper splits run on their own thread alone.
  static constexpr int kNesting = 4;
  static constexpr std::chrono::milliseconds kLongSleep{100};

  struct alignas(64) Walker {
    std::array<Slot, kNesting> slots;
    int depth = 0;
  };

  /// Makes the calling thread walker 0 while the object lives.
  class AsWalker {
   public:
    explicit AsWalker(const Workers& workers);
    ~AsWalker();
    AsWalker(const AsWalker&) = delete;
    AsWalker& operator=(const AsWalker&) = delete;

   private:
    const Workers* before_;
    int walker_before_;
  };

  /// While an object lives, notify() wakes sleepers; otherwise notify() costs next to nothing.
  class Drowsy {
   public:
    explicit Drowsy(Workers& workers) : workers_(workers) {
      workers_.drowsy_.fetch_add(1, std::memory_order_relaxed);
      workers_.fence_.heavy();
    }
    ~Drowsy() { workers_.drowsy_.fetch_sub(1, std::memory_order_relaxed); }
    Drowsy(const Drowsy&) = delete;
    Drowsy& operator=(const Drowsy&) = delete;

   private:
    Workers& workers_;
  };

  void work(int walker);
  void stop();
  static std::int64_t taken(std::uint64_t both);
  bool run_chunks(Slot& slot, End from);
  void run_chunk(Slot& slot, std::int64_t chunk);
  bool help_with(Slot& slot);
  void close(Slot& slot);

  const int threads_;
  const int spins_;
  std::unique_ptr<Walker[]> walkers_;
  std::function<void()> poll_;
  AsymmetricFence fence_;
  EventCount events_;
  alignas(64) std::atomic<int> drowsy_{0};           // walkers that sleep, or are about to
  alignas(64) std::atomic<int> open_{0};             // slots with chunks left to take
  alignas(64) std::atomic<std::uint64_t> round_{0};  // counts calls of run()
  std::atomic<int> running_{0};                      // threads made here that are still in the body of run()
  std::atomic<bool> stopping_{false}, cancelled_{false};
  const std::function<void(int)>* body_ = nullptr;
  std::vector<std::thread> made_;
};

template <class F>
void Workers::run_alone(const F& f) {
  const AsWalker zero(*this);
  f();
}

template <class Ready>
bool Workers::spin(const Ready& ready, int turns, int pause_every) {
  for (int left = turns; left > 0; --left) {
    if (ready()) return true;
    if (help())
      left = turns;
    else if (left % pause_every == 0)
      spin_pause();
  }
  return false;
}

template <class Ready>
void Workers::wait(const Ready& ready) {
  if (spin(ready, spins_, 1)) return;
  while (!ready()) {
    if (!help())
      sleep(ready, kLongSleep);
    else if (spin(ready, spins_, 1))
      return;
  }
}

template <class Ready>
void Workers::sleep(const Ready& ready, std::chrono::microseconds at_most) {
  const Drowsy drowsy(*this);
  const std::uint32_t seen = events_.now();
  if (!ready() && open_.load() == 0) events_.wait(seen, at_most);
}

}  // namespace ferry
