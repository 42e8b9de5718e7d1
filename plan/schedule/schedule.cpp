#include "plan/schedule/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "plan/schedule/schedule_steps.hpp"

namespace ferry {
namespace {

using StepKind = ScheduleStep::Kind;
using steps::fixed;
using steps::next;
using steps::own;

/// The part of the vector that a member holds.
enum class Holding : std::uint8_t { nothing, own_part, all_parts };

Holding input_of(const Schedule& s, int member) {
  const bool is_root = member == s.root;
  switch (s.kind) {
    case CollectiveKind::reduce:
      return is_root && s.guest_root ? Holding::nothing : Holding::all_parts;
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
      return Holding::own_part;
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return is_root ? Holding::all_parts : Holding::nothing;
    default:
      return Holding::all_parts;
  }
}

Holding output_of(const Schedule& s, int member) {
  const bool is_root = member == s.root;
  switch (s.kind) {
    case CollectiveKind::broadcast:
      return is_root && s.guest_root ? Holding::nothing : Holding::all_parts;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::scatter:
      return Holding::own_part;
    case CollectiveKind::gather:
    case CollectiveKind::reduce:
      return is_root ? Holding::all_parts : Holding::nothing;
    default:
      return Holding::all_parts;
  }
}

/// Elements of part `part` of the member's input or output. In an all-to-all this is the member's block for member
/// `part`.
std::int64_t input_size(const Schedule& s, std::span<const std::int64_t> parts, int member, int part) {
  return parts[s.kind == CollectiveKind::all_to_all ? member * s.members + part : part];
}
std::int64_t output_size(const Schedule& s, std::span<const std::int64_t> parts, int member, int part) {
  return parts[s.kind == CollectiveKind::all_to_all ? part * s.members + member : part];
}

int numbers_of(const Schedule& s) {
  return s.kind == CollectiveKind::all_to_all ? s.members : s.part_count();
}

template <class Size>
PartRange range(const Schedule& s, Holding holding, int member, int part, Size size) {
  FERRY_ASSERT(part >= 0 && part < numbers_of(s), "part of a collective out of range");
  if (holding == Holding::nothing || (holding == Holding::own_part && part != member)) return {};
  PartRange found{0, size(part)};
  if (holding == Holding::all_parts) {
    for (int before = 0; before < part; ++before) found.begin += size(before);
  }
  return found;
}

template <class Size>
std::int64_t elements(const Schedule& s, Holding holding, int member, Size size) {
  if (holding == Holding::nothing) return 0;
  if (holding == Holding::own_part) return size(member);
  std::int64_t sum = 0;
  for (int part = 0; part < numbers_of(s); ++part) sum += size(part);
  return sum;
}

template <class Measure>
std::int64_t total(const Schedule& s, int member, Measure measure) {
  std::int64_t sum = 0;
  for (const ScheduleStep& step : s.steps) {
    if (s.concerns(step, member)) sum += measure(step);
  }
  return sum;
}

bool is_send(const ScheduleStep& step) {
  return step.kind == StepKind::send_input || step.kind == StepKind::send_output || step.kind == StepKind::send_slot;
}
bool is_receive(const ScheduleStep& step) {
  return step.kind == StepKind::receive_slot || step.kind == StepKind::receive_output;
}

/// Whether contributions arrive by messages, for which the receiver has slots.
bool comes_by_message(Via via) {
  return via == Via::messages || via == Via::library;
}

bool uses_slots(const ScheduleStep& step) {
  return step.slot != ScheduleStep::kOfPeer || step.source != ScheduleStep::kOfPeer ||
         step.kind == StepKind::receive_slot;
}

/// Appends the steps of the direct algorithms.
class Direct {
 public:
  explicit Direct(Schedule& schedule) : s_(schedule) {}

  void reduce_own_part() {
    s_.slots = s_.members - 1;
    from_others(StepKind::receive_slot, own);
    to_others(StepKind::send_input);
    fold_in_order(own);
  }
  void gather_parts(StepKind send) {
    each([&](int d) { add({StepKind::receive_output, next(d), next(d)}); });
    if (send == StepKind::send_input) add({StepKind::copy, own, own});
    each([&](int d) { add({send, next(d), own}); });
    wait();
  }
  void one_shot() {
    s_.slots = s_.members - 1;
    each([&](int d) { add({StepKind::receive_slot, next(d), fixed(0)}); });
    each([&](int d) { add({StepKind::send_input, next(d), fixed(0)}); });
    wait();
    if (s_.members > 1) add({StepKind::wait_sends, {}, {}});
    add_in_order(fixed(0));
  }
  void all_to_all() {
    each([&](int d) { add({StepKind::receive_output, next(d), next(d)}); });
    add({StepKind::copy, own, own});
    to_others(StepKind::send_input);
    wait();
  }
  void sparse_exchange(std::span<const std::int64_t> parts) {
    const auto given = [&](int from, int to) { return parts[from * s_.members + to] > 0; };
    const auto after = [&](int member, int distance) { return (member + distance) % s_.members; };
    each([&](int d) {
      for_some({StepKind::receive_output, next(d), next(d)}, [&](int self) { return given(after(self, d), self); });
    });
    for_some({StepKind::copy, own, own}, [&](int self) { return given(self, self); });
    each([&](int d) {
      for_some({StepKind::send_input, next(d), next(d)}, [&](int self) { return given(self, after(self, d)); });
    });
    wait();
  }
  void broadcast() {
    from_root([](int) { return fixed(0); }, fixed(0));
  }
  void scatter() {
    from_root([](int d) { return next(d); }, own);
  }
  void gather() {
    each([&](int d) { add({StepKind::receive_output, next(d), next(d), s_.root}); });
    add({StepKind::copy, own, own, s_.root});
    add({StepKind::send_input, fixed(s_.root), own, ScheduleStep::kAll, s_.root});
    wait();
  }
  void reduce() {
    s_.slots = s_.members - 1;
    each([&](int d) { add({StepKind::receive_slot, next(d), fixed(0), s_.root}); });
    add({StepKind::send_input, fixed(s_.root), fixed(0), ScheduleStep::kAll, s_.root});
    fold_in_order(fixed(0), s_.root);
  }

