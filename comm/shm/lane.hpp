// ShmLane: the messages from one task to another of its host. Its memory is in the receiver's segment.
//
// A message of at most Cell::kInline bytes is written into the next cell of a ring, the cell's number last: one cache
// line goes from core to core. For a longer one the sender needs the address of the receive's buffer: the receiver
// writes it into a ring of posts when the receive is made. The sender then copies straight into that buffer, and writes
// a cell which says so.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/system/cache_lines.hpp"
#include "comm/distance.hpp"
#include "comm/shm/segment.hpp"
#include "comm/transport.hpp"

namespace ferry::shm {

/// An entry that the sender writes.
struct alignas(64) Cell {
  static constexpr std::size_t kInline = 48;
  enum class Kind : std::uint32_t {
    value,     ///< the message itself
    landed,    ///< the message is in the buffer of its receive
    announced  ///< a message of that size waits, because it has no receive yet or one of another size
  };
  std::atomic<std::uint32_t> number;  ///< of the cell in its lane, from 1; written last
  std::uint32_t channel;
  std::uint64_t bytes : 62;
  std::uint64_t kind : 2;
  std::array<std::byte, kInline> payload;  ///< of `announced`: the message's number in its channel (8 bytes), from 0
};
static_assert(sizeof(Cell) == 64);

/// An entry that the receiver writes: a receive that waits for a longer message.
struct alignas(32) Post {
  static constexpr std::uint64_t kElsewhere = UINT64_MAX;  ///< `at`: the buffer is not in the segment
  std::atomic<std::uint32_t> number;                       ///< as of a cell
  std::uint32_t channel;
  std::uint64_t at;  ///< offset of the buffer in the receiver's segment
  std::uint64_t bytes;
};
static_assert(sizeof(Post) == 32);

/// Zeroed memory is a valid new one.
struct ShmLane {
  static constexpr std::uint32_t kCells = 128, kPosts = 128;
  std::array<Cell, kCells> cells;
  std::array<Post, kPosts> posts;
  alignas(64) std::atomic<std::uint32_t> cells_taken;  // written by the receiver
  alignas(64) std::atomic<std::uint32_t> posts_taken;  // written by the sender
};

/// A T for each channel. The lowest channels of plans, and the channels of direct calls, are found by index.
template <class T>
class PerChannel {
 public:
  T& operator[](std::uint32_t channel) {
    if (channel < kDense) return in(plans_, channel);
    if (channel - kFirstDirectChannel < kDense) return in(direct_, channel - kFirstDirectChannel);
    return sparse_[channel];
  }

 private:
  static constexpr std::uint32_t kDense = 1 << 16;

  static T& in(std::vector<T>& dense, std::uint32_t at) {
    if (at >= dense.size()) dense.resize(at + at / 2 + 16);
    return dense[at];
  }

  std::vector<T> plans_, direct_;
  std::unordered_map<std::uint32_t, T> sparse_;
};

/// The sender's end. Used by one thread.
class ShmOutbox {
 public:
  enum class Sent {
    full,      ///< not sent, as no cell is free
    waits,     ///< not sent, as there is no receive yet or one of another size
    complete,  ///< sent; the bytes may be overwritten
    elsewhere  ///< the receive's buffer is not in the segment: the caller sends it over another transport
  };
  ShmOutbox(ShmLane& lane, Segment& receiver) : lane_(lane), receiver_(receiver) {}

  /// Sends the next message of its channel if that can be done now. With `announce`, a long message that has to wait is
  /// announced to the receiver.
  [[nodiscard]] Sent send(std::uint32_t channel, std::span<const std::byte> bytes, bool announce);
  /// Whether there is a free cell, which every message needs.
  [[nodiscard]] bool has_cell() { return next_cell() != nullptr; }
  /// Where the next message of the channel goes; null when that is not known, or not in the segment, or when it has
  /// another size.
  [[nodiscard]] std::byte* window(std::uint32_t channel, std::uint64_t bytes);
  /// The size in bytes from which on a message is best written around the caches; depends on how near the receiver is.
  [[nodiscard]] std::size_t stream_from() const { return ferry::stream_from(distance_.far()); }

