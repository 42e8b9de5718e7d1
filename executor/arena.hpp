// Arena: the bytes of a task's buffers on one device, allocated once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferry {

/// Zeroed memory, aligned to a page. The system gives pages when they are first touched, so they lie near the thread
/// that does.
class Arena {
 public:
  Arena() = default;
  /// Error(resource) naming `what` and the bytes when they cannot be had.
  Arena(std::uint64_t bytes, std::string_view what);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace ferry
