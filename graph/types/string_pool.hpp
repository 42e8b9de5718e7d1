// StringPool: many short strings, each stored once and identified by a number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// Interns strings: equal strings get equal numbers, in order of first use. Not thread-safe.
class StringPool {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  StringPool();
  /// Returns the number of `text`, after adding it if it is new. Throws Error(resource) beyond 4 GiB of text.
  std::uint32_t intern(std::string_view text);
  /// Loads memory for a later search of `text` into the cache.
  void prefetch(std::string_view text) const;
  /// Reserves memory for `count` strings.
  void reserve(std::uint32_t count);
  /// The number of `text`, or kNone.
  [[nodiscard]] std::uint32_t find(std::string_view text) const;
  [[nodiscard]] std::string_view operator[](std::uint32_t id) const {
    return {chars_.data() + ends_[id], ends_[id + 1] - ends_[id]};
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size() - 1); }

 private:
  /// A number, and the upper half of its string's hash. If two hashes differ, the strings need not be compared.
  struct Slot {
    std::uint32_t id = kNone, tag = 0;
  };

  [[nodiscard]] std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
  void grow(std::size_t slots);

  std::vector<char> chars_;
  std::vector<std::uint32_t> ends_;  // string i is [ends_[i], ends_[i + 1])
  std::vector<Slot> slots_;          // hash table: open addressing, size a power of two, kNone is free
};

}  // namespace ferry
#pragma GCC visibility pop
