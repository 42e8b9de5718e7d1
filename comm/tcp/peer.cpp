#include "comm/tcp/peer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ferry::tcp {
namespace {

/// Finds the entry of message `number`, which is nearly always the first one.
template <class List>
auto entry(List& list, std::uint64_t number) {
  return std::ranges::find(list, number, &List::value_type::number);
}

}  // namespace

std::uint32_t Transfers::open(int peer, std::uint32_t channel, bool receives, std::size_t bytes) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(all_.size()));
    all_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  all_[number] = {peer, channel, receives, true, false, bytes, {}};
  return number;
}

void Transfers::free_number(std::uint32_t number) {
  all_[number].open = false;
  free_.push_back(number);
}

void Transfers::complete(std::uint32_t number) {
  all_[number].complete = true;
  moved_ = true;
}

void Transfers::mismatch(std::uint32_t number, std::size_t other_bytes) {
  all_[number].other_bytes = other_bytes;
  moved_ = true;
}

TcpMessage* Transfers::find(std::uint64_t number) {
  return number < all_.size() && all_[number].open ? &all_[number] : nullptr;
}

void Transfers::free_all_numbers() {
  for (std::uint32_t number = 0; number < all_.size(); ++number)
    if (all_[number].open) free_number(number);
}

void Transfers::complete_all(int peer) {
  for (TcpMessage& message : all_)
    if (message.open && message.peer == peer) message.complete = true;
  moved_ = true;
}

Peer::Peer(int task, net::Socket socket, Transfers& transfers, PeerUser& user)
    : task_(task), transfers_(transfers), user_(user) {
  if (socket.open()) connection_ = std::make_unique<Connection>(std::move(socket), *this);
}

FrameHead Peer::head(Kind kind, std::uint32_t channel, std::uint64_t number, std::uint64_t bytes) const {
  return {.kind = kind, .generation = generation_, .channel = channel, .number = number, .bytes = bytes};
}

void Peer::send_frame(Kind kind, std::uint32_t channel, std::uint64_t number, std::uint64_t bytes) {
  connection_->send(head(kind, channel, number, bytes), {}, Connection::kNobody);
}

void Peer::send_control(Word word, std::string body) {
  const std::uint64_t bytes = body.size();
  connection_->send_word(head(kind_of(word), 0, words_sent_++, bytes), std::move(body));
}

std::uint32_t Peer::send(std::uint32_t channel, std::span<const std::byte> bytes) {
  Channel& at = channels_[channel];
  const std::uint64_t number = at.next_send++;
  if (!connection_) to_self_ = {to_self_.messages + 1, to_self_.bytes + static_cast<std::int64_t>(bytes.size())};
  const Sending sending{number, bytes, transfers_.open(task_, channel, false, bytes.size())};
  if (const auto grant = entry(at.grants, number); grant != at.grants.end()) {
    const std::uint64_t wanted = grant->bytes;
    at.grants.erase(grant);
    send_now(channel, sending, wanted);
  } else if (bytes.size() <= kEager && credit_used_ + bytes.size() + kCost <= kRoom) {
    if (connection_) {
      credit_used_ += bytes.size() + kCost;
      connection_->send(head(Kind::eager, channel, number, bytes.size()), bytes, sending.transfer);
    } else {
      const FrameHead frame = head(Kind::eager, channel, number, bytes.size());
      if (std::byte* target = eager_begins(frame); target != nullptr && !bytes.empty())
        std::memcpy(target, bytes.data(), bytes.size());
      eager_ended(frame);
      transfers_.complete(sending.transfer);
    }
  } else {
    at.waiting.push_back(sending);
    if (connection_)
      send_frame(Kind::want, channel, number, bytes.size());
    else
      wanted(head(Kind::want, channel, number, bytes.size()));
  }
  return sending.transfer;
}

/// Sends a message to a receive that is posted for `wanted` bytes.
void Peer::send_now(std::uint32_t channel, const Sending& sending, std::uint64_t wanted) {
  if (wanted != sending.bytes.size()) return transfers_.mismatch(sending.transfer, wanted);
  if (connection_)
    return connection_->send_pieces(head(Kind::data, channel, sending.number, 0), sending.bytes, sending.transfer);
  const FrameHead frame = head(Kind::data, channel, sending.number, wanted);
  std::memcpy(data_begins(frame), sending.bytes.data(), wanted);
  data_ended(frame);
  transfers_.complete(sending.transfer);
}

