#include "comm/group.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/fetch.hpp"
#include "base/stream_copy.hpp"

namespace ferry {
namespace {

using Kind = ScheduleStep::Kind;

/// All-reduces that receive no more than this in one round: there a round costs more than its bytes.
constexpr std::size_t kOneRound = 16 << 10;
constexpr std::size_t kTile = 4096;             // folded at once, in the cache
constexpr std::int64_t kChunk = 128 << 10;      // bytes that a thread folds at a time; a multiple of kTile
constexpr std::size_t kBeyondCaches = 1 << 20;  // results that are long gone from the cache when somebody reads them

void add(std::vector<Ticket>& tickets, Ticket ticket) {
  if (ticket != kComplete) tickets.push_back(ticket);
}

/// Drops the tickets that are done.
bool all_done(Transport& transport, std::vector<Ticket>& tickets) {
  for (std::size_t i = 0; i < tickets.size();) {
    if (transport.done(tickets[i])) {
      tickets[i] = tickets.back();
      tickets.pop_back();
    } else {
      ++i;
    }
  }
  return tickets.empty();
}

}  // namespace

/// Where the slots lie. Joins change their places in place of copying what is in them.
class GroupCall::Slots {
 public:
  explicit Slots(const GroupSpec& spec)
      : spec_(spec),
        bytes_(slot_bytes(spec.schedule, spec.parts, spec.dtype)),
        places_(static_cast<std::size_t>(spec.schedule.slots)) {
    std::iota(places_.begin(), places_.end(), 0);
  }
  /// The slot of that number, or that of `peer`.
  [[nodiscard]] std::byte* of(int peer, std::int32_t number) const {
    const int of_peer = peer > spec_.member ? peer - 1 : peer;
    return spec_.staging.data() + bytes_ * place(number == ScheduleStep::kOfPeer ? of_peer : number);
  }
  void swap(std::int32_t a, std::int32_t b) { std::swap(place(a), place(b)); }

 private:
  [[nodiscard]] const std::int32_t& place(std::int32_t number) const {
    return places_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] std::int32_t& place(std::int32_t number) { return places_[static_cast<std::size_t>(number)]; }

