#include "base/hash.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace ferry;

namespace {
std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
}  // namespace

TEST_SUITE_BEGIN("base/hash");

// Expected values: what xxhash's own xxh128sum and XXH3 documentation give.
TEST_CASE("the values are XXH3's, on every machine") {
  CHECK(hash64("") == 0x2d06800538d394c2ull);
  CHECK(hex_digest({}) == "99aa06d3014798d86001c324468d497f");
  CHECK(hash64("ferry") == hash64(bytes_of("ferry")));
  CHECK(hash64("ferry", 1) != hash64("ferry"));
}

TEST_CASE("a built hash is the hash of its documented bytes") {
  std::string pieces = {3, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c'};
  pieces += std::string{'\x05', 0, 0, 0, 0, 0, 0, 0};
  pieces += std::string("\xff\xff\xff\xff\xff\xff\xff\xff");
  pieces += std::string{0, 0, 0, 0, 0, 0, '\xe0', '\x3f'};
  Hasher h;
  h.add("abc").add(5).add(-1).add(0.5);
  CHECK(h.hex() == hex_digest(bytes_of(pieces)));
}

TEST_CASE("an integer's type does not matter, its value does") {
  CHECK(Hasher().add(7).digest() == Hasher().add(std::uint64_t{7}).digest());
  CHECK(Hasher().add(true).digest() == Hasher().add(std::int8_t{1}).digest());
  CHECK(Hasher().add(7).digest() != Hasher().add(8).digest());
}

TEST_CASE("borders between pieces and their order count") {
  std::set<std::uint64_t> seen;
  seen.insert(Hasher().add("ab").add("c").digest());
  seen.insert(Hasher().add("a").add("bc").digest());
  seen.insert(Hasher().add("abc").digest());
  seen.insert(Hasher().add("c").add("ab").digest());
  seen.insert(Hasher().add("abc").add("").digest());
  seen.insert(Hasher(1).add("abc").digest());
  seen.insert(Hasher().add(0.0).digest());
  seen.insert(Hasher().add(-0.0).digest());
  CHECK(seen.size() == 8);
}

TEST_CASE("a digest may be taken on the way") {
  Hasher h;
  h.add("a");
  const auto first = h.digest();
  CHECK(h.digest() == first);
  Hasher moved = std::move(h);
  moved.add("b");
  CHECK(moved.digest() == Hasher().add("a").add("b").digest());
  CHECK(moved.digest() != first);
}

TEST_CASE("one flipped bit changes the digest") {
  std::vector<std::byte> data(300);
  const std::string before = hex_digest(data);
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK(hex_digest(data) != before);
    data[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST_SUITE_END();
