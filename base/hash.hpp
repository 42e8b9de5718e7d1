// Hashes: XXH3 (https://xxhash.com), the same on every machine and from every compiler. They are not cryptographic: use
// them to detect damage and to compare plans, but not against forgery.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

/// 64-bit XXH3 of the bytes. Thread-safe.
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0);

/// 128-bit XXH3 of the bytes as 32 lower-case hex digits, most significant first (as `xxh128sum` prints). Manifests
/// identify a file's content by it. Thread-safe.
[[nodiscard]] std::string hex_digest(std::span<const std::byte> bytes);

/// A hash built piece by piece. It includes the length of each text: add("ab"), add("c") differs from add("a"),
/// add("bc"). Not thread-safe.
///
///     Hasher h;
///     h.add("MatMul").add(3).add(0.5);
///     std::uint64_t fingerprint = h.digest();
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed = 0);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  /// Adds the length, then the bytes.
  Hasher& add(std::span<const std::byte> bytes);
  Hasher& add(std::string_view text);
  Hasher& add(const char* text) { return add(std::string_view(text)); }
  /// Adds an integer or bool as 64 bits, little-endian: add(3) and add(int64_t{3}) are the same.
  template <std::integral T>
  Hasher& add(T number) {
    return add_word(static_cast<std::uint64_t>(number));
  }
  /// Adds the bits of the number: 0.0 and -0.0 differ.
  Hasher& add(double number);

  /// The 64-bit hash of everything added so far; more may be added.
  [[nodiscard]] std::uint64_t digest() const;
  /// The 128-bit hash of everything added so far, as 32 hex digits.
  [[nodiscard]] std::string hex() const;

 private:
  struct State;
  Hasher& add_word(std::uint64_t word);
  std::unique_ptr<State> state_;
};

}  // namespace ferry
#pragma GCC visibility pop
