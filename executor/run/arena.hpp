// Arena: one block of memory for buffers of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace ferry {

/// Bytes from the operating system, zeroed when first touched, at an address that is a multiple of kBufferAlign. A page
/// is allocated on the NUMA node of the thread that touches it first, so the thread that uses a page should touch it
/// first.
class Arena {
 public:
  /// Arenas of at least this size begin at a multiple of it and consist of huge pages if the system has any.
  static constexpr std::uint64_t kHugePage = 2U << 20;

  Arena() = default;
  /// Error(resource), which names `what` and the bytes, when there is not enough memory.
  Arena(std::uint64_t bytes, std::string_view what);
  /// Takes memory that was allocated elsewhere; ownership is shared.
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
