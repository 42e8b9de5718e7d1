#include "base/hash.hpp"

#define XXH_INLINE_ALL  // local to this file, so that a program's own xxHash cannot replace it
#include <xxhash.h>

#include <array>
#include <bit>
#include <new>

namespace ferry {
namespace {

std::string hex(XXH128_hash_t hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::uint64_t half : {hash.high64, hash.low64}) {
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(half >> shift) & 15];
  }
  return out;
}

}  // namespace

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash64(std::string_view text, std::uint64_t seed) {
  return hash64(std::as_bytes(std::span(text)), seed);
}

std::string hex_digest(std::span<const std::byte> bytes) {
  return hex(XXH3_128bits(bytes.data(), bytes.size()));
}

struct Hasher::State {
  explicit State(std::uint64_t seed) : xxh(XXH3_createState()) {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset_withSeed(xxh, seed);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* xxh;
};

Hasher::Hasher(std::uint64_t seed) : state_(std::make_unique<State>(seed)) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  add_word(bytes.size());
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  return add(std::as_bytes(std::span(text)));
}

Hasher& Hasher::add(double number) {
  return add_word(std::bit_cast<std::uint64_t>(number));
}

Hasher& Hasher::add_word(std::uint64_t word) {
  std::array<unsigned char, 8> bytes;
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(word >> (8 * i));
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
  return *this;
}

std::uint64_t Hasher::digest() const {
  return XXH3_128bits_digest(state_->xxh).low64;
}

std::string Hasher::hex() const {
  return ferry::hex(XXH3_128bits_digest(state_->xxh));
}

}  // namespace ferry
