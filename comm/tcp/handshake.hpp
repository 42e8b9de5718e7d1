// Handshake: how both ends of a new connection prove to each other that they know a key, which they do not send.
//
//     connector                 acceptor
//       Hello, with a nonce  ->
//                            <-  Challenge: another nonce, and a proof
//       Answer, with a proof ->
//
// A proof is HMAC-SHA256 under the key, over the prover's identity and all bytes that both sides have sent before. So
// nothing that was recorded can be used again, and neither end can be led to answer for the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "base/net/socket.hpp"
#include "base/sha256.hpp"

namespace ferry::tcp {

using net::Address, net::Socket;

enum class Purpose : std::uint32_t { rendezvous = 1, peer };
using Nonce = std::array<std::byte, 16>;
[[nodiscard]] Nonce new_nonce();

struct Hello {
  std::array<char, 8> magic{'F', 'E', 'R', 'R', 'Y', 'T', 'C', 'P'};
  std::uint32_t version = 1;
  Purpose purpose{};
  std::int32_t from = 0;   ///< the connector's task
  std::int32_t to = -1;    ///< the acceptor's task; -1: the rendezvous
  std::int32_t tasks = 0;  ///< of the job
  std::uint32_t reserved = 0;
  Nonce nonce{};
};
struct Challenge {
  std::array<char, 8> magic{'F', 'E', 'R', 'R', 'Y', 'T', 'C', 'P'};
  std::uint64_t version = 1;
  Nonce nonce{};
  Sha256 proof{};
};
/// What a task says of itself at the rendezvous. Its peers do not look at it.
struct Particulars {
  Address listens;             ///< where other tasks reach it
  std::uint32_t deadline = 0;  ///< how many milliseconds it waits for the others
  std::array<char, 64> who{};  ///< "host, process 17"; ends with a zero
};
struct Answer {
  Particulars particulars;
  Sha256 proof{};
};

/// What came of greeting an acceptor. `ended`: it closed the connection; `silent`: the deadline came first.
enum class Greeting { well, ended, silent, other_key, other_program };
/// The connector's part.
[[nodiscard]] Greeting greet(const Socket& socket, std::string_view key, const Hello& hello,
                             const Particulars& particulars, const Deadline& deadline);

/// One that has proved that it knows the key.
struct Guest {
  Socket socket;
  Hello hello;
  Particulars particulars;
};

/// The acceptor's part for all that connect to one listener. Those that send anything but a right handshake are
/// dropped, as are those that take too long for it; there is room for all tasks and some strangers, and the oldest
/// makes way.
class Guests {
 public:
  /// `tasks` are expected; `to` is the acceptor's own task.
  Guests(const Socket& listener, std::string key, Purpose purpose, int to, int tasks)
      : listener_(listener), key_(std::move(key)), purpose_(purpose), to_(to), most_(room_for(tasks)) {}

  /// How many can be in the middle of their handshake.
  [[nodiscard]] static std::size_t room_for(int tasks) { return static_cast<std::size_t>(tasks) + kStrangers; }
  static constexpr std::chrono::seconds kTime{10};

  /// Adds what to wait for; call advance() when something of it is ready, and after kTime.
  void add_to(std::vector<pollfd>& waiting) const;
  /// Accepts connections and continues all handshakes; returns the complete ones.
  [[nodiscard]] std::vector<Guest> advance();
  /// Whether one has begun a handshake and has not proved that it knows the key.
  [[nodiscard]] bool met_strangers() const { return met_strangers_; }

 private:
  struct Half {
    Socket socket;
    Deadline deadline;
    std::array<std::byte, sizeof(Hello) + sizeof(Answer)> bytes;
    std::size_t got = 0;
    std::optional<Nonce> nonce;  ///< of the challenge that was sent
  };
  enum class Step { more, complete, drop };
  [[nodiscard]] Step advance(Half& half) const;

  static constexpr std::size_t kStrangers = 64;

  const Socket& listener_;
  std::string key_;
  Purpose purpose_;
  int to_;
  std::size_t most_;
  std::vector<Half> halves_;
  bool met_strangers_ = false;
};

}  // namespace ferry::tcp