std::uint32_t Peer::receive(std::uint32_t channel, std::span<std::byte> bytes) {
  Channel& at = channels_[channel];
  const std::uint64_t number = at.next_receive++;
  const std::uint32_t transfer = transfers_.open(task_, channel, true, bytes.size());
  const auto early = entry(at.early, number);
  if (early != at.early.end() && early->whole) {
    const std::size_t size = early->bytes.size();
    if (size != bytes.size()) {
      transfers_.mismatch(transfer, size);
    } else {
      if (size > 0) std::memcpy(bytes.data(), early->bytes.data(), size);
      transfers_.complete(transfer);
    }
    at.early.erase(early);
    return_credit(size);
    return transfer;
  }
  Receiving& receiving = at.posted.emplace_back(Receiving{number, bytes, transfer});
  const auto want = entry(at.wants, number);
  if (want != at.wants.end()) {
    const std::uint64_t size = want->bytes;
    at.wants.erase(want);
    if (size != bytes.size())
      transfers_.mismatch(transfer, size);
    else
      grant(channel, receiving);
  } else if (bytes.size() > kEager && early == at.early.end()) {
    grant(channel, receiving);
  }
  return transfer;
}

void Peer::grant(std::uint32_t channel, Receiving& receiving) {
  receiving.granted = true;
  const std::uint64_t number = receiving.number, bytes = receiving.bytes.size();
  if (connection_)
    send_frame(Kind::grant, channel, number, bytes);
  else
    granted(head(Kind::grant, channel, number, bytes));
}

/// Returns `bytes` of buffer space to the sender. Peer returns space in large pieces, to save one control message for
/// each message.
void Peer::return_credit(std::size_t bytes) {
  if (!connection_) return;
  credit_to_return_ += bytes + kCost;
  if (credit_to_return_ < kRoom / 4) return;
  const std::uint64_t given = std::exchange(credit_to_return_, 0);
  credit_granted_ -= given;
  if (!failed_) send_frame(Kind::credit, 0, 0, given);
}

void Peer::forget_messages() {
  failed_ = true;
  if (connection_) connection_->forget_messages();
  for (auto& [number, channel] : channels_) {
    channel.waiting.clear();
    channel.posted.clear();
  }
}

void Peer::begin(std::uint32_t generation) {
  generation_ = generation;
  failed_ = false;
  credit_used_ = 0;
  for (auto& [number, channel] : channels_) channel.next_send = channel.next_receive = 0;
  if (!connection_) {
    their_generation_ = generation;
    channels_.clear();
  }
}

void Peer::throw_damaged(const std::string& why) const {
  throw Error(Code::peer_lost, "tcp: what arrives from task " + std::to_string(task_) + " is damaged: " + why)
      .hint("run the same build of ferry on all tasks; see whether the network or a memory is faulty");
}

void Peer::check(const FrameHead& frame) const {
  if (frame.mark != FrameHead::kMark) throw_damaged("a frame without ferry's mark");
  if (frame.kind < Kind::eager || frame.kind > Kind::lost)
    throw_damaged("a frame of the unknown kind " + std::to_string(static_cast<std::uint32_t>(frame.kind)));
  const std::uint32_t generation = their_generation_ + (frame.kind == Kind::renewed ? 1 : 0);
  if (frame.generation != generation)
    throw_damaged("a frame of generation " + std::to_string(frame.generation) + ", not " + std::to_string(generation));
  if (frame.kind >= Kind::text && frame.number != words_received_)
    throw_damaged("word " + std::to_string(frame.number) + ", not " + std::to_string(words_received_));
  const std::uint64_t most = frame.kind == Kind::eager ? kEager : frame.kind == Kind::data ? kPiece : kLongestWord;
  if (has_body(frame.kind) && frame.bytes > most)
    throw_damaged("a frame of " + std::to_string(frame.bytes) + " bytes, where " + std::to_string(most) +
                  " are the most");
}

/// True if the frame belongs to a failed job; its messages are not needed any more.
bool Peer::is_obsolete(const FrameHead& frame) const {
  return frame.generation < generation_ || (failed_ && frame.generation == generation_);
}

std::byte* Peer::begins(const FrameHead& frame) {
  check(frame);
  if (frame.kind >= Kind::text) {
    ++words_received_;
    return nullptr;
  }
  if (frame.kind == Kind::eager) return eager_begins(frame);
  if (frame.kind == Kind::data) return data_begins(frame);
  return nullptr;
}

void Peer::ended(const FrameHead& frame, std::string word) {
  switch (frame.kind) {
    case Kind::eager:
      return eager_ended(frame);
    case Kind::data:
      return data_ended(frame);
    case Kind::want:
      return wanted(frame);
    case Kind::grant:
      return granted(frame);
    case Kind::credit:
      if (is_obsolete(frame)) return;
      if (frame.bytes > credit_used_) throw_damaged("room for more bytes than were sent");
      credit_used_ -= frame.bytes;
      return;
    case Kind::text:
    case Kind::goodbye:
      return user_.handle_word(task_, word_of(frame.kind), std::move(word));
    case Kind::failure:
    case Kind::lost:
      if (frame.generation == generation_) user_.handle_word(task_, word_of(frame.kind), std::move(word));
      return;
    case Kind::renewed:
      return handle_renewed(frame, std::move(word));
  }
}

