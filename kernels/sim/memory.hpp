// The simulated device's memory, and what has touched memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ferry::sim {

/// Memory that is mapped twice: at one address nobody may touch it, which is the one that ferry knows; at the other,
/// kernels do.
class Mapping {
 public:
  /// Nothing where the system has not so much.
  [[nodiscard]] static std::optional<Mapping> make(std::uint64_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  [[nodiscard]] std::byte* known() const { return known_; }
  [[nodiscard]] std::byte* real() const { return real_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  Mapping(std::byte* known, std::byte* real, std::uint64_t bytes) : known_(known), real_(real), bytes_(bytes) {}
  std::byte *known_, *real_;
  std::uint64_t bytes_;
};

/// How much has happened on each strand: 0 is the host, the others are queues.
using Knowledge = std::vector<std::uint32_t>;

/// A moment: instruction `number` of a strand, for `tag`.
struct Moment {
  std::uint32_t strand = 0, number = 0;  ///< number 0: never
  const void* tag = nullptr;
};

/// Who has touched which bytes last.
class Touches {
 public:
  struct Race {
    Moment earlier;
    bool written = false;  ///< by the earlier one
  };
  /// Notes that `now` reads or writes these bytes, knowing what `clock` says. A race, if it does not know of somebody
  /// who has touched them in a way that does not go with it.
  std::optional<Race> touch(const std::byte* memory, std::uint64_t bytes, bool writes, const Moment& now,
                            const Knowledge& clock);
  void forget(const std::byte* memory, std::uint64_t bytes);

 private:
  struct Touched {
    std::uintptr_t end = 0;
    Moment writer;
    std::vector<Moment> readers;  ///< since: of each strand the last
  };
  void cut(std::uintptr_t at);

  std::map<std::uintptr_t, Touched> bytes_;  // by their begin; disjoint
};

}  // namespace ferry::sim
