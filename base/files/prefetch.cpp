#include "base/files/prefetch.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/system/make_threads.hpp"

namespace ferry {

Prefetcher::Prefetcher(std::size_t block_bytes, int ahead, int threads, Make make)
    : make_(std::move(make)), slots_(static_cast<std::size_t>(ahead) + 1) {
  for (Slot& slot : slots_) slot.bytes = FileBytes(std::uint64_t{block_bytes});
  make_threads(
      threads_, static_cast<std::size_t>(threads), [this](std::size_t) { work(); }, [this] { stop(); },
      [](std::size_t, const std::string& why) {
        return Error(Code::resource, "no thread can be made to read ahead: " + why)
            .hint("raise the limit of processes (ulimit -u) or of memory (ulimit -v)");
      });
}

Prefetcher::~Prefetcher() {
  stop();
}

void Prefetcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Prefetcher::work() {
  std::unique_lock lock(mutex_);
  const auto room = [this] { return started_ && next_ < taken_ + static_cast<std::int64_t>(slots_.size()); };
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || room(); });
    if (stopped_) return;
    const std::int64_t step = next_++;
    Slot& mine = slot(step);
    mine.made = false;
    mine.failure = nullptr;
    ++making_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      make_(step, mine.bytes.span());
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    mine.failure = failure;
    mine.made = true;
    --making_;
    changed_.notify_all();
  }
}

void Prefetcher::begin_at(std::int64_t step, std::unique_lock<std::mutex>& lock) {
  started_ = false;
  changed_.wait(lock, [this] { return making_ == 0; });
  for (Slot& slot : slots_) slot.made = false;
  next_ = step;
  started_ = true;
}

std::span<const std::byte> Prefetcher::take(std::int64_t step) {
  std::unique_lock lock(mutex_);
  if (!started_ || step != taken_ + 1) begin_at(step, lock);
  taken_ = step;
  changed_.notify_all();
  Slot& wanted = slot(step);
  changed_.wait(lock, [&] { return next_ > step && wanted.made; });
  if (wanted.failure) std::rethrow_exception(wanted.failure);
  return std::as_const(wanted.bytes).span();
}

}  // namespace ferry
