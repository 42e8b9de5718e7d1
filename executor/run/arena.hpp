// Arena: one piece of memory that a plan's buffers lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace ferry {

/// Bytes from the operating system, zeroed when first touched, at an address that is a multiple of kBufferAlign. The
/// system places each page near the core that touches it first, so the thread that will use the memory should write it
/// first.
class Arena {
 public:
  /// Arenas of at least so many bytes begin at a multiple of this, and consist of huge pages where the system has any.
  static constexpr std::uint64_t kHugePage = 2U << 20;

  Arena() = default;
  /// Error(resource) with `what` and the bytes when there is not so much memory.
  Arena(std::uint64_t bytes, std::string_view what);
  /// Memory that was allocated elsewhere; this becomes one of its owners.
  Arena(std::uint64_t bytes, std::shared_ptr<std::byte> memory)
      : data_(memory.get()), bytes_(bytes), lent_(std::move(memory)) {}
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<std::byte> lent_;  // null: this arena has mapped its memory itself
};

}  // namespace ferry
