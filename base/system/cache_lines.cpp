#include "base/system/cache_lines.hpp"

#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace ferry {

#if defined(__x86_64__)

namespace {

// In bytes. For shorter copies, the incomplete lines at both ends cost more than streaming saves.
constexpr std::size_t kShort = 2048;

}  // namespace

std::size_t stream_from(bool far) noexcept {
  static const bool amd = __builtin_cpu_is("amd") != 0;
  if (amd) return far ? kShort : 32 << 20;
  return 16 << 20;
}

void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept {
  if (bytes < kShort) {
    if (bytes > 0) std::memcpy(target, source, bytes);
    return;
  }
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(target) % kCacheLine;
  std::memcpy(target, source, head);
  const std::size_t lines = (bytes - head) / kCacheLine * kCacheLine, tail = head + lines;
  stream_lines(target + head, source + head, lines);
  std::memcpy(target + tail, source + tail, bytes - tail);
}

void stream_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    const auto* from = reinterpret_cast<const __m128i*>(source + at);
    auto* to = reinterpret_cast<__m128i*>(target + at);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
}

void stream_fence() noexcept {
  _mm_sfence();
}

#else

std::size_t stream_from(bool) noexcept {
  return std::numeric_limits<std::size_t>::max();
}

void stream_copy(std::byte* target, const std::byte* source, std::size_t bytes) noexcept {
  if (bytes > 0) std::memcpy(target, source, bytes);
}

void stream_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept {
  stream_copy(target, source, bytes);
}

void stream_fence() noexcept {}

#endif

void copy_for_reader(std::byte* target, const std::byte* source, std::size_t bytes, bool stream) noexcept {
  if (stream)
    stream_copy(target, source, bytes);
  else if (bytes > 0)
    std::memcpy(target, source, bytes);
}

}  // namespace ferry
