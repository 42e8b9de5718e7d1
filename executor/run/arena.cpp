#include "executor/run/arena.hpp"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/system/limits.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// The size of the mapping for an arena: whole huge pages if it has at least one.
std::uint64_t mapped_bytes(std::uint64_t bytes) {
  return bytes < Arena::kHugePage ? bytes : (bytes + Arena::kHugePage - 1) / Arena::kHugePage * Arena::kHugePage;
}

/// Returns null if there is not enough memory.
std::byte* mapped(std::uint64_t bytes) {
  // Maps more than needed and unmaps the rest, so that the arena begins at a multiple of kHugePage. Only whole huge
  // pages of `bytes` are advised, so that the end of an arena does not take a whole huge page.
  const std::uint64_t more = bytes < Arena::kHugePage ? 0 : Arena::kHugePage, size = mapped_bytes(bytes);
  void* const all =
      mmap(nullptr, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  if (more == 0) return static_cast<std::byte*>(all);
  const std::uint64_t before = -reinterpret_cast<std::uintptr_t>(all) % more;
  std::byte* const at = static_cast<std::byte*>(all) + before;
  if (before > 0) munmap(all, before);
  munmap(at + size, more - before);
  madvise(at, bytes / more * more, MADV_HUGEPAGE);
  return at;
}

}  // namespace

Arena::Arena(std::uint64_t bytes, std::string_view what) : bytes_(bytes) {
  if (bytes == 0) return;
  // The system overcommits memory and kills a process that uses too much of it, so an arena that can never fit is an
  // error here.
  data_ = bytes <= memory_and_swap_bytes() ? mapped(bytes) : nullptr;
  if (data_ == nullptr) {
    bytes_ = 0;
    throw Error(Code::resource, std::string(what) + ": no memory for " + std::to_string(bytes) + " bytes (" +
                                    human_bytes(bytes) + "); " + memory_limit_text())
        .hint("more tasks to split over, or a smaller batch");
  }
}

Arena::~Arena() {
  if (data_ != nullptr && !lent_) munmap(data_, mapped_bytes(bytes_));
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      lent_(std::move(other.lent_)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(lent_, other.lent_);
  return *this;
}

}  // namespace ferry