 private:
  void add(const ScheduleStep& step) { s_.steps.push_back(step); }
  /// Adds the step for the members with does(member): once if at most one member is left out, else once for each
  /// member.
  template <class Does>
  void for_some(ScheduleStep step, const Does& does) {
    std::vector<std::int32_t> doing, other;
    for (int member = 0; member < s_.members; ++member) (does(member) ? doing : other).push_back(member);
    if (doing.empty()) return;
    if (other.size() < 2) {
      step.except = other.empty() ? ScheduleStep::kAll : other[0];
      return add(step);
    }
    for (const std::int32_t member : doing) {
      step.only = member;
      add(step);
    }
  }
  void wait(std::int32_t only = ScheduleStep::kAll) {
    if (s_.members > 1) add({StepKind::wait, {}, {}, only});
  }
  template <class F>
  void each(F f) {
    for (int distance = 1; distance < s_.members; ++distance) f(distance);
  }
  void from_others(StepKind kind, MemberRef part) {
    each([&](int d) { add({kind, next(d), part}); });
  }
  void to_others(StepKind kind) {
    each([&](int d) { add({kind, next(d), next(d)}); });
  }
  template <class PartAt>
  void from_root(PartAt part_at, MemberRef mine) {
    if (s_.members > 1) add({StepKind::receive_output, fixed(s_.root), mine, ScheduleStep::kAll, s_.root});
    each([&](int d) { add({StepKind::send_input, next(d), part_at(d), s_.root}); });
    if (!s_.guest_root) add({StepKind::copy, own, mine, s_.root});
    wait();
  }
  void fold_in_order(MemberRef part, std::int32_t only = ScheduleStep::kAll) {
    wait(only);
    add_in_order(part, only);
  }
  void add_in_order(MemberRef part, std::int32_t only = ScheduleStep::kAll) {
    StepKind kind = StepKind::copy;
    for (int member = 0; member < s_.members; ++member) {
      if (s_.guest_root && member == s_.root) continue;
      add({kind, fixed(member), part, only});
      kind = StepKind::fold;
    }
  }

  Schedule& s_;
};

}  // namespace

std::int64_t Schedule::sends_of(int member) const {
  return total(*this, member, [](const ScheduleStep& step) { return is_send(step) ? 1 : 0; });
}

std::int64_t Schedule::receives_of(int member) const {
  return total(*this, member, [](const ScheduleStep& step) { return is_receive(step) ? 1 : 0; });
}

std::int64_t Schedule::sent_elements(std::span<const std::int64_t> parts, int member) const {
  return total(*this, member, [&](const ScheduleStep& step) -> std::int64_t {
    const int part = step.part.resolve(member, members);
    if (step.kind == StepKind::send_input) return input_size(*this, parts, member, part);
    if (step.kind == StepKind::send_slot) return parts[part];
    return step.kind == StepKind::send_output ? output_size(*this, parts, member, part) : 0;
  });
}

std::int64_t Schedule::received_elements(std::span<const std::int64_t> parts, int member) const {
  return total(*this, member, [&](const ScheduleStep& step) -> std::int64_t {
    const int part = step.part.resolve(member, members);
    if (step.kind == StepKind::receive_slot) return input_size(*this, parts, step.peer.resolve(member, members), part);
    return step.kind == StepKind::receive_output ? output_size(*this, parts, member, part) : 0;
  });
}

bool Schedule::has_input(int member) const {
  return input_of(*this, member) != Holding::nothing;
}

bool Schedule::has_output(int member) const {
  return output_of(*this, member) != Holding::nothing;
}

std::int32_t Schedule::part_count() const {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return whole ? 1 : members;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return 1;
    case CollectiveKind::all_to_all:
      return members * members;
    default:
      return members;
  }
}

