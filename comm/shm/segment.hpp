// Segment: memory of one task that the other tasks of its host map.
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

/// A range of addresses that several processes have, backed by a file without a name (memfd): it is gone with the last
/// of them, however they end. The range is far larger than what is used; pages come with reserve(), so that memory that
/// is not there is an error and never a SIGBUS.
class Segment {
 public:
  /// A new one of up to `bytes`. Nothing when this system gives none (no memfd, or no room for so many addresses).
  [[nodiscard]] static std::unique_ptr<Segment> make(std::uint64_t bytes);
  /// That of another task, from what its ticket() said. Nothing when it is not there: another host, another container,
  /// another user.
  [[nodiscard]] static std::unique_ptr<Segment> open(std::string_view ticket);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// What another process of this host needs to open it: process, file descriptor, a random name.
  [[nodiscard]] const std::string& ticket() const { return ticket_; }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool holds(const std::byte* at, std::uint64_t bytes) const {
    return at >= data_ && bytes <= bytes_ && at <= data_ + (bytes_ - bytes);
  }

  /// Gives [begin, begin + bytes) its pages, zeroed. Error(resource) naming `what` and the bytes when there is not so
  /// much memory. Of an own segment.
  void reserve(std::uint64_t begin, std::uint64_t bytes, std::string_view what);
  /// Gives the pages back.
  void release(std::uint64_t begin, std::uint64_t bytes) noexcept;

 private:
  Segment(int file, std::byte* data, std::uint64_t bytes, std::string ticket)
      : file_(file), data_(data), bytes_(bytes), ticket_(std::move(ticket)) {}

  int file_;
  std::byte* data_;
  std::uint64_t bytes_;
  std::string ticket_;
};

/// Hands out reserved parts of an own segment, from `begin` to its end. Thread-safe.
class Store : public std::enable_shared_from_this<Store> {
 public:
  Store(std::shared_ptr<Segment> segment, std::uint64_t begin);
  /// Zeroed memory at a page's begin, back in the store when the last owner is gone. Errors as Segment::reserve.
  [[nodiscard]] std::shared_ptr<std::byte> take(std::uint64_t bytes, std::string_view what);

 private:
  void give(std::uint64_t begin, std::uint64_t bytes) noexcept;

  std::shared_ptr<Segment> segment_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> bytes; neighbours are merged
};

}  // namespace ferry::shm
