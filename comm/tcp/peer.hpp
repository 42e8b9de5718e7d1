// Peer: the messages to and from one task, matched by channel and number, and the task's control messages (words).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/tcp/connection.hpp"

namespace ferry::tcp {

/// One message, from the call that starts it until done() has returned true.
struct TcpMessage {
  int peer = 0;
  std::uint32_t channel = 0;
  bool receives = false, open = false, complete = false;
  std::size_t bytes = 0;
  std::optional<std::size_t> other_bytes = {};  ///< the size at the other end, if it differs
};

/// The transfers of a task. A number identifies a transfer until free_number() frees the number.
class Transfers {
 public:
  [[nodiscard]] std::uint32_t open(int peer, std::uint32_t channel, bool receives, std::size_t bytes);
  void free_number(std::uint32_t number);
  void complete(std::uint32_t number);
  /// Fails the transfer because its other end has `other_bytes`.
  void mismatch(std::uint32_t number, std::size_t other_bytes);
  [[nodiscard]] TcpMessage* find(std::uint64_t number);
  [[nodiscard]] TcpMessage& operator[](std::uint32_t number) { return all_[number]; }
  void free_all_numbers();
  /// Completes all transfers with task `peer`.
  void complete_all(int peer);
  /// Whether a transfer was completed, or moved() was called, since the last call.
  [[nodiscard]] bool take_moved() { return std::exchange(moved_, false); }
  void moved() { moved_ = true; }

 private:
  std::vector<TcpMessage> all_;
  std::vector<std::uint32_t> free_;
  bool moved_ = false;
};

/// Gets the words that a Peer receives.
class PeerUser {
 public:
  virtual ~PeerUser() = default;
  virtual void handle_word(int from, Word word, std::string body) = 0;
};

/// Not thread-safe.
class Peer final : public ConnectionUser {
 public:
  /// Without an open socket, the peer is the task itself.
  Peer(int task, net::Socket socket, Transfers& transfers, PeerUser& user);

  [[nodiscard]] Connection* connection() { return connection_.get(); }
  [[nodiscard]] const Connection* connection() const { return connection_.get(); }
  /// send() and receive() start a message. The transfer may be complete when they return.
  [[nodiscard]] std::uint32_t send(std::uint32_t channel, std::span<const std::byte> bytes);
  [[nodiscard]] std::uint32_t receive(std::uint32_t channel, std::span<std::byte> bytes);

  void send_control(Word word, std::string body);
  [[nodiscard]] WireCount count() const { return connection_ ? connection_->count() : to_self_; }

  /// Drops all messages. From now on they do not touch the caller's memory.
  void forget_messages();
  /// Starts a new job (generation): messages are numbered from 0 again.
  void begin(std::uint32_t generation);

  std::byte* begins(const FrameHead& frame) override;
  void ended(const FrameHead& frame, std::string word) override;
  void sent(std::uint32_t transfer) override { transfers_.complete(transfer); }

 private:
  struct Sending {
    std::uint64_t number;
    std::span<const std::byte> bytes;
    std::uint32_t transfer;
  };
  struct Receiving {
    std::uint64_t number;
    std::span<std::byte> bytes;
    std::uint32_t transfer;
    std::size_t got = 0;
    bool granted = false;
  };
  struct Early {
    std::uint64_t number;
    std::vector<std::byte> bytes;
    bool whole = false;
  };
  struct Size {
    std::uint64_t number, bytes;
  };
  struct Channel {
    // This task's side: forget_messages() and begin() clear it.
    std::uint64_t next_send = 0, next_receive = 0;
    std::deque<Sending> waiting;
    std::deque<Receiving> posted;
    // The other task's side: its word `renewed` clears it.
    std::deque<Early> early;
    std::vector<Size> grants, wants;
  };

  [[nodiscard]] FrameHead head(Kind kind, std::uint32_t channel, std::uint64_t number, std::uint64_t bytes) const;
  void send_frame(Kind kind, std::uint32_t channel, std::uint64_t number, std::uint64_t bytes);
  void send_now(std::uint32_t channel, const Sending& sending, std::uint64_t wanted);
  void grant(std::uint32_t channel, Receiving& receiving);
  void return_credit(std::size_t bytes);
  void check(const FrameHead& frame) const;
  [[noreturn]] void throw_damaged(const std::string& why) const;
  std::byte* eager_begins(const FrameHead& frame);
  void eager_ended(const FrameHead& frame);
  std::byte* data_begins(const FrameHead& frame);
  void data_ended(const FrameHead& frame);
  void wanted(const FrameHead& frame);
  void granted(const FrameHead& frame);
  void handle_renewed(const FrameHead& frame, std::string body);
  [[nodiscard]] bool is_obsolete(const FrameHead& frame) const;

  int task_;
  std::unique_ptr<Connection> connection_;
  Transfers& transfers_;
  PeerUser& user_;
  std::unordered_map<std::uint32_t, Channel> channels_;
  std::uint32_t generation_ = 0, their_generation_ = 0;
  std::uint64_t words_sent_ = 0, words_received_ = 0;
  std::uint64_t credit_used_ = 0;     // bytes of the peer's buffer space that our messages use
  std::uint64_t credit_granted_ = 0;  // bytes of our buffer space that the peer's messages use
  std::uint64_t credit_to_return_ = 0;
  bool failed_ = false;  // messages of this generation are dropped
  WireCount to_self_;
};

}  // namespace ferry::tcp
