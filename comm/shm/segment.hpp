// Segment: memory of one task that other tasks of its host map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ferry::shm {

inline constexpr std::uint64_t kPage = 4096;  // bytes

/// Memory that several processes map, backed by an anonymous file (memfd): the system frees it when the last of these
/// processes has ended, in any way. The range of addresses is far larger than the used part. reserve() allocates the
/// pages, so that a lack of memory is an error and never a SIGBUS.
class Segment {
 public:
  /// Makes a new segment of up to `bytes` bytes. Null if the system has no memfd or not enough address space.
  [[nodiscard]] static std::unique_ptr<Segment> make(std::uint64_t bytes);
  /// Maps the segment of another task, given its ticket(). Null if the segment cannot be opened, because the task is on
  /// another host, in another container, or of another user.
  [[nodiscard]] static std::unique_ptr<Segment> open(std::string_view ticket);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// The text with which another process of this host can open the segment: process, file descriptor, a random name.
  [[nodiscard]] const std::string& ticket() const { return ticket_; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool holds(const std::byte* at, std::uint64_t bytes) const {
    return at >= data_ && bytes <= bytes_ && at <= data_ + (bytes_ - bytes);
  }

  /// Allocates the pages of [begin, begin + bytes), zeroed. Error(resource), with `what` and the size, if there is not
  /// enough memory. Only for a segment from make().
  void reserve(std::uint64_t begin, std::uint64_t bytes, std::string_view what);
  /// Gives the pages back to the system.
  void release(std::uint64_t begin, std::uint64_t bytes) noexcept;

 private:
  Segment(int file, std::byte* data, std::uint64_t bytes, std::string ticket)
      : file_(file), data_(data), bytes_(bytes), ticket_(std::move(ticket)) {}

  int file_;
  std::byte* data_;
  std::uint64_t bytes_;
  std::string ticket_;
};

/// Allocates memory in a segment from make(), between offset `begin` and its end. Thread-safe.
class Store : public std::enable_shared_from_this<Store> {
 public:
  Store(std::shared_ptr<Segment> segment, std::uint64_t begin);
  /// Returns zeroed memory, aligned to a page. The memory returns to the store when its last owner is destroyed. Errors
  /// as Segment::reserve, also when the segment's addresses are used up.
  [[nodiscard]] std::shared_ptr<std::byte> take(std::uint64_t bytes, std::string_view what);

 private:
  void give(std::uint64_t begin, std::uint64_t bytes) noexcept;

  std::shared_ptr<Segment> segment_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> bytes; neighbours are merged
};

}  // namespace ferry::shm
