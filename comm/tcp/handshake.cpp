#include "comm/tcp/handshake.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "base/random_bytes.hpp"

namespace ferry::tcp {
namespace {

template <class T>
std::string_view bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::span<const std::byte> wire(std::string_view bytes) {
  return std::as_bytes(std::span(bytes));
}

Sha256 acceptor_proof(std::string_view key, const Hello& hello, const Nonce& nonce) {
  return hmac_sha256(key, std::string("acceptor").append(bytes_of(hello)).append(bytes_of(nonce)));
}

Sha256 connector_proof(std::string_view key, const Hello& hello, const Nonce& nonce, const TaskFacts& facts) {
  std::string all("connector");
  all.append(bytes_of(hello)).append(bytes_of(nonce)).append(bytes_of(facts));
  return hmac_sha256(key, all);
}

}  // namespace

Nonce new_nonce() {
  Nonce nonce{};
  fill_at_random(std::as_writable_bytes(std::span(nonce)));
  return nonce;
}

Greeting greet(const Socket& socket, std::string_view key, const Hello& hello, const TaskFacts& facts,
               const Deadline& deadline) {
  const auto no_answer = [&] { return deadline.expired() ? Greeting::silent : Greeting::ended; };
  if (!net::send_all(socket, wire(bytes_of(hello)), deadline)) return no_answer();
  Challenge challenge;
  const Challenge ours;
  if (!net::receive_all(socket, std::as_writable_bytes(std::span(&challenge, 1)), deadline)) return no_answer();
  if (challenge.magic != ours.magic || challenge.version != ours.version) return Greeting::other_program;
  if (!same_proof(challenge.proof, acceptor_proof(key, hello, challenge.nonce))) return Greeting::other_key;
  const Answer answer{facts, connector_proof(key, hello, challenge.nonce, facts)};
  return net::send_all(socket, wire(bytes_of(answer)), deadline) ? Greeting::well : no_answer();
}

void HandshakeAcceptor::add_to(std::vector<pollfd>& waiting) const {
  waiting.push_back({listener_.get(), POLLIN, 0});
  for (const PendingHandshake& pending : pending_) waiting.push_back({pending.socket.get(), POLLIN, 0});
}

std::vector<AcceptedConnection> HandshakeAcceptor::advance() {
  while (auto socket = net::accept_connection(listener_)) {
    if (pending_.size() == capacity_) pending_.erase(pending_.begin());
    pending_.push_back({*std::move(socket), Deadline(system_clock(), kTime), {}, 0, {}});
  }
  std::vector<AcceptedConnection> complete;
  std::erase_if(pending_, [&](PendingHandshake& pending) {
    const Step step = advance(pending);
    if (step == Step::complete) {
      AcceptedConnection& connection = complete.emplace_back();
      connection.socket = std::move(pending.socket);
      std::memcpy(&connection.hello, pending.bytes.data(), sizeof connection.hello);
      std::memcpy(&connection.facts, pending.bytes.data() + sizeof connection.hello, sizeof connection.facts);
      connection.facts.who.back() = '\0';
    }
    saw_wrong_key_ = saw_wrong_key_ || (step == Step::drop && pending.nonce);
    return step != Step::more || pending.deadline.expired();
  });
  return complete;
}

/// Continues a handshake. Reads no more than the handshake, because the bytes after it belong to the later user of the
/// connection.
HandshakeAcceptor::Step HandshakeAcceptor::advance(PendingHandshake& pending) const {
  for (;;) {
    const std::size_t wanted = pending.nonce ? pending.bytes.size() : sizeof(Hello);
    const ssize_t count = recv(pending.socket.get(), pending.bytes.data() + pending.got, wanted - pending.got, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Step::more;
    if (count <= 0) return Step::drop;
    pending.got += static_cast<std::size_t>(count);
    if (pending.got < wanted) continue;
    Hello hello;
    std::memcpy(&hello, pending.bytes.data(), sizeof hello);
    if (pending.nonce) {
      Answer answer;
      std::memcpy(&answer, pending.bytes.data() + sizeof hello, sizeof answer);
      const Sha256 proof = connector_proof(key_, hello, *pending.nonce, answer.facts);
      return same_proof(answer.proof, proof) ? Step::complete : Step::drop;
    }
    const Hello right;
    if (hello.magic != right.magic || hello.purpose != purpose_ || hello.to != to_) return Step::drop;
    pending.nonce = new_nonce();
    Challenge challenge;
    challenge.nonce = *pending.nonce;
    challenge.proof = acceptor_proof(key_, hello, *pending.nonce);
    const auto bytes = wire(bytes_of(challenge));  // a new connection has room for it; it also has the version
    const ssize_t sent = send(pending.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(bytes.size()) || hello.version != right.version) return Step::drop;
  }
}

}  // namespace ferry::tcp