std::byte* Peer::eager_begins(const FrameHead& frame) {
  if (is_obsolete(frame)) return nullptr;
  Channel& at = channels_[frame.channel];
  const auto receiving = entry(at.posted, frame.number);
  const bool ours = frame.generation == generation_;
  if (receiving == at.posted.end() &&
      (entry(at.early, frame.number) != at.early.end() || (ours && frame.number < at.next_receive)))
    throw_damaged("message " + std::to_string(frame.number) + " of channel " + std::to_string(frame.channel) +
                  " once more");
  if (connection_) {
    credit_granted_ += frame.bytes + kCost;
    if (credit_granted_ > kRoom) throw_damaged("more messages than there is room for");
  }
  if (receiving == at.posted.end()) {
    at.early.push_back({frame.number, std::vector<std::byte>(frame.bytes)});
    return at.early.back().bytes.data();
  }
  if (receiving->bytes.size() == frame.bytes) return receiving->bytes.data();
  transfers_.mismatch(receiving->transfer, frame.bytes);
  return nullptr;
}

void Peer::eager_ended(const FrameHead& frame) {
  if (is_obsolete(frame)) return;
  Channel& at = channels_[frame.channel];
  if (const auto early = entry(at.early, frame.number); early != at.early.end()) {
    early->whole = true;
    const auto receiving = entry(at.posted, frame.number);  // posted while the body arrived
    if (receiving == at.posted.end()) return;
    const std::span<const std::byte> bytes = early->bytes;
    if (receiving->bytes.size() == bytes.size()) {
      if (!bytes.empty()) std::memcpy(receiving->bytes.data(), bytes.data(), bytes.size());
      transfers_.complete(receiving->transfer);
    } else {
      transfers_.mismatch(receiving->transfer, bytes.size());
    }
    at.posted.erase(receiving);
    at.early.erase(early);
    return return_credit(frame.bytes);
  }
  const auto receiving = entry(at.posted, frame.number);
  if (receiving == at.posted.end()) return;
  if (receiving->bytes.size() == frame.bytes) transfers_.complete(receiving->transfer);
  at.posted.erase(receiving);
  return_credit(frame.bytes);
}

std::byte* Peer::data_begins(const FrameHead& frame) {
  if (is_obsolete(frame)) return nullptr;
  Channel& at = channels_[frame.channel];
  const auto receiving = entry(at.posted, frame.number);
  if (receiving == at.posted.end() || !receiving->granted || frame.bytes > receiving->bytes.size() - receiving->got)
    throw_damaged(std::to_string(frame.bytes) + " bytes for message " + std::to_string(frame.number) + " of channel " +
                  std::to_string(frame.channel) + " that nobody waits for");
  return receiving->bytes.data() + receiving->got;
}

void Peer::data_ended(const FrameHead& frame) {
  if (is_obsolete(frame)) return;
  Channel& at = channels_[frame.channel];
  const auto receiving = entry(at.posted, frame.number);
  if (receiving == at.posted.end()) return;
  receiving->got += frame.bytes;
  if (receiving->got < receiving->bytes.size()) return;
  transfers_.complete(receiving->transfer);
  at.posted.erase(receiving);
}

void Peer::wanted(const FrameHead& frame) {
  if (is_obsolete(frame)) return;
  Channel& at = channels_[frame.channel];
  const auto receiving = entry(at.posted, frame.number);
  if (receiving == at.posted.end()) {
    // The receive may have been posted, granted and even completed before this frame arrived.
    const bool later = frame.generation != generation_ || frame.number >= at.next_receive;
    if (later) at.wants.push_back({frame.number, frame.bytes});
  } else if (receiving->bytes.size() != frame.bytes) {
    transfers_.mismatch(receiving->transfer, frame.bytes);
  } else if (!receiving->granted) {
    grant(frame.channel, *receiving);
  }
}

void Peer::granted(const FrameHead& frame) {
  if (is_obsolete(frame)) return;
  Channel& at = channels_[frame.channel];
  const auto sending = entry(at.waiting, frame.number);
  if (sending != at.waiting.end()) {
    const Sending ready = *sending;
    at.waiting.erase(sending);
    send_now(frame.channel, ready, frame.bytes);
  } else if (frame.generation != generation_ || frame.number >= at.next_send) {
    at.grants.push_back({frame.number, frame.bytes});
  }
}

/// Frames after this one belong to the new job. A task that does not know of the failure yet learns of it here.
void Peer::handle_renewed(const FrameHead& frame, std::string body) {
  if (generation_ < frame.generation) user_.handle_word(task_, Word::failure, std::move(body));
  their_generation_ = frame.generation;
  credit_granted_ = credit_to_return_ = 0;
  for (auto& [number, channel] : channels_) {
    channel.early.clear();
    channel.grants.clear();
    channel.wants.clear();
  }
  user_.handle_word(task_, Word::renewed, {});
}

}  // namespace ferry::tcp
