// Connection: frames in both directions over one connection. It never blocks.
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

/// What a Connection tells of what arrives and of what has been sent.
class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;
  /// A frame begins. Where its body goes: memory for all of it, or null, to have it dropped or, of a word, given to
  /// ended(). Throws Error(peer_lost) when the frame cannot be.
  [[nodiscard]] virtual std::byte* begins(const FrameHead& frame) = 0;
  virtual void ended(const FrameHead& frame, std::string word) = 0;
  /// A frame or message that was given to the connection with this number has been sent.
  virtual void sent(std::uint32_t transfer) = 0;
};

/// Not thread-safe.
class Connection {
 public:
  static constexpr std::uint32_t kNobody = UINT32_MAX;  ///< of `transfer`: nobody waits for it

  Connection(net::Socket socket, ConnectionUser& user) : socket_(std::move(socket)), user_(&user) {}

  [[nodiscard]] const net::Socket& socket() const { return socket_; }
  /// Sends a frame: at once if there is room, and before the rest of messages in pieces. The body must not change until
  /// sent(transfer), which may be called before this returns.
  void send(const FrameHead& head, std::span<const std::byte> body, std::uint32_t transfer);
  void send_word(const FrameHead& head, std::string body);
  /// Sends a message in frames of kPiece, after those before it; sent(transfer) when all of it is out.
  void send_pieces(const FrameHead& head, std::span<const std::byte> bytes, std::uint32_t transfer);

  /// Sends what can be sent now.
  void flush();
  /// Whether something waits to be sent, and the connection stands.
  [[nodiscard]] bool pending() const {
    return socket_.open() && broken_ == 0 && (current_ || !frames_.empty() || !long_.empty());
  }
  /// Handles all that has arrived. When there will be no more it closes the connection and returns why: an errno, or 0
  /// at its regular end.
  [[nodiscard]] std::optional<int> read();
  void close() { socket_.close(); }
  /// Drops all unsent data except words, and all references to others' memory. A message on its way is completed with
  /// zeros and dropped at the other end.
  void forget_messages();

  /// Messages and words that were sent, by pieces, without heads and what only steers them.
  [[nodiscard]] WireCount count() const { return count_; }
  /// All bytes that were written and read.
  [[nodiscard]] std::uint64_t moved() const { return moved_; }

 private:
  struct Outgoing {
    FrameHead head;
    std::span<const std::byte> body;
    std::string word;
    std::uint32_t transfer = kNobody;
    std::size_t sent = 0;  ///< of head and body

    [[nodiscard]] std::span<const std::byte> bytes() const {
      return word.empty() ? body : std::as_bytes(std::span(word));
    }
    [[nodiscard]] bool complete() const { return sent == sizeof head + bytes().size(); }
  };

  [[nodiscard]] bool next();
  [[nodiscard]] bool write_some();
  void take(std::span<const std::byte> bytes);
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