  const GroupSpec& spec_;
  std::int64_t bytes_;
  std::vector<std::int32_t> places_;
};

GroupCall::GroupCall(Transport& transport, const GroupSpec& spec)
    : transport_(transport), channel_(spec.channel), fold_(spec.fold), split_(spec.split) {
  const Schedule& schedule = spec.schedule;
  FERRY_ASSERT(static_cast<std::int32_t>(spec.parts.size()) == schedule.part_count(), "parts do not fit the schedule");
  FERRY_ASSERT(static_cast<std::int32_t>(spec.tasks.size()) == schedule.members, "tasks do not fit the schedule");
  FERRY_ASSERT(
      static_cast<std::int64_t>(spec.staging.size()) >= staging_bytes(schedule, spec.parts, spec.dtype, spec.member),
      "staging is too small");
  FERRY_ASSERT(spec.input == nullptr || spec.input != spec.output || schedule.in_place(),
               "a collective cannot write over its input");
  Slots slots(spec);
  for (const ScheduleStep& step : schedule.steps) {
    if (step.concerns(spec.member)) steps_.push_back(prepare(spec, step, slots));
  }
  next_ = steps_.size();
  sends_.reserve(steps_.size());
  receives_.reserve(steps_.size());
  const bool folds = std::ranges::any_of(steps_, [](const Step& step) { return step.kind == Kind::fold; });
  if (!schedule.in_place() || !folds) return;
  folds_for_others_ = true;
  in_place_ = spec.input == spec.output;
  element_ = size_of(spec.dtype);
  mine_ = {spec.input, static_cast<std::size_t>(schedule.input_elements(spec.parts, spec.member)) * element_};
  contributions_.reserve(spec.tasks.size());
  targets_.reserve(spec.tasks.size());
  if (spec.exact) return;
  const bool near = std::ranges::all_of(
      spec.tasks, [&](std::int32_t task) { return task == transport.task() || transport.lends(task); });
  one_round_ = mine_.size() * (spec.tasks.size() - 1) <= kOneRound;
  if (one_round_)
    prepare_one_round(spec, near);
  else if (near)
    prepare_lending(spec);
}

/// What is not in the transport's memory is copied there by start().
void GroupCall::prepare_lending(const GroupSpec& spec) {
  lends_ = true;
  std::optional<std::uint64_t> number = transport_.lend(mine_);
  if (!number) {
    shared_ = transport_.memory(mine_.size(), "the input of an all-reduce");
    number = transport_.lend({shared_.get(), mine_.size()});
  }
  for (Step& step : steps_) {
    if (step.kind == Kind::send_input) step.lent = *number + static_cast<std::uint64_t>(step.source - spec.input);
    for (const Step& other : steps_)
      if (other.kind == Kind::receive_slot && other.target == step.source) step.lender = &other;
  }
}

/// The others have said where their input lies.
void GroupCall::find_lent() {
  for (Step& step : steps_)
    if (step.lender != nullptr)
      step.source = transport_.borrowed(step.lender->peer, step.lender->lent, step.bytes).data();
}

void GroupCall::prepare_one_round(const GroupSpec& spec, bool near) {
  targets_ = {{spec.output}};
  member_ = static_cast<std::size_t>(spec.member);
  slot_ = (mine_.size() + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
  for (const std::int32_t task : spec.tasks)
    if (task != transport_.task()) others_.push_back(task);
  meets_ = near && !transport_.takes(others_[0], mine_.size());
  const std::size_t of_each = meets_ ? 2 * slot_ : slot_, all = of_each * others_.size();
  if (all > 0) shared_ = transport_.memory(all, "the contributions to an all-reduce");
  if (!shared_) plain_.resize(all);
  std::byte* at = shared_ ? shared_.get() : plain_.data();
  for (const std::int32_t task : spec.tasks) {
    contributions_.push_back(task == transport_.task() ? mine_.data() : at);
    if (task == transport_.task()) continue;
    received_.push_back(at);
    if (meets_) here_.push_back(transport_.lend({at, of_each}).value());
    at += of_each;
  }
  there_.resize(here_.size());
}

GroupCall::Step GroupCall::prepare(const GroupSpec& spec, const ScheduleStep& step, Slots& slots) const {
  const Schedule& schedule = spec.schedule;
  if (step.kind == Kind::wait || step.kind == Kind::wait_sends) return {.kind = step.kind};
  const int peer = step.peer.resolve(spec.member, schedule.members);
  const int part = step.part.resolve(spec.member, schedule.members);
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  const PartRange in = schedule.input_part(spec.parts, spec.member, part);
  const PartRange out = schedule.output_part(spec.parts, spec.member, part);
  const bool own_input = peer == spec.member && step.source == ScheduleStep::kOfPeer;
  Step ready{.kind = step.kind, .peer = spec.tasks[static_cast<std::size_t>(peer)], .count = out.count};
  switch (step.kind) {
    case Kind::send_input:
      ready.source = spec.input + in.begin * size;
      ready.count = in.count;
      break;
    case Kind::send_output:
      ready.source = spec.output + out.begin * size;
      break;
    case Kind::receive_output:
      ready.target = spec.output + out.begin * size;
      break;
    case Kind::receive_slot:
      ready.target = slots.of(peer, step.slot);
      ready.count = schedule.input_part(spec.parts, peer, part).count;
      break;
    case Kind::send_slot:
      ready.source = slots.of(peer, step.slot);
      ready.count = spec.parts[static_cast<std::size_t>(part)];
      break;
    case Kind::copy:
    case Kind::fold:
      ready.source = own_input ? spec.input + in.begin * size : slots.of(peer, step.source);
      ready.target = spec.output + out.begin * size;
      if (step.slot == ScheduleStep::kOfPeer) break;
      ready.target = slots.of(peer, step.slot);
      ready.count = spec.parts[static_cast<std::size_t>(part)];
      break;
    case Kind::join:
      if (peer < spec.member) slots.swap(step.slot, step.source);
      ready.kind = Kind::fold;
      ready.source = slots.of(peer, step.source);
      ready.target = slots.of(peer, step.slot);
      ready.count = spec.parts[static_cast<std::size_t>(part)];
      break;
    case Kind::wait:
    case Kind::wait_sends:
      break;
  }
  ready.bytes = static_cast<std::size_t>(ready.count * size);
  return ready;
}

void GroupCall::start() {
  FERRY_ASSERT(next_ == steps_.size() && sends_.empty() && receives_.empty(), "a collective was started twice");
  next_ = 0;
  started_ = folded_ = false;
  if (lends_ && shared_) std::memcpy(shared_.get(), mine_.data(), mine_.size());
}

/// In the first round: members tell each other where to write.
bool GroupCall::meet() {
  if (!windows_.empty()) return true;
  if (!std::exchange(meeting_, true))
    for (std::size_t i = 0; i < others_.size(); ++i) {
      add(receives_, transport_.receive(others_[i], channel_, std::as_writable_bytes(std::span(&there_[i], 1))));
      add(sends_, transport_.send(others_[i], channel_, std::as_bytes(std::span(&here_[i], 1))));
    }
  if (!all_done(transport_, receives_) || !all_done(transport_, sends_)) return false;
  for (std::size_t i = 0; i < others_.size(); ++i)
    windows_.push_back(transport_.borrowed(others_[i], there_[i], 2 * slot_).data());
  return true;
}

void GroupCall::start_one_round() {
  if (meets_) write_to_others();
  const auto bytes = meets_ ? std::span<const std::byte>() : mine_;
  for (std::size_t i = 0; i < others_.size(); ++i)
    add(receives_, transport_.receive(others_[i], channel_, {received_[i], bytes.size()}));
  for (const int other : others_) add(sends_, transport_.send(other, channel_, bytes));
}

/// To two slots in turn: what was written in the round before the last has been folded by whoever has sent in the last.
void GroupCall::write_to_others() {
  const std::size_t slot = odd_ ? slot_ : 0;
  odd_ = !odd_;
  for (std::size_t i = 0; i < others_.size(); ++i)
    copy_for_reader(windows_[i] + slot, mine_.data(), mine_.size(), mine_.size() >= transport_.stream_from(others_[i]));
  stream_fence();
  for (std::size_t i = 0; i < others_.size(); ++i) contributions_[i < member_ ? i : i + 1] = received_[i] + slot;
}

bool GroupCall::progress_one_round() {
  if (meets_ && !meet()) return false;
  if (!std::exchange(started_, true)) start_one_round();
  if (!all_done(transport_, receives_)) return false;
  if (in_place_ && !all_done(transport_, sends_)) return false;
  if (!std::exchange(folded_, true)) {
    fold_tiles(0, mine_.size());
    for (const Step& step : steps_) count(step);
    next_ = steps_.size();
  }
  return all_done(transport_, sends_);
}

bool GroupCall::progress() {
  if (one_round_) return progress_one_round();
  while (next_ < steps_.size()) {
    Step& step = steps_[next_];
    if (step.kind == Kind::wait) {
      if (in_place_ && !lends_ && !all_done(transport_, sends_)) return false;
      if (folds_for_others_) receive_ahead();
      if (!all_done(transport_, receives_)) return false;
      find_lent();
    }
    if (step.kind == Kind::wait_sends && !all_done(transport_, sends_)) return false;
    if (folds_for_others_ && step.kind == Kind::copy) {
      fold_for_others();
      continue;
    }
    execute(step);
    ++next_;
  }
  return all_done(transport_, receives_) && all_done(transport_, sends_);
}

/// The results that others fold may come at any time: the sooner they know where to, the better.
void GroupCall::receive_ahead() {
  for (std::size_t i = next_; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.kind != Kind::receive_output || step.started) continue;
    step.started = true;
    step.ticket = transport_.receive(step.peer, channel_, {step.target, step.bytes});
  }
}

/// The copy and the folds at hand, into the own output and into those of the others that are within reach.
void GroupCall::fold_for_others() {
  const Step& copy = steps_[next_];
  contributions_ = {copy.source};
  for (++next_; next_ < steps_.size() && steps_[next_].kind == Kind::fold; ++next_)
    contributions_.push_back(steps_[next_].source);
  targets_ = {{copy.target}};
  for (std::size_t i = next_; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.kind == Kind::send_output) step.window = transport_.window(step.peer, channel_, step.bytes);
    if (step.window == nullptr) continue;
    const bool around = mine_.size() >= transport_.stream_from(step.peer);
    targets_.push_back({step.window, around});
    if (around && copy.bytes >= kBeyondCaches) targets_[0].around = true;
  }
  split(static_cast<std::int64_t>(copy.bytes), kChunk, [&](std::int64_t first, std::int64_t last) {
    fold_tiles(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    stream_fence();
  });
}

/// Bytes [first, last) of all contributions, in their order, into the targets. Only the last fold writes the output: it
/// may be any of the contributions.
void GroupCall::fold_tiles(std::size_t first, std::size_t last) const {
  alignas(kCacheLine) std::array<std::byte, kTile> tile;
  const Target own = targets_[0];
  const std::size_t end = contributions_.size();
  for (std::size_t at = first; at < last; at += kTile) {
    const std::size_t bytes = std::min(kTile, last - at);
    std::byte* const sum = own.around ? tile.data() : own.at + at;
    const std::byte* left = contributions_[0] + at;
    for (std::size_t i = 1; i < end; ++i) {
      std::byte* const so_far = i + 1 < end ? tile.data() : sum;
      fold_(so_far, left, contributions_[i] + at, static_cast<std::int64_t>(bytes / element_));
      left = so_far;
    }
    for (std::size_t t = own.around ? 0 : 1; t < targets_.size(); ++t)
      copy_for_reader(targets_[t].at + at, sum, bytes, targets_[t].around);
  }
}

void GroupCall::split(std::int64_t n, std::int64_t grain,
                      const std::function<void(std::int64_t, std::int64_t)>& body) const {
  if (split_ && n > grain)
    split_(n, grain, body);
  else if (n > 0)
    body(0, n);
}

void GroupCall::execute(Step& step) {
  switch (step.kind) {
    case Kind::send_input:
      add(sends_,
          transport_.send(step.peer, channel_,
                          lends_ ? std::as_bytes(std::span(&step.lent, 1)) : std::span(step.source, step.bytes)));
      break;
    case Kind::send_output:
    case Kind::send_slot: {
      const std::byte* source = step.window != nullptr ? std::exchange(step.window, nullptr) : step.source;
      add(sends_, transport_.send(step.peer, channel_, {source, step.bytes}));
      break;
    }
    case Kind::receive_slot:
      add(receives_, transport_.receive(step.peer, channel_,
                                        lends_ ? std::as_writable_bytes(std::span(&step.lent, 1))
                                               : std::span(step.target, step.bytes)));
      break;
    case Kind::receive_output:
      add(receives_, std::exchange(step.started, false)
                         ? step.ticket
                         : transport_.receive(step.peer, channel_, {step.target, step.bytes}));
      break;
    case Kind::copy:
      if (step.bytes > 0 && step.target != step.source) std::memcpy(step.target, step.source, step.bytes);
      break;
    case Kind::fold:
      if (step.count > 0) fold(step);
      break;
    case Kind::join:  // a fold by now
    case Kind::wait:
    case Kind::wait_sends:
      break;
  }
  count(step);
}

void GroupCall::fold(const Step& step) {
  const std::int64_t grain = kChunk * step.count / static_cast<std::int64_t>(step.bytes);
  split(step.count, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t size = static_cast<std::int64_t>(step.bytes) / step.count;
    std::byte* target = step.target + first * size;
    fold_(target, target, step.source + first * size, last - first);
  });
}

void GroupCall::count(const Step& step) {
  const auto bytes = static_cast<std::int64_t>(step.bytes);
  if (step.kind == Kind::send_input || step.kind == Kind::send_output || step.kind == Kind::send_slot) {
    ++moved_.sent_messages;
    moved_.sent_bytes += bytes;
  } else if (step.kind == Kind::receive_output || step.kind == Kind::receive_slot) {
    ++moved_.received_messages;
    moved_.received_bytes += bytes;
  }
}

}  // namespace ferry
