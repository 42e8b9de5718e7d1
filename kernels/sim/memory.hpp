// The simulated device's memory, and a record of who has accessed which memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ferry::sim {

/// Memory that is mapped twice. Ferry knows only the address at which any access is a segmentation fault; the simulator
/// translates it to the other one, at which kernels access the memory.
class Mapping {
 public:
  /// Nothing if there is not enough memory.
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

/// A vector clock: for each strand the number of its accesses (host) or its work items (queues) that are known to have
/// happened. Strand 0 is the host, the others are queues.
using Knowledge = std::vector<std::uint32_t>;

/// A moment: access or work item `number` of a strand, for the instruction `tag`.
struct Moment {
  std::uint32_t strand = 0, number = 0;  ///< number 0: never
  const void* tag = nullptr;
};

/// Records who has read and written which bytes last.
class Touches {
 public:
  struct Race {
    Moment earlier;
    bool written = false;  ///< whether the earlier access was a write
  };
  /// Records that `now`, with vector clock `clock`, reads or writes these bytes. Returns a race if there is a
  /// conflicting earlier access that `clock` does not know of.
  std::optional<Race> touch(const std::byte* memory, std::uint64_t bytes, bool writes, const Moment& now,
                            const Knowledge& clock);
  void forget(const std::byte* memory, std::uint64_t bytes);

 private:
  struct Touched {
    std::uintptr_t end = 0;
    Moment writer;
    std::vector<Moment> readers;  ///< the last read of each strand since `writer`
  };
  void cut(std::uintptr_t at);

  std::map<std::uintptr_t, Touched> bytes_;  // disjoint ranges, by their begin
};

}  // namespace ferry::sim
