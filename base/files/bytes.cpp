#include "base/files/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/system/cache_lines.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::align_val_t kAlignment{kCacheLine};
constexpr std::uint64_t kAddressSpace = std::uint64_t{1} << 47;  // bytes, of a process on x86-64; arm64 has 2⁴⁸

std::byte* allocate(std::uint64_t size) {
  void* data = nullptr;
  if (size < kAddressSpace) data = ::operator new[](size, kAlignment, std::nothrow);
  if (data != nullptr) return static_cast<std::byte*>(data);
  throw Error(Code::resource, "out of memory: no {} ({} bytes) for a file's content", human_bytes(size), size);
}

}  // namespace

void FileBytes::Free::operator()(std::byte* data) const noexcept {
  ::operator delete[](data, kAlignment);
}

FileBytes::FileBytes(std::uint64_t size) : data_(size == 0 ? nullptr : allocate(size)), size_(size), capacity_(size) {}

FileBytes::FileBytes(std::span<const std::byte> bytes) : FileBytes(std::uint64_t{bytes.size()}) {
  if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : data_(std::move(other.data_)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  data_ = std::move(other.data_);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

void FileBytes::resize(std::uint64_t size) {
  if (size > capacity_) {
    FileBytes larger(size);
    if (size_ != 0) std::memcpy(larger.data(), data(), size_);
    *this = std::move(larger);
  }
  size_ = size;
}

}  // namespace ferry
