#include "executor/arena.hpp"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kHugePage = 2U << 20;

std::uint64_t machine_bytes() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return UINT64_MAX;
  return (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
}

}  // namespace

Arena::Arena(std::uint64_t bytes, std::string_view what) : bytes_(bytes) {
  if (bytes == 0) return;
  // The system promises more than it has and kills who takes it: what can never fit is refused here.
  void* at = bytes <= machine_bytes()
                 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                 : MAP_FAILED;
  if (at == MAP_FAILED) {
    bytes_ = 0;
    throw Error(Code::resource, std::string(what) + ": no memory for " + std::to_string(bytes) + " bytes (" +
                                    human_bytes(bytes) + "); this machine has " + human_bytes(machine_bytes()))
        .hint("more tasks to split over, or a smaller batch");
  }
  if (bytes >= kHugePage) madvise(at, bytes, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(at);
}

Arena::~Arena() {
  if (data_ != nullptr && !lent_) munmap(data_, bytes_);
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
