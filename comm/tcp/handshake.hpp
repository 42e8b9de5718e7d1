// Handshake: both ends of a new connection prove to each other that they know a key, without sending it.
//
//     connector                 acceptor
//       Hello, with a nonce  ->
//                            <-  Challenge: another nonce, and a proof
//       Answer, with a proof ->
//
// A proof is HMAC-SHA256 under the key, over the prover's identity and all bytes that both sides have sent before. So
// recorded messages cannot be replayed, and a proof of one end is not valid as a proof of the other end.
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
  std::int32_t tasks = 0;  ///< number of the job's tasks
  std::uint32_t reserved = 0;
  Nonce nonce{};
};
struct Challenge {
  std::array<char, 8> magic{'F', 'E', 'R', 'R', 'Y', 'T', 'C', 'P'};
  std::uint64_t version = 1;
  Nonce nonce{};
  Sha256 proof{};
};
/// Facts about a task, for the rendezvous server. Its peers ignore them.
struct TaskFacts {
  Address listens;             ///< address at which other tasks reach the task
  std::uint32_t deadline = 0;  ///< milliseconds that the task waits for the others
  std::array<char, 64> who{};  ///< "host, process 17"; ends with a NUL
};
struct Answer {
  TaskFacts facts;
  Sha256 proof{};
};

/// The result of greeting an acceptor. `ended`: the acceptor closed the connection; `silent`: the deadline came first.
enum class Greeting { well, ended, silent, other_key, other_program };
/// Does the connector's part of the handshake.
[[nodiscard]] Greeting greet(const Socket& socket, std::string_view key, const Hello& hello, const TaskFacts& facts,
                             const Deadline& deadline);

/// A connector that has proved that it knows the key.
struct AcceptedConnection {
  Socket socket;
  Hello hello;
  TaskFacts facts;
};

/// Does the acceptor's part for all connections to one listener. It drops connections that send a wrong handshake or
/// take too long. It has room for all tasks and some unknown connections; if there is no room, it drops the oldest
/// connection.
class HandshakeAcceptor {
 public:
  /// `tasks` is the number of tasks in the job; `to` is the acceptor's own task.
  HandshakeAcceptor(const Socket& listener, std::string key, Purpose purpose, int to, int tasks)
      : listener_(listener), key_(std::move(key)), purpose_(purpose), to_(to), capacity_(capacity_for(tasks)) {}

  /// The number of connections that can be within their handshakes at a time.
  [[nodiscard]] static std::size_t capacity_for(int tasks) {
    return static_cast<std::size_t>(tasks) + kUnknownConnections;
  }
  static constexpr std::chrono::seconds kTime{10};

  /// Adds the sockets to wait for. Call advance() when one of them is ready, and after kTime.
  void add_to(std::vector<pollfd>& waiting) const;
  /// Accepts connections and continues all handshakes. Returns the connectors with a complete handshake.
  [[nodiscard]] std::vector<AcceptedConnection> advance();
  /// Whether a connection was dropped that had begun a handshake, but did not prove that it knows the key.
  [[nodiscard]] bool saw_wrong_key() const { return saw_wrong_key_; }

 private:
  struct PendingHandshake {
    Socket socket;
    Deadline deadline;
    std::array<std::byte, sizeof(Hello) + sizeof(Answer)> bytes;
    std::size_t got = 0;
    std::optional<Nonce> nonce;  ///< the nonce of the challenge that was sent
  };
  enum class Step { more, complete, drop };
  [[nodiscard]] Step advance(PendingHandshake& pending) const;

  static constexpr std::size_t kUnknownConnections = 64;

  const Socket& listener_;
  std::string key_;
  Purpose purpose_;
  int to_;
  std::size_t capacity_;
  std::vector<PendingHandshake> pending_;
  bool saw_wrong_key_ = false;
};

}  // namespace ferry::tcp
