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

Sha256 connector_proof(std::string_view key, const Hello& hello, const Nonce& nonce, const Particulars& particulars) {
  std::string all("connector");
  all.append(bytes_of(hello)).append(bytes_of(nonce)).append(bytes_of(particulars));
  return hmac_sha256(key, all);
}

}  // namespace

Nonce new_nonce() {
  Nonce nonce{};
  fill_at_random(std::as_writable_bytes(std::span(nonce)));
  return nonce;
}

Greeting greet(const Socket& socket, std::string_view key, const Hello& hello, const Particulars& particulars,
               const Deadline& deadline) {
  const auto no_answer = [&] { return deadline.expired() ? Greeting::silent : Greeting::ended; };
  if (!net::sent_all(socket, wire(bytes_of(hello)), deadline)) return no_answer();
  Challenge challenge;
  const Challenge ours;
  if (!net::received_all(socket, std::as_writable_bytes(std::span(&challenge, 1)), deadline)) return no_answer();
  if (challenge.magic != ours.magic || challenge.version != ours.version) return Greeting::other_program;
  if (!same_proof(challenge.proof, acceptor_proof(key, hello, challenge.nonce))) return Greeting::other_key;
  const Answer answer{particulars, connector_proof(key, hello, challenge.nonce, particulars)};
  return net::sent_all(socket, wire(bytes_of(answer)), deadline) ? Greeting::well : no_answer();
}

void Guests::add_to(std::vector<pollfd>& waiting) const {
  waiting.push_back({listener_.get(), POLLIN, 0});
  for (const Half& half : halves_) waiting.push_back({half.socket.get(), POLLIN, 0});
}

std::vector<Guest> Guests::advance() {
  while (auto socket = net::accepted(listener_)) {
    if (halves_.size() == most_) halves_.erase(halves_.begin());
    halves_.push_back({*std::move(socket), Deadline(system_clock(), kTime), {}, 0, {}});
  }
  std::vector<Guest> complete;
  std::erase_if(halves_, [&](Half& half) {
    const Step step = advance(half);
    if (step == Step::complete) {
      Guest& guest = complete.emplace_back();
      guest.socket = std::move(half.socket);
      std::memcpy(&guest.hello, half.bytes.data(), sizeof guest.hello);
      std::memcpy(&guest.particulars, half.bytes.data() + sizeof guest.hello, sizeof guest.particulars);
      guest.particulars.who.back() = '\0';
    }
    met_strangers_ = met_strangers_ || (step == Step::drop && half.nonce);
    return step != Step::more || half.deadline.expired();
  });
  return complete;
}

/// Continues a handshake. Reads no more than the handshake, because the bytes after it belong to the later user of the
/// connection.
Guests::Step Guests::advance(Half& half) const {
  for (;;) {
    const std::size_t wanted = half.nonce ? half.bytes.size() : sizeof(Hello);
    const ssize_t count = recv(half.socket.get(), half.bytes.data() + half.got, wanted - half.got, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Step::more;
    if (count <= 0) return Step::drop;
    half.got += static_cast<std::size_t>(count);
    if (half.got < wanted) continue;
    Hello hello;
    std::memcpy(&hello, half.bytes.data(), sizeof hello);
    if (half.nonce) {
      Answer answer;
      std::memcpy(&answer, half.bytes.data() + sizeof hello, sizeof answer);
      const Sha256 proof = connector_proof(key_, hello, *half.nonce, answer.particulars);
      return same_proof(answer.proof, proof) ? Step::complete : Step::drop;
    }
    const Hello right;
    if (hello.magic != right.magic || hello.purpose != purpose_ || hello.to != to_) return Step::drop;
    half.nonce = new_nonce();
    Challenge challenge;
    challenge.nonce = *half.nonce;
    challenge.proof = acceptor_proof(key_, hello, *half.nonce);
    const auto bytes = wire(bytes_of(challenge));  // a new connection has room for it; it also has the version
    const ssize_t sent = send(half.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(bytes.size()) || hello.version != right.version) return Step::drop;
  }
}

}  // namespace ferry::tcp
