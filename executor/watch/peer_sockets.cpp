// How the processes of a job find one another: the host of each process, the sockets that reach it, and the secret with
// which the processes authenticate datagrams.
#include "executor/watch/peer_sockets.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "base/blob.hpp"
#include "base/sha256.hpp"
#include "comm/host.hpp"

namespace ferry {
namespace {

/// The data with which the other processes reach a process. The processes exchange their cards when they meet.
struct Card {
  std::string host, proof, processes, local_name, udp_name, secret;
  ProcessId id;
  std::vector<std::int64_t> addresses;  ///< address, mask, address, mask …

  [[nodiscard]] std::string packed() const {
    BlobWriter writer;
    writer.add(host).add(proof).add(processes).add(local_name).add(id.pid).add(id.start).add(addresses);
    return writer.add(secret).take();
  }
  static Card unpacked(std::string_view bytes) {
    BlobReader reader(bytes);
    Card card;
    card.host = reader.text();
    card.proof = reader.text();
    card.processes = reader.text();
    card.local_name = reader.text();
    card.id = {reader.number(), static_cast<std::uint64_t>(reader.number())};
    card.addresses = reader.numbers();
    card.secret = reader.text();
    return card;
  }
  [[nodiscard]] bool on_host_of(const Card& other) const {
    return proof == other.proof && processes == other.processes;
  }
};

/// 256 random bits, which only the processes of the job learn.
std::string make_secret() {
  std::random_device random;
  BlobWriter words;
  for (int i = 0; i < 8; ++i) words.add(random());
  return words.take();
}

/// The addresses of this host, or only the address of `interface`.
std::vector<InterfaceAddress> own_addresses(const std::string& interface) {
  std::vector<InterfaceAddress> all = interface_addresses();
  if (interface.empty()) return all;
  std::erase_if(all, [&](const InterfaceAddress& one) {
    return one.interface != interface && address_text(one.address) != interface;
  });
  return all;
}

/// The first of `mine` in a network that all other hosts are also in; if there is none, the first of all.
std::optional<std::uint32_t> shared_address(const std::vector<InterfaceAddress>& mine,
                                            const std::vector<std::vector<std::int64_t>>& others) {
  for (const InterfaceAddress& one : mine) {
    const auto in_network = [&](const std::vector<std::int64_t>& addresses) {
      for (std::size_t i = 0; i < addresses.size(); i += 2)
        if (one.reaches(static_cast<std::uint32_t>(addresses[i]))) return true;
      return false;
    };
    if (std::ranges::all_of(others, in_network)) return one.address;
  }
  return mine.empty() ? std::nullopt : std::optional(mine[0].address);
}

}  // namespace

PeerSockets::PeerSockets(Transport& between, int self, const std::string& interface, const Deadline& deadline) {
  const HostId host = host_id();
  const std::vector<InterfaceAddress> addresses = own_addresses(interface);
  sockets_.push_back(DatagramSocket::local());
  Card mine{.host = host.name,
            .proof = host.proof,
            .processes = process_namespace(),
            .local_name = sockets_[0].name(),
            .udp_name = {},
            .secret = make_secret(),
            .id = this_process(),
            .addresses = {}};
  for (const InterfaceAddress& one : addresses) mine.addresses.insert(mine.addresses.end(), {one.address, one.mask});
  std::vector<Card> cards;
  for (const std::string& said : between.exchange(mine.packed(), deadline)) cards.push_back(Card::unpacked(said));
  secret_ = cards[0].secret;
  const bool several = std::ranges::any_of(cards, [&](const Card& card) { return !card.on_host_of(cards[0]); });
  if (several) {
    std::vector<std::vector<std::int64_t>> others;
    for (const Card& card : cards)
      if (!card.on_host_of(mine)) others.push_back(card.addresses);
    if (const auto address = shared_address(addresses, others)) sockets_.push_back(DatagramSocket::udp(*address));
    const auto names = between.exchange(has_udp() ? sockets_[1].name() : "", deadline);
    for (std::size_t p = 0; p < cards.size(); ++p) cards[p].udp_name = names[p];
  }
  for (const Card& card : cards) {
    const bool on_this_machine = card.on_host_of(mine);
    processes_.push_back({card.host, card.id, on_this_machine, on_this_machine ? card.local_name : card.udp_name,
                          on_this_machine ? 0 : sockets_.size() - 1});
  }
  processes_[self].name.clear();
}

std::string PeerSockets::sign(std::string bytes) const {
  const Sha256 proof = hmac_sha256(secret_, bytes);
  return bytes.append(reinterpret_cast<const char*>(proof.data()), proof.size());
}

void PeerSockets::send_signed(const Process& process, std::string_view bytes) const {
  if (!process.name.empty()) static_cast<void>(sockets_[process.socket].send(process.name, bytes));
}

void PeerSockets::send(int process, std::string bytes) const {
  if (static_cast<std::size_t>(process) < processes_.size()) send_signed(processes_[process], sign(std::move(bytes)));
}

void PeerSockets::send_to_all(std::string bytes) const {
  bytes = sign(std::move(bytes));
  for (const Process& process : processes_) send_signed(process, bytes);
}

void PeerSockets::receive(const std::function<void(std::string_view)>& take) {
  for (const DatagramSocket& socket : sockets_)
    while (auto datagram = socket.receive(receive_buffer_)) {
      Sha256 proof;
      if (datagram->size() < proof.size()) continue;
      std::memcpy(proof.data(), datagram->data() + datagram->size() - proof.size(), proof.size());
      datagram->remove_suffix(proof.size());
      if (same_proof(hmac_sha256(secret_, *datagram), proof)) take(*datagram);
    }
}

}  // namespace ferry
