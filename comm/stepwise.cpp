#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/system/cache_lines.hpp"
#include "comm/group_ways.hpp"

namespace ferry {
namespace {

using Kind = ScheduleStep::Kind;

constexpr std::int64_t kChunk = 128 << 10;      // bytes that a thread folds at a time
constexpr std::size_t kBeyondCaches = 1 << 20;  // bytes; a result this large has left the caches before it is read

/// A step of this member with all addresses. `bytes` is the size of its `count` elements.
struct Step {
  enum class In : std::uint8_t { elsewhere, input, output };

  Kind kind = Kind::wait;
  int peer = 0;
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  /// The memory that contains `source` and `target`, and their offsets from its beginning.
  In source_in = In::elsewhere, target_in = In::elsewhere;
  std::int64_t source_at = 0, target_at = 0;
  std::int64_t count = 0;
  std::size_t bytes = 0;
  bool started = false;  ///< a receive that receive_ahead() has started, as `ticket`
  Ticket ticket = 0;
  std::byte* window = nullptr;  ///< for a send: the receiver's memory, if the bytes have been written there already
  // If members lend, `lent` is sent or received instead of the input: the input's lend() number and the run's stamp.
  // `lender`: for a copy or fold, the step that receives the number of its source.
  struct Lent {
    std::uint64_t number = 0, stamp = 0;
  } lent = {};
  const Step* lender = nullptr;
};

/// The addresses of slots. A join exchanges the addresses of two slots instead of copying their contents.
class Slots {
 public:
  explicit Slots(const GroupSpec& spec)
      : spec_(spec),
        bytes_(slot_bytes(spec.schedule, spec.parts, spec.dtype)),
        positions_(static_cast<std::size_t>(spec.schedule.slots)) {
    std::iota(positions_.begin(), positions_.end(), 0);
  }
  /// Slot `number`, or the slot of `peer` if that is kOfPeer; null if contributions are not sent as messages.
  [[nodiscard]] std::byte* address_of_slot(int peer, std::int32_t number) const {
    if (spec_.schedule.via != Via::messages) return nullptr;
    const int of_peer = peer > spec_.member ? peer - 1 : peer;
    return spec_.staging.data() + bytes_ * position_of(number == ScheduleStep::kOfPeer ? of_peer : number);
  }
  void swap(std::int32_t a, std::int32_t b) { std::swap(position_of(a), position_of(b)); }

 private:
  [[nodiscard]] const std::int32_t& position_of(std::int32_t number) const { return positions_[number]; }
  [[nodiscard]] std::int32_t& position_of(std::int32_t number) { return positions_[number]; }

  const GroupSpec& spec_;
  std::int64_t bytes_;
  std::vector<std::int32_t> positions_;
};

Step prepare(const GroupSpec& spec, const ScheduleStep& step, Slots& slots) {
  const Schedule& schedule = spec.schedule;
  if (step.kind == Kind::wait || step.kind == Kind::wait_sends) return {.kind = step.kind};
  const int peer = step.peer.resolve(spec.member, schedule.members);
  const int part = step.part.resolve(spec.member, schedule.members);
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  const PartRange in = schedule.input_part(spec.parts, spec.member, part);
  const PartRange out = schedule.output_part(spec.parts, spec.member, part);
  const bool own_input = peer == spec.member && step.source == ScheduleStep::kOfPeer;
  Step ready{.kind = step.kind, .peer = spec.tasks[peer], .count = out.count};
  switch (step.kind) {
    case Kind::send_input:
      ready.source = spec.input + in.begin * size;
      ready.source_in = Step::In::input;
      ready.source_at = in.begin * size;
      ready.count = in.count;
      break;
    case Kind::send_output:
      ready.source = spec.output + out.begin * size;
      ready.source_in = Step::In::output;
      ready.source_at = out.begin * size;
      break;
    case Kind::receive_output:
      ready.target = spec.output + out.begin * size;
      ready.target_in = Step::In::output;
      ready.target_at = out.begin * size;
      break;
    case Kind::receive_slot:
      ready.target = slots.address_of_slot(peer, step.slot);
      ready.count = schedule.input_part(spec.parts, peer, part).count;
      break;
    case Kind::send_slot:
      ready.source = slots.address_of_slot(peer, step.slot);
      ready.count = spec.parts[part];
      break;
    case Kind::copy:
    case Kind::fold:
      ready.source = own_input ? spec.input + in.begin * size : slots.address_of_slot(peer, step.source);
      if (own_input) ready.source_in = Step::In::input;
      ready.source_at = in.begin * size;
      ready.target = spec.output + out.begin * size;
      ready.target_in = Step::In::output;
      ready.target_at = out.begin * size;
      if (step.slot == ScheduleStep::kOfPeer) break;
      ready.target_in = Step::In::elsewhere;
      ready.target = slots.address_of_slot(peer, step.slot);
      ready.count = spec.parts[part];
      break;
    case Kind::join:
      if (peer < spec.member) slots.swap(step.slot, step.source);
      ready.kind = Kind::fold;
      ready.source = slots.address_of_slot(peer, step.source);
      ready.target = slots.address_of_slot(peer, step.slot);
      ready.count = spec.parts[part];
      break;
    case Kind::wait:
    case Kind::wait_sends:
      break;
  }
  ready.bytes = static_cast<std::size_t>(ready.count * size);
  return ready;
}

class Stepwise : public GroupCall {
 public:
  Stepwise(Transport& transport, const GroupSpec& spec);

