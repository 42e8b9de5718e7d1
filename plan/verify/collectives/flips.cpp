// Checks schedules in which all members find their peers by flipping the same bits of their own number (recursive
// doubling). All members execute the same steps, so one simulated member, the player, represents all of them. A message
// to the player from a peer equals the player's message to that peer, with the same bits flipped. A wait succeeds if
// the message was started in an earlier step, because all members are at the same step.
//
// A place (slot or output) holds the sum of a block of 2^k members aligned to 2^k. This is the sum of the lower half
// plus the sum of the upper half, recursively. The block contains the player, or a member with a number that differs
// from the player's in some bits. Two blocks that differ only in bit k are added by all of their members, the lower
// block on the left; so all members get the same bits.
#include <algorithm>
#include <map>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

using Kind = ScheduleStep::Kind;
using By = MemberRef::By;

/// The sum of 2^level members. One of these members has the player's number with the bits `flip` flipped. Level -1: no
/// sum.
struct Block {
  int level = -1;
  int flip = 0;

  /// The same block from the view of a member with a number that differs in `bits`.
  [[nodiscard]] Block seen_from(int bits) const { return {level, (flip ^ bits) >> level << level}; }
  bool operator==(const Block&) const = default;
};

constexpr Block kOwnInput{0, 0};

struct BlockPlace {
  Block block;
  int sending = 0;
  bool arriving = false;
};

/// The messages to a member with a number that differs in certain bits. They also represent the messages from that
/// member.
struct Wire {
  std::vector<Block> sent;
  std::uint32_t received = 0;
};

/// A message under way. `spot` is the place where it arrives, or from which it is sent (null: the input).
struct Message {
  int bits = 0;
  std::uint32_t number = 0;
  BlockPlace* spot = nullptr;
};

bool moves(const ScheduleStep& step) {
  return step.kind == Kind::send_input || step.kind == Kind::send_output || step.kind == Kind::send_slot ||
         step.kind == Kind::receive_slot || step.kind == Kind::receive_output;
}

bool waits(const ScheduleStep& step) {
  return step.kind == Kind::wait || step.kind == Kind::wait_sends;
}

bool is_flipped(const Schedule& s) {
  if (s.kind != CollectiveKind::all_reduce || !s.whole || (s.members & (s.members - 1)) != 0) return false;
  return std::all_of(s.steps.begin(), s.steps.end(), [](const ScheduleStep& step) {
    if (step.only != ScheduleStep::kAll || step.except != ScheduleStep::kAll) return false;
    if (waits(step)) return true;
    if (step.part != MemberRef{}) return false;
    if (step.kind == Kind::receive_slot && step.slot == ScheduleStep::kOfPeer) return false;
    if (moves(step) || step.kind == Kind::join) return step.peer.by == By::flip;
    return step.kind == Kind::copy && step.peer == MemberRef{By::shift, 0};
  });
}

class Player {
 public:
  Player(const Schedule& schedule, const std::string& what)
      : s_(schedule), what_(what), slots_(static_cast<std::size_t>(schedule.slots)) {}

  void play() {
    for (at_ = 0; at_ < s_.steps.size(); ++at_) execute(s_.steps[at_]);
    finish_receives();
    finish_sends();
    for (const auto& [bits, wire] : wires_)
      if (wire.sent.size() != wire.received) fail("receives another number of messages than are sent to it");
    Block all{0, 0};
    while (1LL << all.level < s_.members) ++all.level;
    if (output_.block != all) fail("ends without the sum of all members");
  }

 private:
  void execute(const ScheduleStep& step) {
    const int bits = step.peer.value;
    switch (step.kind) {
      case Kind::send_input:
        return send(bits, kOwnInput, nullptr);
      case Kind::send_output:
        return send(bits, content(output_), &output_);
      case Kind::send_slot:
        return send(bits, content(slot(step.slot)), &slot(step.slot));
      case Kind::receive_output:
        return receive(bits, output_);
      case Kind::receive_slot:
        return receive(bits, slot(step.slot));
      case Kind::wait:
        return finish_receives();
      case Kind::wait_sends:
        return finish_sends();
      case Kind::join:
        return join(slot(step.slot), slot(step.source), bits);
      case Kind::copy: {
        const Block from = step.source == ScheduleStep::kOfPeer ? kOwnInput : content(slot(step.source));
        BlockPlace& to = step.slot == ScheduleStep::kOfPeer ? output_ : slot(step.slot);
        must_be_free(to);
        to.block = from;
        return;
      }
      case Kind::fold:  // is_flipped() rejects such schedules
        return;
    }
  }

  BlockPlace& slot(std::int32_t number) { return slots_[number]; }

  [[nodiscard]] Block content(const BlockPlace& spot) const {
    if (spot.arriving || spot.block.level < 0) fail("uses a block before it arrives");
    return spot.block;
  }

  void must_be_free(const BlockPlace& spot) const {
    if (spot.arriving) fail("touches a place that a message is being received into");
    if (spot.sending > 0) fail("writes a place that a message is being sent from");
  }

  void send(int bits, Block block, BlockPlace* from) {
    if (bits == 0) fail("sends to itself");
    Wire& wire = wires_[bits];
    sends_.push_back({bits, static_cast<std::uint32_t>(wire.sent.size()), from});
    wire.sent.push_back(block.seen_from(bits));
    if (from != nullptr) ++from->sending;
  }

  void receive(int bits, BlockPlace& to) {
    if (bits == 0) fail("receives from itself");
    must_be_free(to);
    to.arriving = true;
    to.block = {};
    receives_.push_back({bits, wires_[bits].received++, &to});
  }

  void finish_receives() {
    for (const Message& message : receives_) {
      const Wire& wire = wires_[message.bits];
      if (wire.sent.size() <= message.number) fail_waiting(message, "send");
      message.spot->arriving = false;
      message.spot->block = wire.sent[message.number];
    }
    receives_.clear();
  }

  void finish_sends() {
    for (const Message& message : sends_) {
      if (wires_[message.bits].received <= message.number) fail_waiting(message, "receive");
      if (message.spot != nullptr) --message.spot->sending;
    }
    sends_.clear();
  }

  void join(BlockPlace& own, BlockPlace& other, int bits) {
    must_be_free(own);
    must_be_free(other);
    const int level = content(own).level;
    const int half = level < 30 ? 1 << level : 0;
    if (own.block.flip != 0 || content(other) != Block{level, half} || half == 0 || bits >> level << level != half)
      fail("joins other sums than its own and its neighbour's, which have " + std::to_string(half) + " members");
    own.block = {level + 1, 0};
    other.block = {};
  }

  [[noreturn]] void fail(const std::string& why) const {
    const std::string where = at_ < s_.steps.size() ? "step " + std::to_string(at_) : "at its end";
    reject(what_ + ": " + where + ", member 0 " + why);
  }
  [[noreturn]] void fail_waiting(const Message& message, const std::string& what) const {
    fail("waits for ever for member " + std::to_string(message.bits) + " to " + what);
  }

  const Schedule& s_;
  const std::string& what_;
  std::size_t at_ = 0;
  std::vector<BlockPlace> slots_;
  BlockPlace output_;
  std::map<int, Wire> wires_;  // by the bits in which the peer's number differs
  std::vector<Message> receives_, sends_;
};

}  // namespace

bool check_flips(const Schedule& schedule, const std::string& what) {
  if (!is_flipped(schedule)) return false;
  Player(schedule, what).play();
  return true;
}

}  // namespace ferry::verifier