 private:
  struct Receive {
    std::uint64_t at, bytes;
  };
  struct Channel {
    std::vector<Receive> posted;  ///< receives without a message yet, from index `first` on
    std::size_t first = 0;
    std::uint64_t sent = 0;
    [[nodiscard]] const Receive* next() const { return first < posted.size() ? &posted[first] : nullptr; }
  };
  [[nodiscard]] Channel& with_posts(std::uint32_t channel);
  [[nodiscard]] Cell* next_cell();
  void write(Cell& cell, std::uint32_t channel, Cell::Kind kind, std::uint64_t bytes,
             std::span<const std::byte> payload);
  [[nodiscard]] Sent send_long(std::uint32_t channel, std::span<const std::byte> bytes, bool announce);
  void read_posts();
  [[nodiscard]] bool is_written(const Post& post);
  template <class Look>
  bool timed(Look look);

  ShmLane& lane_;
  Segment& receiver_;
  Distance distance_;
  PerChannel<Channel> channels_;
  std::uint32_t cells_ = 0, cells_taken_ = 0;  // cells written, and how many of them were taken at the last look
  std::uint32_t posts_ = 0;                    // posts read
};

/// A receive under way.
struct Receiving {
  std::byte* target = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  ///< among the messages of its channel
  bool complete = false;
  Receiving* next = nullptr;
};

/// The receiver's end. Used by one thread. Error(bug) when a message meets a receive of another size.
class Inbox {
 public:
  Inbox(ShmLane& lane, Segment& own, int from, int to) : lane_(lane), own_(own), from_(from), to_(to) {}

  /// Whether a receive of this size into that address can come through this lane. Else call skip(), and receive it over
  /// the other transport, where ShmOutbox::Sent::elsewhere makes the sender send it.
  [[nodiscard]] bool takes(const std::byte* target, std::uint64_t bytes) const {
    return bytes <= Cell::kInline || own_.holds(target, bytes);
  }
  /// Makes the next receive of its channel; complete at once when the message is there already. `receiving` must stay
  /// where it is until it is complete.
  void receive(std::uint32_t channel, Receiving& receiving);
  /// Takes the next message of the channel, which has at most Cell::kInline bytes and for which no receive was made;
  /// false when it has not come. Not while a receive of that channel is under way.
  [[nodiscard]] bool take(std::uint32_t channel, std::byte* target, std::uint64_t bytes);
  /// Says that the next receive of the channel comes over the other transport, so that the order is kept.
  void skip(std::uint32_t channel, std::uint64_t bytes);
  /// Takes what has come; true when there was something.
  [[nodiscard]] bool drain();
  /// Whether something has come.
  [[nodiscard]] bool has_mail() const {
    return lane_.cells[cells_ % ShmLane::kCells].number.load(std::memory_order_acquire) == cells_ + 1;
  }
  /// Writes posts for which there was no room before; true when at least one was written.
  [[nodiscard]] bool post_more();
  [[nodiscard]] bool has_unposted() const { return !unposted_.empty(); }
  [[nodiscard]] int waiting() const { return waiting_; }
  /// Prefetches the next cell into this core's cache: call it some time before the cell is read.
  void fetch_ahead() const { __builtin_prefetch(&lane_.cells[cells_ % ShmLane::kCells]); }

 private:
  struct Early {
    std::uint64_t bytes = 0;
    std::array<std::byte, Cell::kInline> payload;
  };
  struct Channel {
    Receiving* first = nullptr;
    Receiving* last = nullptr;
    std::vector<Early> early;                                   ///< messages that came before their receives
    std::uint64_t made = 0;                                     ///< receives made, and messages taken without one
    std::uint64_t announced = UINT64_MAX, announced_bytes = 0;  ///< number and size of the last announced message
  };
  struct Unposted {
    std::uint32_t channel;
    std::uint64_t at, bytes;
  };
  void post(std::uint32_t channel, std::uint64_t at, std::uint64_t bytes);
  [[nodiscard]] bool write_post(const Unposted& receive);
  void open(const Cell& cell);
  void next_cell();
  [[nodiscard]] bool take_early(Channel& channel, std::uint32_t number, std::byte* target, std::uint64_t bytes);
  void complete(Channel& channel, const std::byte* payload);
  void check(std::uint32_t channel, std::uint64_t sent, std::uint64_t expected) const;

  ShmLane& lane_;
  Segment& own_;
  int from_, to_;
  PerChannel<Channel> channels_;
  std::vector<Unposted> unposted_;
  std::uint32_t cells_ = 0;                    // cells read
  std::uint32_t early_ = 0;                    // early messages of all channels
  std::uint32_t posts_ = 0, posts_taken_ = 0;  // posts written, and how many of them were taken at the last look
  int waiting_ = 0;                            // receives under way
};

}  // namespace ferry::shm