  void start() override;
  void start(const GroupRun& run) override;
  bool progress() override;

 private:
  /// Another member with which this member exchanges messages. Used if stamps are separate messages.
  struct Stamp {
    int task = 0;
    std::uint64_t theirs = 0;
  };

  void prepare_lending(const GroupSpec& spec);
  void prepare_stamps(const GroupSpec& spec);
  void move_to(const std::byte* input, std::byte* output);
  void lend();
  void exchange_stamps();
  [[nodiscard]] bool stamps_match() const;
  void copy_input_to_stand_in();
  void copy_stand_in_to_output();
  void set_lent_sources();
  void receive_ahead();
  void fold_for_others();
  void fold(const Step& step);
  void split(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) const;
  void execute(Step& step);
  void count(const Step& step);

  Transport& transport_;
  SharedMemory* const shared_memory_;  ///< null if the transport has none
  std::uint32_t channel_;
  SplitWork split_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  Tickets sends_, receives_;

  TiledFold fold_;
  std::span<const std::byte> mine_;  ///< the input
  bool folds_for_others_ = false;    ///< a direct all-reduce: each member folds one part and sends it to the others
  bool lends_ = false;               ///< members read each other's inputs in place
  bool in_place_ = false;            ///< the output is the input's memory
  std::byte* output_ = nullptr;
  std::int64_t output_bytes_ = 0;

  /// Memory that others can read and write instead of the input and the output, and its lend() number. Null if there is
  /// none.
  std::byte* stand_in_ = nullptr;
  std::uint64_t stand_in_number_ = 0;
  bool copies_in_ = false, copies_out_ = false;  ///< whether stand_in_ replaces the input, and the output

