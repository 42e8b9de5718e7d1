#include "comm/tcp/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ferry::tcp {
namespace {

// Bytes per read, besides the bytes that are read directly into their target.
constexpr std::size_t kStaging = 32 << 10;
constexpr int kMostReads = 16;            // reads before other connections have their turn
constexpr std::size_t kTurn = 256 << 10;  // bytes to send before reading arrived data, which is still in the caches

std::array<std::byte, std::max(kPiece, kEager)> zeros;  // never written

bool try_again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

bool is_word(Kind kind) {
  return kind == Kind::text || kind == Kind::failure || kind == Kind::renewed || kind == Kind::lost;
}

iovec piece(const std::byte* begin, std::size_t bytes) {
  return {const_cast<std::byte*>(begin), bytes};  // NOLINT: iovec serves reading and writing
}

}  // namespace

void Connection::send(const FrameHead& head, std::span<const std::byte> body, std::uint32_t transfer) {
  frames_.push_back({head, body, {}, transfer, 0});
  flush();
}

void Connection::send_word(const FrameHead& head, std::string body) {
  frames_.push_back({head, {}, std::move(body), kNobody, 0});
  flush();
}

void Connection::send_pieces(const FrameHead& head, std::span<const std::byte> bytes, std::uint32_t transfer) {
  long_.push_back({head, bytes, {}, transfer, 0});
  flush();
}

/// Makes the next frame the current one. Returns false if there is none.
bool Connection::load_next_frame() {
  if (current_) return true;
  if (!frames_.empty()) {
    current_ = std::move(frames_.front());
    frames_.pop_front();
    return true;
  }
  if (long_.empty()) return false;
  Outgoing& message = long_.front();
  const std::size_t bytes = std::min(message.body.size(), kPiece);
  current_ = Outgoing{message.head, message.body.first(bytes), {}, kNobody, 0};
  current_->head.bytes = bytes;
  message.body = message.body.subspan(bytes);
  if (message.body.empty()) {
    current_->transfer = message.transfer;
    long_.pop_front();
  }
  return true;
}

void Connection::flush() {
  std::size_t bytes = 0;
  while (broken_ == 0 && bytes < kTurn && load_next_frame() && write_some()) {
    bytes += current_->bytes().size();
    if (has_body(current_->head.kind))
      count_ = {count_.messages + 1, count_.bytes + static_cast<std::int64_t>(current_->bytes().size())};
    const std::uint32_t transfer = current_->transfer;
    current_.reset();
    if (transfer != kNobody) user_->sent(transfer);
  }
}

/// Writes more of the current frame. Returns true when it is complete.
bool Connection::write_some() {
  Outgoing& out = *current_;
  for (;;) {
    const auto* head = reinterpret_cast<const std::byte*>(&out.head);
    const std::span<const std::byte> body = out.bytes();
    const std::size_t of_head = std::min(out.sent, sizeof out.head), of_body = out.sent - of_head;
    std::array<iovec, 2> pieces{piece(head + of_head, sizeof out.head - of_head),
                                piece(body.data() + of_body, body.size() - of_body)};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const ssize_t count = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (count >= 0) {
      out.sent += static_cast<std::size_t>(count);
      moved_ += static_cast<std::uint64_t>(count);
      if (out.complete()) return true;
    } else if (errno != EINTR) {
      // Data that the other end sent before it ended can still be read, and gives the reason.
      if (!try_again()) broken_ = errno;
      return false;
    }
  }
}

void Connection::forget_messages() {
  long_.clear();
  std::erase_if(frames_, [](const Outgoing& out) { return !out.body.empty() || out.transfer != kNobody; });
  if (current_) {
    current_->transfer = kNobody;
    if (!current_->body.empty()) current_->body = std::span(zeros).first(current_->body.size());
  }
  target_ = nullptr;
}

std::optional<int> Connection::read() {
  thread_local std::array<std::byte, kStaging> staging;
  for (int reads = 0; reads < kMostReads && socket_.open(); ++reads) {
    const std::size_t direct = target_ != nullptr ? body_left() : 0;
    std::array<iovec, 2> pieces{piece(target_ == nullptr ? nullptr : target_ + body_got_, direct),
                                piece(staging.data(), staging.size())};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const ssize_t count = recvmsg(socket_.get(), &message, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && try_again()) return std::nullopt;
    if (count <= 0) {
      const int why = count == 0 ? broken_ : errno;  // the system reports an error only once
      socket_.close();
      return why;
    }
    const auto got = static_cast<std::size_t>(count), in_place = std::min(got, direct);
    moved_ += got;
    body_got_ += in_place;
    if (in_place > 0 && body_left() == 0) end();
    parse_bytes(std::span(staging).first(got - in_place));
    if (got < direct + staging.size()) return std::nullopt;
  }
  return std::nullopt;
}

/// Parses the bytes that were read into the staging memory.
void Connection::parse_bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (head_got_ < sizeof head_) {
      const std::size_t count = std::min(bytes.size(), sizeof head_ - head_got_);
      std::memcpy(reinterpret_cast<std::byte*>(&head_) + head_got_, bytes.data(), count);
      head_got_ += count;
      bytes = bytes.subspan(count);
      if (head_got_ < sizeof head_) return;
      begin();
      if (body_left() == 0) end();
      continue;
    }
    const std::size_t count = std::min(bytes.size(), body_left());
    if (target_ != nullptr) std::memcpy(target_ + body_got_, bytes.data(), count);
    if (is_word(head_.kind)) word_.append(reinterpret_cast<const char*>(bytes.data()), count);
    body_got_ += count;
    bytes = bytes.subspan(count);
    if (body_left() == 0) end();
  }
}

void Connection::begin() {
  body_got_ = 0;
  target_ = nullptr;
  target_ = user_->begins(head_);
}

void Connection::end() {
  head_got_ = 0;
  target_ = nullptr;
  const FrameHead head = head_;
  user_->ended(head, std::exchange(word_, {}));
}

}  // namespace ferry::tcp
