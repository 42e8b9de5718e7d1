#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/system/cache_lines.hpp"
#include "comm/group_ways.hpp"

namespace ferry {
namespace {

class OneShot : public GroupCall {
 public:
  OneShot(Transport& transport, const GroupSpec& spec);

  void start() override;
  void start(const GroupRun& run) override;
  bool progress() override;

 private:
  enum class Phase : std::uint8_t { done, started, sent, folded };

  /// Another member.
  struct Other {
    std::int32_t task = 0;
    std::size_t contribution = 0;  ///< index of its contribution in fold_
    /// Memory for its contribution; its stamp, if both are in one message, is before it.
    std::byte* received = nullptr;
    // If writes_: the lend() number of this member's two slots that the other member writes, and of the other member's
    // two slots that this member writes.
    std::uint64_t here = 0, there = 0;
    std::byte* window = nullptr;  ///< address of the slots `there`
    std::uint64_t stamp = 0;      ///< the last stamp that arrived from it
  };

  [[nodiscard]] static bool takes(const Transport& transport, const GroupSpec& spec);
  [[nodiscard]] std::byte* slots(std::size_t bytes);
  [[nodiscard]] bool exchange_slots();
  [[nodiscard]] bool stamps_match();
  void send();
  [[nodiscard]] std::span<const std::byte> message();
  void write_to_others();

