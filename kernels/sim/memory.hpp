// The simulated device's memory, and a record of the last accesses to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ferry::sim {

/// Memory that is mapped twice. ferry only knows the address device_address(), at which any access is a segmentation
/// fault. The simulator translates it to host_address(), at which kernels access the memory.
class Mapping {
 public:
  /// Returns nothing if there is not enough memory.
  [[nodiscard]] static std::optional<Mapping> make(std::uint64_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  [[nodiscard]] std::byte* device_address() const { return device_address_; }
  [[nodiscard]] std::byte* host_address() const { return host_address_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  Mapping(std::byte* device_address, std::byte* host_address, std::uint64_t bytes)
      : device_address_(device_address), host_address_(host_address), bytes_(bytes) {}
  std::byte *device_address_, *host_address_;
  std::uint64_t bytes_;
};

/// A vector clock. The entry of a strand is the number of its accesses (host) or work items (queues) that are known to
/// have happened. Strand 0 is the host; the others are queues.
using VectorClock = std::vector<std::uint32_t>;

/// A moment: access or work item `number` of a strand, for the instruction `tag`.
struct Moment {
  std::uint32_t strand = 0, number = 0;  ///< number 0: never
  const void* tag = nullptr;
};

/// Records the last write and the last reads of each byte.
class Touches {
 public:
  struct Race {
    Moment earlier;
    bool written = false;  ///< whether the earlier access was a write
  };
  /// Records that `now`, with vector clock `clock`, reads or writes these bytes. Returns a race if an earlier
  /// conflicting access is not in `clock`.
  std::optional<Race> touch(const std::byte* memory, std::uint64_t bytes, bool writes, const Moment& now,
                            const VectorClock& clock);
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
