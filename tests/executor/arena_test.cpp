#include "executor/run/arena.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace ferry {
namespace {

/// The number of pages in this process's address space.
std::uint64_t pages() {
  std::uint64_t all = 0;
  std::ifstream("/proc/self/statm") >> all;
  return all;
}

TEST_CASE("large arenas begin at a huge page, can be written to the last byte and leave nothing behind") {
  const std::uint64_t before = pages();
  for (int i = 0; i < 20; ++i)
    for (const std::uint64_t bytes : {Arena::kHugePage, Arena::kHugePage + 1, 3 * Arena::kHugePage - 5000}) {
      const Arena arena(bytes, "test");
      CHECK(reinterpret_cast<std::uintptr_t>(arena.data()) % Arena::kHugePage == 0);
      CHECK(arena.bytes() == bytes);
      arena.data()[0] = std::byte{1};
      arena.data()[bytes - 1] = std::byte{2};
    }
  CHECK(pages() - before < Arena::kHugePage / 4096);
}

}  // namespace
}  // namespace ferry