PartRange Schedule::input_part(std::span<const std::int64_t> parts, int member, int part) const {
  return range(*this, input_of(*this, member), member, part,
               [&](int at) { return input_size(*this, parts, member, at); });
}

PartRange Schedule::output_part(std::span<const std::int64_t> parts, int member, int part) const {
  return range(*this, output_of(*this, member), member, part,
               [&](int at) { return output_size(*this, parts, member, at); });
}

std::int64_t Schedule::input_elements(std::span<const std::int64_t> parts, int member) const {
  return elements(*this, input_of(*this, member), member, [&](int at) { return input_size(*this, parts, member, at); });
}

std::int64_t Schedule::output_elements(std::span<const std::int64_t> parts, int member) const {
  return elements(*this, output_of(*this, member), member,
                  [&](int at) { return output_size(*this, parts, member, at); });
}

std::int32_t Schedule::slots_of(int member) const {
  const auto uses = [&](const ScheduleStep& step) { return uses_slots(step) && concerns(step, member); };
  return comes_by_message(via) && slots > 0 && std::any_of(steps.begin(), steps.end(), uses) ? slots : 0;
}

bool Schedule::non_root_uses_slots() const {
  return comes_by_message(via) && slots > 0 && std::any_of(steps.begin(), steps.end(), [&](const ScheduleStep& step) {
           return uses_slots(step) && !(is_rooted(kind) && step.only == root);
         });
}

std::int64_t Schedule::slot_elements(std::span<const std::int64_t> parts) const {
  return slots == 0 || parts.empty() ? 0 : *std::max_element(parts.begin(), parts.end());
}

std::int64_t slot_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype) {
  const std::int64_t bytes = schedule.slot_elements(parts) * static_cast<std::int64_t>(size_of(dtype));
  return (bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
}

std::int64_t staging_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype, int member) {
  return schedule.slots_of(member) * slot_bytes(schedule, parts, dtype);
}

Schedule direct_schedule(CollectiveKind kind, int members, int root, bool guest_root) {
  FERRY_ASSERT(members >= 1 && root >= 0 && root < members, "collective without members, or its root is none of them");
  Schedule schedule{.kind = kind,
                    .algorithm = "direct",
                    .members = members,
                    .root = root,
                    .guest_root = guest_root,
                    .slots = 0,
                    .steps = {}};
  Direct direct(schedule);
  switch (kind) {
    case CollectiveKind::all_reduce:
      direct.reduce_own_part();
      direct.gather_parts(StepKind::send_output);
      schedule.in_place = true;
      break;
    case CollectiveKind::reduce_scatter:
      direct.reduce_own_part();
      break;
    case CollectiveKind::all_gather:
      direct.gather_parts(StepKind::send_input);
      break;
    case CollectiveKind::all_to_all:
      direct.all_to_all();
      break;
    case CollectiveKind::broadcast:
      direct.broadcast();
      break;
    case CollectiveKind::scatter:
      direct.scatter();
      break;
    case CollectiveKind::gather:
      direct.gather();
      break;
    case CollectiveKind::reduce:
      direct.reduce();
      break;
  }
  return schedule;
}

Schedule sparse_exchange(int members, std::span<const std::int64_t> parts) {
  Schedule schedule{
      .kind = CollectiveKind::all_to_all, .algorithm = "sparse", .members = members, .slots = 0, .steps = {}};
  Direct(schedule).sparse_exchange(parts);
  return schedule;
}

Schedule one_shot_schedule(int members) {
  FERRY_ASSERT(members >= 1, "a collective without members");
  Schedule schedule{.kind = CollectiveKind::all_reduce,
                    .algorithm = "one-shot",
                    .members = members,
                    .whole = true,
                    .steps = {},
                    .in_place = true};
  Direct(schedule).one_shot();
  return schedule;
}

Schedule library_schedule(CollectiveKind kind, int members, int root, bool guest_root) {
  FERRY_ASSERT(members >= 1, "a collective without members");
  const bool sums = kind == CollectiveKind::all_reduce;
  return {.kind = kind,
          .algorithm = "library",
          .members = members,
          .root = root,
          .guest_root = guest_root,
          .whole = sums,
          .steps = {},
          .in_place = sums,
          .via = Via::library};
}

Schedule folded_on_gpus(Schedule schedule) {
  FERRY_ASSERT(schedule.members <= kMostFolded, "a sum of more members than a GPU folds");
  schedule.via = Via::library;
  return schedule;
}

Schedule in_shared_memory(Schedule schedule) {
  if (schedule.in_place) schedule.via = schedule.whole ? Via::put : Via::get;
  return schedule;
}

Schedule ordered_all_reduce(int members, std::int64_t bytes, bool share_memory) {
  constexpr std::int64_t kOneShot = 16 << 10;
  const bool one_shot = members > 1 && bytes <= kOneShot / (members - 1);
  Schedule schedule = one_shot ? one_shot_schedule(members) : direct_schedule(CollectiveKind::all_reduce, members);
  return share_memory ? in_shared_memory(std::move(schedule)) : schedule;
}

}  // namespace ferry
