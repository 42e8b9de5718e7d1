#include "executor/arena.hpp"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {

Arena::Arena(std::uint64_t bytes, std::string_view what) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(Code::resource, "out of memory: " + std::string(what) + " needs " + std::to_string(bytes) + " bytes (" +
                                    human_bytes(bytes) + ")")
        .hint("use more tasks, a smaller batch, or a machine with more memory");
  data_ = static_cast<std::byte*>(memory);
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace ferry
