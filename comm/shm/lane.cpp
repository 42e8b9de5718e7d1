#include "comm/shm/lane.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "comm/failure.hpp"

namespace ferry::shm {
namespace {

/// The number of cells that the receiver gives back at a time, because each store to cells_taken moves a cache line
/// between cores.
constexpr std::uint32_t kGiveBack = 32;
/// Of this number of posts, the read of the first is timed, for Distance. The posts fill two cache lines, which the
/// processor may fetch together, so only the first read shows the time. All reads of cells_taken are timed, too.
constexpr std::uint32_t kTimedPosts = 4;

/// memcpy for a cell's payload, without a function call for 4 and 8 bytes (scalars).
void copy_short(std::byte* target, const std::byte* source, std::size_t bytes) {
  if (bytes == 4)
    std::memcpy(target, source, 4);
  else if (bytes == 8)
    std::memcpy(target, source, 8);
  else if (bytes > 0)
    std::memcpy(target, source, bytes);
}

}  // namespace

// ---- Sender ----

/// Calls `look`, which reads a cache line and returns whether the receiver has written it since the last look. If so,
/// the line came from the receiver's core, and the time counts for the distance. Returns what `look` does.
template <class Look>
bool ShmOutbox::timed(Look look) {
  if (ferry::stream_from(true) == ferry::stream_from(false)) return look();
  const auto begin = std::chrono::steady_clock::now();
  const bool written = look();
  if (written) distance_.took(std::chrono::steady_clock::now() - begin);
  return written;
}

Cell* ShmOutbox::next_cell() {
  if (cells_ - cells_taken_ == ShmLane::kCells) {
    timed([&] {
      const std::uint32_t before = std::exchange(cells_taken_, lane_.cells_taken.load(std::memory_order_acquire));
      return before != cells_taken_;
    });
    if (cells_ - cells_taken_ == ShmLane::kCells) return nullptr;
  }
  return &lane_.cells[cells_ % ShmLane::kCells];
}

void ShmOutbox::write(Cell& cell, std::uint32_t channel, Cell::Kind kind, std::uint64_t bytes,
                      std::span<const std::byte> payload) {
  cell.channel = channel;
  cell.bytes = bytes & (UINT64_MAX >> 2);
  cell.kind = static_cast<std::uint64_t>(kind) & 3;
  copy_short(cell.payload.data(), payload.data(), payload.size());
  cell.number.store(++cells_, std::memory_order_release);
}

ShmOutbox::Sent ShmOutbox::send(std::uint32_t channel, std::span<const std::byte> bytes, bool announce) {
  if (bytes.size() > Cell::kInline) return send_long(channel, bytes, announce);
  Cell* cell = next_cell();
  if (cell == nullptr) return Sent::full;
  ++channels_[channel].sent;
  write(*cell, channel, Cell::Kind::value, bytes.size(), bytes);
  return Sent::complete;
}

/// Returns the channel. If the channel has no posted receive, reads new posts first.
ShmOutbox::Channel& ShmOutbox::with_posts(std::uint32_t channel) {
  if (channels_[channel].next() == nullptr) read_posts();
  return channels_[channel];
}

std::byte* ShmOutbox::window(std::uint32_t channel, std::uint64_t bytes) {
  if (bytes <= Cell::kInline) return nullptr;
  const Receive* next = with_posts(channel).next();
  return next != nullptr && next->bytes == bytes && next->at != Post::kElsewhere ? receiver_.data() + next->at
                                                                                 : nullptr;
}

ShmOutbox::Sent ShmOutbox::send_long(std::uint32_t channel, std::span<const std::byte> bytes, bool announce) {
  Channel& state = with_posts(channel);
  Cell* cell = next_cell();
  if (cell == nullptr) return Sent::full;
  if (state.next() == nullptr || state.next()->bytes != bytes.size()) {
    const auto number = std::as_bytes(std::span(&state.sent, 1));
    if (announce) write(*cell, channel, Cell::Kind::announced, bytes.size(), number);
    return Sent::waits;
  }
  const Receive receive = state.posted[state.first++];
  if (state.first == state.posted.size()) {
    state.posted.clear();
    state.first = 0;
  }
  ++state.sent;
  if (receive.at == Post::kElsewhere) return Sent::elsewhere;
  if (std::byte* const target = receiver_.data() + receive.at; target != bytes.data()) {
    copy_for_reader(target, bytes.data(), bytes.size(), bytes.size() >= stream_from());
    stream_fence();
  }
  write(*cell, channel, Cell::Kind::landed, bytes.size(), {});
  return Sent::complete;
}

bool ShmOutbox::is_written(const Post& post) {
  const auto look = [&] { return post.number.load(std::memory_order_acquire) == posts_ + 1; };
  return posts_ % kTimedPosts == 0 ? timed(look) : look();
}

void ShmOutbox::read_posts() {
  for (;;) {
    const Post& post = lane_.posts[posts_ % ShmLane::kPosts];
    if (!is_written(post)) return;
    channels_[post.channel].posted.push_back({post.at, post.bytes});
    lane_.posts_taken.store(++posts_, std::memory_order_release);
  }
}

// ---- Receiver ----

void Inbox::check(std::uint32_t channel, std::uint64_t sent, std::uint64_t expected) const {
  if (sent != expected) throw size_error(from_, to_, channel, sent, expected);
}

void Inbox::receive(std::uint32_t channel, Receiving& receiving) {
  Channel& state = channels_[channel];
  receiving.number = state.made++;
  receiving.next = nullptr;
  receiving.complete = take_early(state, channel, receiving.target, receiving.bytes);
  if (receiving.complete) return;
  if (state.announced == receiving.number) check(channel, state.announced_bytes, receiving.bytes);
  (state.first == nullptr ? state.first : state.last->next) = &receiving;
  state.last = &receiving;
  ++waiting_;
  if (receiving.bytes > Cell::kInline)
    post(channel, static_cast<std::uint64_t>(receiving.target - own_.data()), receiving.bytes);
}

/// Takes the channel's oldest message that arrived before its receive. Returns false if there is none.
bool Inbox::take_early(Channel& channel, std::uint32_t number, std::byte* target, std::uint64_t bytes) {
  if (channel.early.empty()) return false;
  const Early early = channel.early.front();
  channel.early.erase(channel.early.begin());
  --early_;
  check(number, early.bytes, bytes);
  copy_short(target, early.payload.data(), bytes);
  return true;
}

bool Inbox::take(std::uint32_t channel, std::byte* target, std::uint64_t bytes) {
  bool taken = early_ > 0 && take_early(channels_[channel], channel, target, bytes);
  while (!taken && has_new_cell()) {
    const Cell& cell = lane_.cells[cells_ % ShmLane::kCells];
    taken = cell.channel == channel && static_cast<Cell::Kind>(cell.kind) == Cell::Kind::value;
    if (taken) {
      check(channel, cell.bytes, bytes);
      copy_short(target, cell.payload.data(), bytes);
    } else {
      open(cell);
    }
    next_cell();
  }
  Channel& state = channels_[channel];
  if (!taken && state.announced == state.made) check(channel, state.announced_bytes, bytes);
  state.made += taken ? 1 : 0;
  return taken;
}

void Inbox::next_cell() {
  if (++cells_ % kGiveBack == 0) lane_.cells_taken.store(cells_, std::memory_order_release);
}

void Inbox::skip(std::uint32_t channel, std::uint64_t bytes) {
  Channel& state = channels_[channel];
  if (state.announced == state.made) check(channel, state.announced_bytes, bytes);
  ++state.made;
  post(channel, Post::kElsewhere, bytes);
}

void Inbox::post(std::uint32_t channel, std::uint64_t at, std::uint64_t bytes) {
  const Unposted receive{channel, at, bytes};
  if (!unposted_.empty() || !write_post(receive)) unposted_.push_back(receive);
}

bool Inbox::write_post(const Unposted& receive) {
  if (posts_ - posts_taken_ == ShmLane::kPosts) {
    posts_taken_ = lane_.posts_taken.load(std::memory_order_acquire);
    if (posts_ - posts_taken_ == ShmLane::kPosts) return false;
  }
  Post& post = lane_.posts[posts_ % ShmLane::kPosts];
  post.channel = receive.channel;
  post.at = receive.at;
  post.bytes = receive.bytes;
  post.number.store(++posts_, std::memory_order_release);
  return true;
}

bool Inbox::post_more() {
  std::size_t done = 0;
  while (done < unposted_.size() && write_post(unposted_[done])) ++done;
  unposted_.erase(unposted_.begin(), unposted_.begin() + static_cast<std::ptrdiff_t>(done));
  return done > 0;
}

bool Inbox::handle_cells() {
  if (!has_new_cell()) return false;
  do {
    open(lane_.cells[cells_ % ShmLane::kCells]);
    next_cell();
  } while (has_new_cell());
  return true;
}

void Inbox::open(const Cell& cell) {
  Channel& state = channels_[cell.channel];
  switch (static_cast<Cell::Kind>(cell.kind)) {
    case Cell::Kind::value:
      if (state.first != nullptr) {
        check(cell.channel, cell.bytes, state.first->bytes);
        return complete(state, cell.payload.data());
      }
      state.early.push_back({cell.bytes, cell.payload});
      ++early_;
      return;
    case Cell::Kind::landed:
      FERRY_ASSERT(state.first != nullptr && state.first->bytes == cell.bytes, "a message landed nowhere");
      return complete(state, nullptr);
    case Cell::Kind::announced:
      std::memcpy(&state.announced, cell.payload.data(), sizeof state.announced);
      state.announced_bytes = cell.bytes;
      if (state.first != nullptr && state.first->number == state.announced)
        check(cell.channel, cell.bytes, state.first->bytes);
      return;
  }
}

/// Completes the channel's first receive. `payload`: the message, or null if it is in the receive's buffer already.
void Inbox::complete(Channel& channel, const std::byte* payload) {
  Receiving& receiving = *channel.first;
  channel.first = receiving.next;
  if (payload != nullptr) copy_short(receiving.target, payload, receiving.bytes);
  receiving.complete = true;
  --waiting_;
}

}  // namespace ferry::shm