  Transport& transport_;
  SharedMemory* const shared_memory_;  ///< null: not used
  std::uint32_t channel_;
  TiledFold fold_;
  std::span<const std::byte> mine_;
  bool in_place_;    ///< the output is the input's memory
  std::size_t own_;  ///< index of this member's contribution in fold_
  bool writes_;  ///< members write into each other's slots (two for each peer); messages are empty or have only a stamp
  std::size_t stamp_bytes_;  ///< bytes of the stamp in a message: 0 without stamps
  std::size_t slot_;         ///< bytes for one contribution
  std::uint64_t stamp_ = 0;
  std::vector<std::byte> message_;  ///< stamp and contribution
  std::vector<Other> others_;
  std::shared_ptr<std::byte> shared_;  ///< slots in the transport's shared memory
  std::vector<std::byte> plain_;       ///< slots if the transport has no shared memory
  Phase phase_ = Phase::done;
  bool exchange_started_ = false,
       slots_exchanged_ = false;  ///< whether the exchange of slot numbers has started, and is complete
  bool second_is_next_ = false;   ///< which of the two slots is next
  Tickets sends_, receives_;
  Traffic each_;  ///< messages and bytes of the schedule in one run
};

OneShot::OneShot(Transport& transport, const GroupSpec& spec)
    : transport_(transport),
      shared_memory_(transport.shared_memory()),
      channel_(spec.channel),
      fold_{.fold = spec.fold, .element = size_of(spec.dtype), .contributions = {}, .targets = {{spec.output}}},
      mine_(spec.input,
            static_cast<std::size_t>(spec.schedule.input_elements(spec.parts, spec.member)) * size_of(spec.dtype)),
      in_place_(spec.input == spec.output),
      own_(static_cast<std::size_t>(spec.member)),
      writes_(spec.schedule.via == Via::put && !takes(transport, spec)),
      stamp_bytes_(spec.stamped ? sizeof stamp_ : 0),
      slot_((mine_.size() + kSlotAlign - 1) / kSlotAlign * kSlotAlign) {
  const bool stamps_lead = spec.stamped && !writes_;
  const std::size_t of_each = writes_ ? 2 * slot_ : slot_ + (stamps_lead ? kSlotAlign : 0);
  const bool own_slots = stamps_lead || spec.schedule.via == Via::put;
  std::byte* at = own_slots ? slots(of_each * (spec.tasks.size() - 1)) : spec.staging.data();
  if (stamps_lead) message_.resize(stamp_bytes_ + mine_.size());
  for (const std::int32_t task : spec.tasks) {
    if (task == transport_.task()) {
      fold_.contributions.push_back(mine_.data());
      continue;
    }
    std::byte* const received = stamps_lead ? at + kSlotAlign : at;
    fold_.contributions.push_back(received);
    others_.push_back({.task = task, .contribution = fold_.contributions.size() - 1, .received = received});
    if (writes_) others_.back().here = shared_memory_->lend({at, of_each}).value();
    at += of_each;
  }
  const auto size = static_cast<std::int64_t>(fold_.element);
  each_ = {.sent_messages = spec.schedule.sends_of(spec.member),
           .sent_bytes = spec.schedule.sent_elements(spec.parts, spec.member) * size,
           .received_messages = spec.schedule.receives_of(spec.member),
           .received_bytes = spec.schedule.received_elements(spec.parts, spec.member) * size};
  sends_.reserve(others_.size());
  receives_.reserve(others_.size());
}

/// Whether inputs are so small that the message which announces an input can contain it at no extra cost. Then members
/// do not write slots.
bool OneShot::takes(const Transport& transport, const GroupSpec& spec) {
  const auto size = static_cast<std::uint64_t>(spec.schedule.input_elements(spec.parts, spec.member));
  return transport.shared_memory()->takes(spec.tasks[spec.member == 0 ? 1 : 0],
                                          size * size_of(spec.dtype) + (spec.stamped ? sizeof stamp_ : 0));
}

/// Allocates slots. No other call may use them, because a member that is ahead writes into them before this member has
/// started.
std::byte* OneShot::slots(std::size_t bytes) {
  if (bytes > 0) shared_ = transport_.memory(bytes, "the contributions to an all-reduce");
  if (!shared_) plain_.resize(bytes);
  return shared_ ? shared_.get() : plain_.data();
}

void OneShot::start() {
  FERRY_ASSERT(phase_ == Phase::done, "a collective was started twice");
  phase_ = Phase::started;
}

void OneShot::start(const GroupRun& run) {
  mine_ = {run.input, mine_.size()};
  fold_.contributions[own_] = run.input;
  fold_.targets[0].at = run.output;
  stamp_ = run.stamp;
  start();
}

bool OneShot::progress() {
  if (phase_ == Phase::started) {
    if (writes_ && !exchange_slots()) return false;
    send();
    phase_ = Phase::sent;
  }
  if (phase_ == Phase::sent) {
    if (!receives_.done(transport_) || !stamps_match()) return false;
    if (in_place_ && !sends_.done(transport_)) return false;
    fold_.run(0, mine_.size());
    moved_ += each_;
    phase_ = Phase::folded;
  }
  if (!sends_.done(transport_)) return false;
  phase_ = Phase::done;
  return true;
}

/// In the first run, members exchange the numbers of their slots. Returns true when the exchange is complete.
bool OneShot::exchange_slots() {
  if (slots_exchanged_) return true;
  if (!std::exchange(exchange_started_, true))
    for (Other& other : others_) {
      receives_.add(transport_.receive(other.task, channel_, std::as_writable_bytes(std::span(&other.there, 1))));
      sends_.add(transport_.send(other.task, channel_, std::as_bytes(std::span(&other.here, 1))));
    }
  if (!receives_.done(transport_) || !sends_.done(transport_)) return false;
  for (Other& other : others_) other.window = shared_memory_->borrowed(other.task, other.there, 2 * slot_).data();
  return slots_exchanged_ = true;
}

/// Whether all members have sent this run's stamp.
bool OneShot::stamps_match() {
  if (stamp_bytes_ == 0) return true;
  for (Other& other : others_) {
    if (!writes_) std::memcpy(&other.stamp, other.received - stamp_bytes_, stamp_bytes_);
    if (other.stamp != stamp_) return false;
  }
  return true;
}

void OneShot::send() {
  if (writes_) write_to_others();
  const std::span<const std::byte> bytes = message();
  for (Other& other : others_) {
    auto* const at = writes_ ? reinterpret_cast<std::byte*>(&other.stamp) : other.received - stamp_bytes_;
    receives_.add(transport_.receive(other.task, channel_, {at, bytes.size()}));
  }
  for (const Other& other : others_) sends_.add(transport_.send(other.task, channel_, bytes));
}

/// The message to each other member: the stamp, if runs are stamped, and the contribution, unless it is written to
/// slots.
std::span<const std::byte> OneShot::message() {
  if (writes_) return std::as_bytes(std::span(&stamp_, 1)).first(stamp_bytes_);
  if (stamp_bytes_ == 0) return mine_;
  std::memcpy(message_.data(), &stamp_, stamp_bytes_);
  if (!mine_.empty()) std::memcpy(message_.data() + stamp_bytes_, mine_.data(), mine_.size());
  return message_;
}

/// Writes the contribution into the others' slots, and alternates between two slots. No acknowledgement is needed: a
/// peer sent its last run's message only after it had folded the contribution of the run before. So that slot is free
/// again.
void OneShot::write_to_others() {
  const std::size_t slot = std::exchange(second_is_next_, !second_is_next_) ? slot_ : 0;
  for (const Other& other : others_) {
    copy_for_reader(other.window + slot, mine_.data(), mine_.size(),
                    mine_.size() >= shared_memory_->stream_from(other.task));
    fold_.contributions[other.contribution] = other.received + slot;
  }
  stream_fence();
}

}  // namespace

std::unique_ptr<GroupCall> one_shot_call(Transport& transport, const GroupSpec& spec) {
  return std::make_unique<OneShot>(transport, spec);
}

}  // namespace ferry
