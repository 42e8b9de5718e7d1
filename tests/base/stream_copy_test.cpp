#include "base/system/cache_lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ferry {
namespace {

constexpr std::byte kUntouched{0xee};

template <class Copy>
void check_copies(const Copy& copy) {
  std::vector<std::byte> source(10'000), target(10'000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 % 251);
  for (const std::size_t bytes : {0, 1, 63, 64, 2047, 2048, 2049, 2111, 4096, 9001})
    for (const std::size_t from : {0, 1, 33})
      for (const std::size_t to : {0, 1, 16, 63, 64}) {
        CAPTURE(bytes);
        CAPTURE(from);
        CAPTURE(to);
        std::fill(target.begin(), target.end(), kUntouched);
        copy(target.data() + to, source.data() + from, bytes);
        stream_fence();
        const auto end = target.begin() + static_cast<std::ptrdiff_t>(to + bytes);
        CHECK(std::equal(target.begin() + static_cast<std::ptrdiff_t>(to), end,
                         source.begin() + static_cast<std::ptrdiff_t>(from)));
        CHECK(std::count(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(to), kUntouched) ==
              static_cast<std::ptrdiff_t>(to));
        CHECK(std::all_of(end, target.end(), [](std::byte b) { return b == kUntouched; }));
      }
}

TEST_CASE("a copy around the caches is that of memcpy, at any place") {
  check_copies(stream_copy);
}

TEST_CASE("what another core reads next is copied whole, around the caches or through them") {
  for (const bool stream : {false, true}) {
    CAPTURE(stream);
    check_copies([&](std::byte* target, const std::byte* source, std::size_t bytes) {
      copy_for_reader(target, source, bytes, stream);
    });
  }
}

TEST_CASE("to a core that is near, no shorter values go around the caches than to one that is far") {
  CHECK(stream_from(false) >= stream_from(true));
}

}  // namespace
}  // namespace ferry
