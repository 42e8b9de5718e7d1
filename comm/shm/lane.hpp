// ShmLane: the messages from one task to another task of the same host. Its memory is in the receiver's segment.
//
// The sender writes a message of at most Cell::kInline bytes into the next cell of a ring, and the cell's number last.
// So one cache line moves from core to core. For a longer message, the sender needs the address of the receive's
// buffer: when the receive is made, the receiver writes the address into a ring of posts. The sender then copies
// directly into that buffer, and reports this in a cell.
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
    announced  ///< a message of that size waits: its receive is missing, or has another size
  };
  std::atomic<std::uint32_t> number;  ///< number of the cell in its lane, from 1; written last
  std::uint32_t channel;
  std::uint64_t bytes : 62;
  std::uint64_t kind : 2;
  std::array<std::byte, kInline> payload;  ///< for `announced`: the message's number in its channel (8 bytes), from 0
};
static_assert(sizeof(Cell) == 64);

/// An entry that the receiver writes: a receive that waits for a longer message.
struct alignas(32) Post {
  static constexpr std::uint64_t kElsewhere = UINT64_MAX;  ///< `at`: the buffer is not in the segment
  std::atomic<std::uint32_t> number;                       ///< number of the post in its lane, as for a cell
  std::uint32_t channel;
  std::uint64_t at;  ///< offset of the buffer in the receiver's segment
  std::uint64_t bytes;
};
static_assert(sizeof(Post) == 32);

/// The shared memory of a lane. Zeroed memory is a valid empty lane.
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

/// The sender's end. Only one thread may use it.
class ShmOutbox {
 public:
  enum class Sent {
    full,      ///< not sent, because no cell is free
    waits,     ///< not sent, because the receive is missing or has another size
    complete,  ///< sent; the bytes may be overwritten
    elsewhere  ///< the receive's buffer is not in the segment: the caller sends it over another transport
  };
  ShmOutbox(ShmLane& lane, Segment& receiver) : lane_(lane), receiver_(receiver) {}

  /// Sends the next message of its channel if that can be done now. With `announce`, a long message that has to wait is
  /// announced to the receiver.
  [[nodiscard]] Sent send(std::uint32_t channel, std::span<const std::byte> bytes, bool announce);
  /// Whether there is a free cell, which every message needs.
  [[nodiscard]] bool has_cell() { return next_cell() != nullptr; }
  /// The receive's buffer for the next message of the channel, of more than Cell::kInline bytes. Null if the receive is
  /// missing, has another size, or has a buffer outside of the segment.
  [[nodiscard]] std::byte* window(std::uint32_t channel, std::uint64_t bytes);
  /// The size in bytes from which a message is best written around the caches. It depends on the distance to the
  /// receiver.
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
  std::uint32_t cells_ = 0, cells_taken_ = 0;  // cells written, and cells taken as last read
  std::uint32_t posts_ = 0;                    // posts read
};

/// A pending receive.
struct Receiving {
  std::byte* target = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  ///< number of its message in the channel
  bool complete = false;
  Receiving* next = nullptr;
};

/// The receiver's end. Only one thread may use it. Error(bug) if a message and its receive have different sizes.
class Inbox {
 public:
  Inbox(ShmLane& lane, Segment& own, int from, int to) : lane_(lane), own_(own), from_(from), to_(to) {}

  /// Whether this lane can deliver a message of this size to this address. If not, call skip(), and receive the message
  /// over the other transport: the sender gets ShmOutbox::Sent::elsewhere and sends it there.
  [[nodiscard]] bool takes(const std::byte* target, std::uint64_t bytes) const {
    return bytes <= Cell::kInline || own_.holds(target, bytes);
  }
  /// Makes the next receive of the channel. It is complete at once if the message has arrived already. `receiving` must
  /// not move until it is complete.
  void receive(std::uint32_t channel, Receiving& receiving);
  /// Takes the next message of the channel without a receive. Returns false if it has not arrived. The message has at
  /// most Cell::kInline bytes. Do not call it while a receive of the channel is pending.
  [[nodiscard]] bool take(std::uint32_t channel, std::byte* target, std::uint64_t bytes);
  /// Reports that the next message of the channel comes over the other transport, so that the order is kept.
  void skip(std::uint32_t channel, std::uint64_t bytes);
  /// Handles all cells that have arrived. Returns whether there were any.
  [[nodiscard]] bool handle_cells();
  /// Whether a cell has arrived that is not handled yet.
  [[nodiscard]] bool has_new_cell() const {
    return lane_.cells[cells_ % ShmLane::kCells].number.load(std::memory_order_acquire) == cells_ + 1;
  }
  /// Writes posts for which there was no room before. Returns whether it has written any.
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
    std::vector<Early> early;  ///< messages that came before their receives
    /// Number of receives made, and of messages taken without a receive.
    std::uint64_t made = 0;
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
  std::uint32_t posts_ = 0, posts_taken_ = 0;  // posts written, and posts taken as last read
  int waiting_ = 0;                            // pending receives
};

}  // namespace ferry::shm