  bool stamped_ = false;
  std::uint64_t stamp_ = 0;
  std::vector<Stamp> stamps_;
};

Stepwise::Stepwise(Transport& transport, const GroupSpec& spec)
    : transport_(transport),
      shared_memory_(transport.shared_memory()),
      channel_(spec.channel),
      split_(spec.split),
      fold_{.fold = spec.fold, .element = size_of(spec.dtype), .contributions = {}, .targets = {}},
      mine_(spec.input,
            static_cast<std::size_t>(spec.schedule.input_elements(spec.parts, spec.member)) * fold_.element),
      output_(spec.output),
      output_bytes_(spec.schedule.output_elements(spec.parts, spec.member) * static_cast<std::int64_t>(fold_.element)),
      stamped_(spec.stamped) {
  Slots slots(spec);
  for (const ScheduleStep& step : spec.schedule.steps) {
    if (spec.schedule.concerns(step, spec.member)) steps_.push_back(prepare(spec, step, slots));
  }
  next_ = steps_.size();
  sends_.reserve(steps_.size());
  receives_.reserve(steps_.size());
  if (spec.schedule.in_place && spec.tasks.size() > 1) {
    folds_for_others_ = true;
    in_place_ = spec.input == spec.output;
    fold_.contributions.reserve(spec.tasks.size());
    fold_.targets.reserve(spec.tasks.size());
    if (spec.schedule.via == Via::get) prepare_lending(spec);
  }
  if (stamped_ && !lends_) prepare_stamps(spec);
}

void Stepwise::prepare_lending(const GroupSpec& spec) {
  lends_ = true;
  if (!spec.staging.empty() && spec.staging.size() >= mine_.size()) {
    const auto number = shared_memory_->lend(spec.staging);
    stand_in_ = number ? spec.staging.data() : nullptr;
    stand_in_number_ = number.value_or(0);
  }
  for (Step& step : steps_) {
    const bool folds = (step.kind == Kind::copy || step.kind == Kind::fold) && step.peer != transport_.task();
    for (const Step& other : steps_)
      if (folds && other.kind == Kind::receive_slot && other.peer == step.peer) step.lender = &other;
  }
  lend();
}

/// Finds the members with which this member exchanges messages. Both ends of a message have a step for it, so each
/// member finds exactly the members that find it.
void Stepwise::prepare_stamps(const GroupSpec& spec) {
  for (const Step& step : steps_) {
    const bool moves =
        step.kind != Kind::wait && step.kind != Kind::wait_sends && step.kind != Kind::copy && step.kind != Kind::fold;
    const auto known = [&](const Stamp& stamp) { return stamp.task == step.peer; };
    if (moves && step.peer != spec.tasks[spec.member] && std::ranges::none_of(stamps_, known))
      stamps_.push_back({.task = step.peer});
  }
  sends_.reserve(steps_.size() + stamps_.size());
  receives_.reserve(steps_.size() + stamps_.size());
}

void Stepwise::move_to(const std::byte* input, std::byte* output) {
  if (input == mine_.data() && output == output_) return;
  mine_ = {input, mine_.size()};
  output_ = output;
  for (Step& step : steps_) {
    if (step.source_in == Step::In::input) step.source = input + step.source_at;
    if (step.source_in == Step::In::output) step.source = output + step.source_at;
    if (step.target_in == Step::In::output) step.target = output + step.target_at;
  }
  if (lends_) lend();
}

/// Lends the input and the output in place if others can access them, else lends stand_in_.
void Stepwise::lend() {
  const auto input = mine_.empty() ? std::optional<std::uint64_t>(0) : shared_memory_->lend(mine_);
  copies_in_ = !input;
  FERRY_ASSERT(input || stand_in_ != nullptr, "no other member can read the input of a collective");
  copies_out_ = stand_in_ != nullptr && output_bytes_ > 0 &&
                !shared_memory_->lend({output_, static_cast<std::size_t>(output_bytes_)});
  for (Step& step : steps_) {
    if (step.kind == Kind::send_input)
      step.lent.number = (copies_in_ ? stand_in_number_ : *input) + static_cast<std::uint64_t>(step.source_at);
    if (step.kind == Kind::receive_output) step.target = (copies_out_ ? stand_in_ : output_) + step.target_at;
  }
}

/// Exchanges stamps. They are the first messages of a run.
void Stepwise::exchange_stamps() {
  for (Stamp& other : stamps_)
    receives_.add(transport_.receive(other.task, channel_, std::as_writable_bytes(std::span(&other.theirs, 1))));
  for (const Stamp& other : stamps_)
    sends_.add(transport_.send(other.task, channel_, std::as_bytes(std::span(&stamp_, 1))));
}

/// Whether all members have sent this run's stamp. Call it after their first messages have arrived.
bool Stepwise::stamps_match() const {
  if (!stamped_) return true;
  return std::ranges::all_of(stamps_, [&](const Stamp& other) { return other.theirs == stamp_; }) &&
         std::ranges::all_of(steps_, [&](const Step& step) {
           return !lends_ || step.kind != Kind::receive_slot || step.lent.stamp == stamp_;
         });
}

/// Copies the parts of the input that others read to stand_in_.
void Stepwise::copy_input_to_stand_in() {
  for (const Step& step : steps_)
    if (step.kind == Kind::send_input && step.bytes > 0)
      copy_for_reader(stand_in_ + step.source_at, step.source, step.bytes,
                      mine_.size() >= shared_memory_->stream_from(step.peer));
  stream_fence();
}

/// Copies the parts of the output that others have written from stand_in_ to the output.
void Stepwise::copy_stand_in_to_output() {
  for (const Step& step : steps_)
    if (step.kind == Kind::receive_output && step.bytes > 0)
      std::memcpy(output_ + step.target_at, step.target, step.bytes);
}

/// Sets the sources of copies and folds, after the others have sent the numbers of their inputs.
void Stepwise::set_lent_sources() {
  for (Step& step : steps_)
    if (step.lender != nullptr)
      step.source = shared_memory_->borrowed(step.lender->peer, step.lender->lent.number, step.bytes).data();
}

void Stepwise::start() {
  FERRY_ASSERT(next_ == steps_.size() && sends_.empty() && receives_.empty(), "a collective was started twice");
  next_ = 0;
  if (copies_in_) copy_input_to_stand_in();
  if (!stamps_.empty()) exchange_stamps();
}

void Stepwise::start(const GroupRun& run) {
  move_to(run.input, run.output);
  stamp_ = run.stamp;
  for (Step& step : steps_)
    if (step.kind == Kind::send_input) step.lent.stamp = stamp_;
  start();
}

bool Stepwise::progress() {
  while (next_ < steps_.size()) {
    Step& step = steps_[next_];
    if (step.kind == Kind::wait) {
      if (in_place_ && !lends_ && !sends_.done(transport_)) return false;
      if (folds_for_others_) receive_ahead();
      if (!receives_.done(transport_) || !stamps_match()) return false;
      set_lent_sources();
    }
    if (step.kind == Kind::wait_sends && !sends_.done(transport_)) return false;
    if (folds_for_others_ && step.kind == Kind::copy) {
      fold_for_others();
      continue;
    }
    execute(step);
    ++next_;
  }
  if (!receives_.done(transport_) || !sends_.done(transport_) || !stamps_match()) return false;
  if (copies_out_) copy_stand_in_to_output();
  return true;
}

/// Starts the receives of results of other members before their turn, so that these members know early where to write.
void Stepwise::receive_ahead() {
  for (std::size_t i = next_; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.kind != Kind::receive_output || step.started) continue;
    step.started = true;
    step.ticket = transport_.receive(step.peer, channel_, {step.target, step.bytes});
  }
}

/// Executes the next copy and the folds after it in one pass over memory. The pass writes this member's output, and the
/// outputs of other members to which there is a window.
void Stepwise::fold_for_others() {
  const Step& copy = steps_[next_];
  fold_.contributions = {copy.source};
  for (++next_; next_ < steps_.size() && steps_[next_].kind == Kind::fold; ++next_)
    fold_.contributions.push_back(steps_[next_].source);
  fold_.targets = {{copy.target}};
  for (std::size_t i = next_; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.kind == Kind::send_output && shared_memory_ != nullptr)
      step.window = shared_memory_->window(step.peer, channel_, step.bytes);
    if (step.window == nullptr) continue;
    const bool stream = mine_.size() >= shared_memory_->stream_from(step.peer);
    fold_.targets.push_back({step.window, stream});
    if (stream && copy.bytes >= kBeyondCaches) fold_.targets[0].stream = true;
  }
  split(static_cast<std::int64_t>(copy.bytes), kChunk, [&](std::int64_t first, std::int64_t last) {
    fold_.run(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    stream_fence();
  });
}

void Stepwise::split(std::int64_t n, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& body) const {
  if (split_ && n > grain)
    split_(n, grain, body);
  else if (n > 0)
    body(0, n);
}

void Stepwise::execute(Step& step) {
  switch (step.kind) {
    case Kind::send_input:
      sends_.add(transport_.send(
          step.peer, channel_, lends_ ? std::as_bytes(std::span(&step.lent, 1)) : std::span(step.source, step.bytes)));
      break;
    case Kind::send_output:
    case Kind::send_slot: {
      const std::byte* source = step.window != nullptr ? std::exchange(step.window, nullptr) : step.source;
      sends_.add(transport_.send(step.peer, channel_, {source, step.bytes}));
      break;
    }
    case Kind::receive_slot:
      receives_.add(transport_.receive(
          step.peer, channel_,
          lends_ ? std::as_writable_bytes(std::span(&step.lent, 1)) : std::span(step.target, step.bytes)));
      break;
    case Kind::receive_output:
      receives_.add(std::exchange(step.started, false)
                        ? step.ticket
                        : transport_.receive(step.peer, channel_, {step.target, step.bytes}));
      break;
    case Kind::copy:
      if (step.bytes > 0 && step.target != step.source) std::memcpy(step.target, step.source, step.bytes);
      break;
    case Kind::fold:
      if (step.count > 0) fold(step);
      break;
    case Kind::join:  // prepare() has made it a fold
    case Kind::wait:
    case Kind::wait_sends:
      break;
  }
  count(step);
}

void Stepwise::fold(const Step& step) {
  const std::int64_t grain = kChunk * step.count / static_cast<std::int64_t>(step.bytes);
  split(step.count, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t size = static_cast<std::int64_t>(step.bytes) / step.count;
    std::byte* target = step.target + first * size;
    fold_.fold(target, target, step.source + first * size, last - first);
  });
}

void Stepwise::count(const Step& step) {
  const auto bytes = static_cast<std::int64_t>(step.bytes);
  if (step.kind == Kind::send_input || step.kind == Kind::send_output || step.kind == Kind::send_slot) {
    ++moved_.sent_messages;
    moved_.sent_bytes += bytes;
  } else if (step.kind == Kind::receive_output || step.kind == Kind::receive_slot) {
    ++moved_.received_messages;
    moved_.received_bytes += bytes;
  }
}

}  // namespace

std::unique_ptr<GroupCall> stepwise_call(Transport& transport, const GroupSpec& spec) {
  return std::make_unique<Stepwise>(transport, spec);
}

}  // namespace ferry
