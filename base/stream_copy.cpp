#include "base/stream_copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace ferry {

#if defined(__x86_64__)

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kStream = 2048;  // from here on it pays

}  // namespace

void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept {
  if (bytes < kStream) {
    if (bytes > 0) std::memcpy(target, source, bytes);
    return;
  }
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine;
  std::memcpy(target, source, head);
  std::size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(source + at);
    auto* to = reinterpret_cast<__m128i*>(target + at);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  std::memcpy(target + at, source + at, bytes - at);
}

void stream_fence() noexcept {
  _mm_sfence();
}

#else

void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept {
  if (bytes > 0) std::memcpy(target, source, bytes);
}

void stream_fence() noexcept {}

#endif

}  // namespace ferry
