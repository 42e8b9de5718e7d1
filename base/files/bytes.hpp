// FileBytes: the bytes of a file, or the output of a decompressor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// A block of memory, owned, aligned for any dtype (64 bytes), and not zeroed. Moving it keeps the address, so that
/// spans into it stay valid. Not thread-safe, as a vector is not.
class FileBytes {
 public:
  FileBytes() = default;
  /// `size` bytes, not initialised. Throws Code::resource, with the size, when there is no memory.
  explicit FileBytes(std::uint64_t size);
  /// A copy of `bytes`.
  explicit FileBytes(std::span<const std::byte> bytes);
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  ~FileBytes() = default;
  explicit FileBytes(std::string_view text) : FileBytes(std::as_bytes(std::span(text))) {}

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> span() noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> span() const noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_.get()), size_}; }
  /// Keeps the content up to the new size. Growing may move it to another address; shrinking does not.
  void resize(std::uint64_t size);

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace ferry
#pragma GCC visibility pop
