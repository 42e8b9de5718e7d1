#include "base/files/prefetch.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/system/limits.hpp"
#include "base/system/make_threads.hpp"

namespace ferry {

Prefetcher::Prefetcher(std::size_t block_bytes, int ahead, int threads, Make make)
    : make_(std::move(make)), slots_(static_cast<std::size_t>(ahead) + 1) {
  for (Slot& slot : slots_) slot.bytes = FileBytes(std::uint64_t{block_bytes});
  make_threads(
      threads_, static_cast<std::size_t>(threads), [this](std::size_t) { unpin_thread(), work(); }, [this] { stop(); },
      [](std::size_t, const std::string& why) {
        return Error(Code::resource, "no thread can be made to read ahead: " + why)
            .hint("raise the limit of processes (ulimit -u) or of memory (ulimit -v)");
      });
}

Prefetcher::~Prefetcher() {
  stop();
}

void Prefetcher::stop() {
  blocks_.change([this] { stopped_ = true; });
  for (std::thread& thread : threads_) thread.join();
}

void Prefetcher::work() {
  auto lock = blocks_.lock();
  const auto room = [this] { return started_ && next_ < taken_ + static_cast<std::int64_t>(slots_.size()); };
  for (;;) {
    blocks_.wait(lock, [&] { return stopped_ || room(); });
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
    blocks_.notify();
  }
}

void Prefetcher::begin_at(std::int64_t step, Monitor::Lock& lock) {
  started_ = false;
  blocks_.wait(lock, [this] { return making_ == 0; });
  for (Slot& slot : slots_) slot.made = false;
  next_ = step;
  started_ = true;
}

std::span<const std::byte> Prefetcher::take(std::int64_t step) {
  auto lock = blocks_.lock();
  if (!started_ || step != taken_ + 1) begin_at(step, lock);
  taken_ = step;
  blocks_.notify();
  Slot& wanted = slot(step);
  blocks_.wait(lock, [&] { return next_ > step && wanted.made; });
  if (wanted.failure) std::rethrow_exception(wanted.failure);
  return std::as_const(wanted.bytes).span();
}

}  // namespace ferry
