// Connection: sends and receives frames over one TCP connection. It never blocks.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/net/socket.hpp"
#include "comm/tcp/frame.hpp"
#include "comm/transport.hpp"

namespace ferry::tcp {

/// The callbacks of a Connection, for frames that arrive and frames that have been sent.
class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;
  /// A frame begins. Returns memory for its whole body, or null: then the body of a word is passed to ended(), and any
  /// other body is dropped. Throws Error(peer_lost) if the frame is not valid.
  [[nodiscard]] virtual std::byte* begins(const FrameHead& frame) = 0;
  virtual void ended(const FrameHead& frame, std::string word) = 0;
  /// The frame or message with this number has been sent.
  virtual void sent(std::uint32_t transfer) = 0;
};

/// Not thread-safe.
class Connection {
 public:
  static constexpr std::uint32_t kNobody = UINT32_MAX;  ///< value of `transfer` if nobody waits for the send

  Connection(net::Socket socket, ConnectionUser& user) : socket_(std::move(socket)), user_(&user) {}

  [[nodiscard]] const net::Socket& socket() const { return socket_; }
  /// Sends a frame: at once if there is room, and before the remaining pieces of long messages. The body must not
  /// change until sent(transfer), which may be called before this returns.
  void send(const FrameHead& head, std::span<const std::byte> body, std::uint32_t transfer);
  void send_word(const FrameHead& head, std::string body);
  /// Sends a long message in frames of at most kPiece bytes, after earlier long messages. Calls sent(transfer) when the
  /// whole message has been sent.
  void send_pieces(const FrameHead& head, std::span<const std::byte> bytes, std::uint32_t transfer);

  /// Sends as much as possible now.
  void flush();
  /// Whether data waits to be sent, and the connection can still send.
  [[nodiscard]] bool pending() const {
    return socket_.open() && broken_ == 0 && (current_ || !frames_.empty() || !long_.empty());
  }
  /// Handles all data that has arrived. At the end of the connection, closes it and returns the reason: an errno, or 0
  /// for a regular end.
  [[nodiscard]] std::optional<int> read();
  void close() { socket_.close(); }
  /// Drops all unsent data except words, and all references to the memory of messages. A message that is partly sent is
  /// completed with zeros, and the other end drops it.
  void forget_messages();

  /// The sent frames of messages and words, and the bytes of their bodies. Heads, and frames without a body, do not
  /// count.
  [[nodiscard]] WireCount count() const { return count_; }
  /// All bytes that were written and read.
  [[nodiscard]] std::uint64_t moved() const { return moved_; }

 private:
  struct Outgoing {
    FrameHead head;
    std::span<const std::byte> body;
    std::string word;
    std::uint32_t transfer = kNobody;
    std::size_t sent = 0;  ///< bytes of head and body

    [[nodiscard]] std::span<const std::byte> bytes() const {
      return word.empty() ? body : std::as_bytes(std::span(word));
    }
    [[nodiscard]] bool complete() const { return sent == sizeof head + bytes().size(); }
  };

  [[nodiscard]] bool load_next_frame();
  [[nodiscard]] bool write_some();
  void parse_bytes(std::span<const std::byte> bytes);
  void begin();
  void end();
  [[nodiscard]] std::size_t body_left() const { return has_body(head_.kind) ? head_.bytes - body_got_ : 0; }

  net::Socket socket_;
  ConnectionUser* user_;
  int broken_ = 0;  // an errno: nothing can be sent any more
  std::optional<Outgoing> current_;
  std::deque<Outgoing> frames_, long_;
  FrameHead head_;
  std::size_t head_got_ = 0, body_got_ = 0;
  std::byte* target_ = nullptr;
  std::string word_;
  WireCount count_;
  std::uint64_t moved_ = 0;
};

}  // namespace ferry::tcp
