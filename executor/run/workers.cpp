#include "executor/run/workers.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/system/make_threads.hpp"

namespace ferry {
namespace {

constexpr std::uint32_t kOpen = 1;
constexpr std::uint32_t kHelper = 2;
constexpr std::uint64_t kFromFront = 1, kFromBack = std::uint64_t{1} << 32;
/// The most chunks of a split, so that each half of Slot::taken has room for their count.
constexpr std::int64_t kMostChunks = std::int64_t{1} << 30;

/// The walker and the task of the current thread.
struct Identity {
  const Workers* workers = nullptr;
  int walker = 0;
};
thread_local Identity self;  // NOLINT

}  // namespace

Workers::AsWalker::AsWalker(const Workers& workers) : before_(self.workers), walker_before_(self.walker) {
  self = {&workers, 0};
}

Workers::AsWalker::~AsWalker() {
  self = {before_, walker_before_};
}

Workers::Workers(const WorkersOptions& options)
    : threads_(std::max(1, options.threads)),
      spins_(options.crowded ? 100 : 4000),
      walkers_(std::make_unique<Walker[]>(static_cast<std::size_t>(threads_))) {
  make_threads(
      made_, static_cast<std::size_t>(threads_ - 1),
      [this, on_start = options.on_start](std::size_t i) {
        const int walker = static_cast<int>(i) + 1;
        if (on_start) on_start(walker);
        work(walker);
      },
      [this] { stop(); },
      [this](std::size_t made, const std::string& why) {
        return Error(Code::resource, "threads: the system gives no more than " + std::to_string(made + 1) + " of " +
                                         std::to_string(threads_) + ": " + why)
            .hint("fewer --threads, or a higher limit (ulimit -u, ulimit -v)");
      });
}

Workers::~Workers() {
  stop();
}

void Workers::stop() {
  stopping_.store(true);
  events_.notify();
  for (std::thread& thread : made_) thread.join();
  made_.clear();
}

void Workers::work(int walker) {
  self = {this, walker};
  std::uint64_t seen = 0;
  for (;;) {
    wait([&] { return stopping_.load() || round_.load() != seen; });
    if (stopping_.load()) return;
    ++seen;
    (*body_)(walker);
    if (running_.fetch_sub(1) == 1) events_.notify();
  }
}

void Workers::run(const std::function<void(int)>& body) {
  const AsWalker zero(*this);
  body_ = &body;
  running_.store(threads_ - 1);
  round_.fetch_add(1);
  events_.notify();
  body(0);
  wait([&] { return running_.load() == 0; });
}

void Workers::for_each(std::int64_t n, std::int64_t grain, const Body& body) {
  if (n <= 0) return;
  grain = std::max(std::max<std::int64_t>(1, grain), n / kMostChunks + 1);
  const std::int64_t chunks = (n - 1) / grain + 1;
  const bool mine = self.workers == this;
  Walker& walker = walkers_[mine ? static_cast<std::size_t>(self.walker) : 0];
  if (!mine || threads_ == 1 || chunks == 1 || walker.depth == kNesting) {
    const bool polls = mine && self.walker == 0 && poll_;
    for (std::int64_t begin = 0; begin < n; begin += grain) {
      body(begin, std::min(n, begin + grain));
      if (polls) poll_();
    }
    return;
  }
  Slot& slot = walker.slots[walker.depth++];
  slot.n = n;
  slot.grain = grain;
  slot.body = &body;
  slot.failed_chunk.store(chunks, std::memory_order_relaxed);
  slot.taken.store(0, std::memory_order_relaxed);
  slot.chunks.store(chunks, std::memory_order_relaxed);
  slot.state.store(kOpen);
  open_.fetch_add(1);
  events_.notify();
  run_chunks(slot, End::front);
  close(slot);
  --walker.depth;
  if (slot.failure) std::rethrow_exception(std::exchange(slot.failure, nullptr));
}

void Workers::close(Slot& slot) {
  slot.state.fetch_and(~kOpen);
  const auto left = [&] { return slot.state.load() == 0; };
  for (int i = 0; i < spins_ && !left(); ++i) spin_pause();
  while (!left()) {
    const std::uint32_t seen = events_.now();
    if (!left()) events_.wait(seen, kLongSleep);
  }
}

std::int64_t Workers::taken(std::uint64_t both) {
  return static_cast<std::int64_t>(both % kFromBack + both / kFromBack);
}

bool Workers::run_chunks(Slot& slot, End from) {
  const std::int64_t chunks = slot.chunks.load(std::memory_order_relaxed);
  bool any = false;
  for (;;) {
    const std::uint64_t before =
        slot.taken.fetch_add(from == End::front ? kFromFront : kFromBack, std::memory_order_relaxed);
    if (taken(before) >= chunks) return any;
    if (taken(before) == chunks - 1) open_.fetch_sub(1);
    any = true;
    run_chunk(slot, static_cast<std::int64_t>(from == End::front
                                                  ? before % kFromBack
                                                  : static_cast<std::uint64_t>(chunks) - 1 - before / kFromBack));
    if (self.walker == 0 && poll_) poll_();
  }
}

void Workers::run_chunk(Slot& slot, std::int64_t chunk) {
  if (chunk > slot.failed_chunk.load(std::memory_order_relaxed)) return;
  try {
    const std::int64_t begin = chunk * slot.grain;
    (*slot.body)(begin, std::min(slot.n, begin + slot.grain));
  } catch (...) {
    const std::lock_guard lock(slot.failing);
    if (chunk < slot.failed_chunk.load(std::memory_order_relaxed)) {
      slot.failed_chunk.store(chunk, std::memory_order_relaxed);
      slot.failure = std::current_exception();
    }
  }
}

bool Workers::help() {
  if (open_.load(std::memory_order_relaxed) == 0) return false;
  for (int walker = 0; walker < threads_; ++walker) {
    for (Slot& slot : walkers_[walker].slots) {
      if (help_with(slot)) return true;
    }
  }
  return false;
}

bool Workers::help_with(Slot& slot) {
  std::uint32_t state = slot.state.load(std::memory_order_relaxed);
  do {
    if ((state & kOpen) == 0) return false;
    if (taken(slot.taken.load(std::memory_order_relaxed)) >= slot.chunks.load(std::memory_order_relaxed)) return false;
  } while (!slot.state.compare_exchange_weak(state, state + kHelper));
  const bool any = run_chunks(slot, End::back);
  if (slot.state.fetch_sub(kHelper) == kHelper) events_.notify();
  return any;
}

}  // namespace ferry
