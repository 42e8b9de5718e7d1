#include "tests/support/allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> count{0}, bytes_so_far{0};
thread_local std::int64_t left = 0;  // which call from now on fails, from 1; 0: none

/// Null when the call is to be refused, or when there is no memory.
void* tried(std::size_t bytes, std::size_t align) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  if (left > 0 && --left == 0) return nullptr;
  bytes_so_far.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  return align <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                            : std::aligned_alloc(align, (bytes + align - 1) / align * align);
}

void* counted(std::size_t bytes, std::size_t align) {
  void* memory = tried(bytes, align);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace ferry::test {

std::int64_t allocations() {
  return count.load();
}

std::int64_t allocated_bytes() {
  return bytes_so_far.load();
}

NoMemoryAt::NoMemoryAt(std::int64_t nth) {
  left = nth;
}
NoMemoryAt::~NoMemoryAt() {
  left = 0;
}
bool NoMemoryAt::thrown() const {
  return left == 0;
}

}  // namespace ferry::test

void* operator new(std::size_t bytes) {
  return counted(bytes, 1);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  return counted(bytes, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return counted(bytes, static_cast<std::size_t>(align));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return tried(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return tried(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return tried(bytes, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return tried(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
