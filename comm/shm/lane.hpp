// ShmLane: the messages from one task to another of its host. Its memory lies in the receiver's segment.
//
// A message of at most Cell::kInline bytes is written into the next cell of a ring, its number last: one cache line
// goes from core to core. A longer one needs the address of its receive first: the receiver writes it into a ring of
// posts as soon as the receive is made. The sender then copies straight into that buffer, and a cell says so.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/system/stream_copy.hpp"
#include "comm/distance.hpp"
#include "comm/shm/segment.hpp"

namespace ferry::shm {

/// What the sender tells.
struct alignas(64) Cell {
  static constexpr std::size_t kInline = 48;
  enum class Kind : std::uint32_t {
    value,     ///< the message itself
    landed,    ///< the message is in the buffer of its receive
    announced  ///< a message of that size waits for its receive, or fits it not
  };
  std::atomic<std::uint32_t> number;  ///< of the cell in its lane, from 1; written last
  std::uint32_t channel;
  std::uint64_t bytes : 62;
  std::uint64_t kind : 2;
  std::array<std::byte, kInline> payload;  ///< of `announced`: which message of its channel it is (8 bytes)
};
static_assert(sizeof(Cell) == 64);

/// A receive that waits for a longer message.
struct alignas(32) Post {
  static constexpr std::uint64_t kElsewhere = UINT64_MAX;  ///< `at`: the buffer is not in the segment
  std::atomic<std::uint32_t> number;
  std::uint32_t channel;
  std::uint64_t at;  ///< in the receiver's segment
  std::uint64_t bytes;
};
static_assert(sizeof(Post) == 32);

/// Zeroed memory is a fresh one.
struct ShmLane {
  static constexpr std::uint32_t kCells = 128, kPosts = 128;
  std::array<Cell, kCells> cells;
  std::array<Post, kPosts> posts;
  alignas(64) std::atomic<std::uint32_t> cells_taken;  // by the receiver
  alignas(64) std::atomic<std::uint32_t> posts_taken;  // by the sender
};

/// Something for each channel, found at once for the small numbers that plans use.
template <class T>
class PerChannel {
 public:
  T& operator[](std::uint32_t channel) {
    if (channel >= kDense) return sparse_[channel];
    if (channel >= dense_.size()) dense_.resize(channel + channel / 2 + 16);
    return dense_[channel];
  }

 private:
  static constexpr std::uint32_t kDense = 1 << 16;
  std::vector<T> dense_;
  std::unordered_map<std::uint32_t, T> sparse_;
};

/// The sender's end. Used by one thread.
class ShmOutbox {
 public:
  enum class Sent {
    full,      ///< there is no room
    waits,     ///< there is no receive yet
    complete,  ///< the bytes may be overwritten
    elsewhere  ///< the receive's buffer is not in the segment: to be sent in another way
  };
  ShmOutbox(ShmLane& lane, Segment& receiver) : lane_(lane), receiver_(receiver) {}

  /// Sends the next message of its channel if that can be done now. `announce`: says so to the receiver if it is a long
  /// one that has to wait.
  [[nodiscard]] Sent send(std::uint32_t channel, std::span<const std::byte> bytes, bool announce);
  /// Where the next message of its channel goes; null when that is not known, or not in the segment.
  [[nodiscard]] std::byte* window(std::uint32_t channel, std::uint64_t bytes);
  /// From so many bytes on a message is best written around the caches, as near as the receiver is now.
  [[nodiscard]] std::size_t stream_from() const { return ferry::stream_from(distance_.far()); }

 private:
  struct Receive {
    std::uint64_t at, bytes;
  };
  struct Channel {
    std::vector<Receive> posted;  ///< from `first` on
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
  std::uint32_t cells_ = 0, cells_taken_ = 0;  // written; of them taken, when last looked
  std::uint32_t posts_ = 0;                    // read
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

  /// Whether receives of so many bytes to that address come through here; else only their place in the order is kept,
  /// and they are to be received in the way that ShmOutbox::Sent::elsewhere is sent.
  [[nodiscard]] bool takes(const std::byte* target, std::uint64_t bytes) const {
    return bytes <= Cell::kInline || own_.holds(target, bytes);
  }
  /// Makes the next receive of its channel; complete at once when the message is there already. `receiving` must stay
  /// where it is until it is complete.
  void receive(std::uint32_t channel, Receiving& receiving);
  /// The next message of its channel, which is at most Cell::kInline bytes long and for which no receive was made;
  /// false when it has not come. Not while a receive of that channel is under way.
  [[nodiscard]] bool take(std::uint32_t channel, std::byte* target, std::uint64_t bytes);
  /// The next receive of its channel comes elsewhere.
  void skip(std::uint32_t channel, std::uint64_t bytes);
  /// Takes what has come; true when there was something.
  [[nodiscard]] bool drain();
  /// Whether something has come.
  [[nodiscard]] bool has_mail() const {
    return lane_.cells[cells_ % ShmLane::kCells].number.load(std::memory_order_acquire) == cells_ + 1;
  }
  /// Posts that found no room; true when one is in now.
  [[nodiscard]] bool post_more();
  [[nodiscard]] bool has_unposted() const { return !unposted_.empty(); }
  [[nodiscard]] int waiting() const { return waiting_; }
  /// Brings the next cell here, if it has been written: to be called some time before it is looked for.
  void fetch_ahead() const { __builtin_prefetch(&lane_.cells[cells_ % ShmLane::kCells]); }

 private:
  struct Early {
    std::uint64_t bytes = 0;
    std::array<std::byte, Cell::kInline> payload;
  };
  struct Channel {
    Receiving* first = nullptr;
    Receiving* last = nullptr;
    std::vector<Early> early;                                   ///< came before their receives
    std::uint64_t made = 0;                                     ///< receives, and messages taken without one
    std::uint64_t announced = UINT64_MAX, announced_bytes = 0;  ///< the last such message
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
  std::uint32_t cells_ = 0;                    // read
  std::uint32_t early_ = 0;                    // messages that wait in all channels
  std::uint32_t posts_ = 0, posts_taken_ = 0;  // written; of them taken, when last looked
  int waiting_ = 0;                            // receives under way
};

}  // namespace ferry::shm
