#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/verify/halos.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

using Sizes = std::vector<std::int64_t>;

std::string text_of(DType dtype, const Sizes& sizes, bool bounded) {
  std::vector<std::string> texts;
  for (std::int64_t size : sizes) texts.push_back(std::to_string(size));
  return std::string(name_of(dtype)) + "[" + (bounded ? "<=" : "") + join(texts, ",") + "]";
}
std::string text_of(const Buffer& b) {
  return text_of(b.dtype, b.sizes, b.bounded);
}

/// The size of part `place` of a dim that has `places` parts. The first parts may be longer by one than the others.
std::int64_t size_of_part(std::int64_t whole, std::int64_t places, std::int64_t place) {
  return whole / places + (place < whole % places ? 1 : 0);
}

class Values {
 public:
  Values(const Plan& plan, const Tables& tables) : plan_(plan), tables_(tables) {}

  void check() {
    ends_.resize(plan_.collectives.size());
    fed_.resize(plan_.feeds.size());
    fetched_.resize(plan_.fetches.size());
    for (class_ = 0; class_ < plan_.classes.size(); ++class_) {
      if (tables_.tasks_of[class_].empty()) reject("malformed plan: class " + std::to_string(class_) + " has no task");
      check_devices();
      check_variables();
      for (std::uint32_t b = 0; b < plan_class().buffers.size(); ++b) check_buffer(b);
      for (std::uint32_t r = 0; r < plan_class().regions.size(); ++r) check_region(r);
    }
    for (std::uint32_t c = 0; c < ends_.size(); ++c) check_ends(c);
    require_counts(fed_, plan_.feeds, "feed", 0);  // a feed need not be used
    require_counts(fetched_, plan_.fetches, "fetch", 1);
  }

 private:
  [[nodiscard]] const PlanClass& plan_class() const { return plan_.classes[class_]; }
  [[nodiscard]] const Buffer& operand(Range range, std::uint32_t k) const {
    return plan_class().buffers[plan_class().operands[range[k]]];
  }
  [[nodiscard]] std::string task() const { return "task " + std::to_string(tables_.tasks_of[class_][0]); }
  [[nodiscard]] std::string named(const Buffer& b) const {
    return b.name == kNone ? "a scratch buffer" : formatted("'{}'", plan_.string(b.name));
  }

  // ---- Devices ----

  void check_devices() const {
    std::set<std::pair<DeviceKind, std::uint32_t>> seen;
    std::uint64_t bytes = 0;
    for (const PlanDevice& device : plan_class().devices) {
      if (!seen.emplace(device.kind, device.index).second) reject("malformed plan: a class names a device twice");
      if (device.kind == DeviceKind::cpu && (__builtin_add_overflow(bytes, device.step_bytes, &bytes) ||
                                             __builtin_add_overflow(bytes, device.state_bytes, &bytes)))
        reject("malformed plan: the bytes of a class overflow");
      for (std::int32_t t : tables_.tasks_of[class_]) check_device(device, t);
    }
    for (const PlanQueue& queue : plan_class().queues)
      if (plan_class().devices[queue.device].kind == DeviceKind::cpu) reject("malformed plan: a queue of the host");
  }

  void check_device(const PlanDevice& device, std::int32_t t) const {
    const std::int32_t gpus = plan_.topology.tasks[t].gpus;
    const std::int64_t most = device.kind == DeviceKind::gpu ? gpus : 1;
    if (static_cast<std::int64_t>(device.index) >= most)
      reject("task " + std::to_string(t) + " has no device " + std::string(name_of(device.kind)) + ":" +
             std::to_string(device.index));
  }

  // ---- Variables ----

  /// Checks that a variable has one name and one buffer, and that its parts on different tasks are parts of one value.
  void check_variables() {
    std::set<std::uint32_t> names, buffers;
    for (const PlanVariable& variable : plan_class().variables) {
      const Buffer& buffer = plan_class().buffers[variable.buffer];
      const std::string what = formatted("variable '{}' on {}", plan_.string(variable.name), as_is(task()));
      if (!names.insert(variable.name).second) reject(what + " is there twice");
      if (!buffers.insert(variable.buffer).second) reject(what + " shares its buffer with another one");
      if (buffer.name != variable.name)
        reject(formatted("{} has the buffer of '{}'", as_is(what), plan_.string(buffer.name)));
      const auto [at, fresh] = variables_.try_emplace(variable.name, &buffer);
      const Buffer& other = *at->second;
      const bool fits = other.window == kNone && buffer.window == kNone ? other.sizes == buffer.sizes
                                                                        : whole_of(other) == whole_of(buffer);
      if (!fits || other.dtype != buffer.dtype || other.bounded != buffer.bounded)
        reject(what + " is " + text_of(buffer) + ", on another task a part of another value, " + text_of(other));
    }
  }

  [[nodiscard]] const Sizes& whole_of(const Buffer& b) const {
    return b.window == kNone ? b.sizes.vector() : plan_.windows[b.window].sizes;
  }

  // ---- Buffers ----

  void check_buffer(std::uint32_t id) {
    const Buffer& b = plan_class().buffers[id];
    if (b.window != kNone && part_sizes(b.window) != b.sizes)
      reject(named(b) + " on " + task() + " is " + text_of(b) + ", its part of the whole value is " +
             text_of(b.dtype, part_sizes(b.window), false));
    if (b.view_of == kNone) return;
    const Buffer& viewed = plan_class().buffers[b.view_of];
    if (b.bounded != viewed.bounded || size_of(b.dtype) != size_of(viewed.dtype))
      reject(named(b) + " on " + task() + " is " + text_of(b) + " and a view of " + text_of(viewed));
  }

  /// The sizes of a split value's part. Rejects the plan unless they are the same on all tasks of the class.
  const Sizes& part_sizes(std::uint32_t window) {
    const auto [at, fresh] = parts_.try_emplace({class_, window});
    if (!fresh) return at->second;
    const std::vector<std::int32_t>& tasks = tables_.tasks_of[class_];
    at->second = part_sizes(window, tasks[0]);
    if (cut_evenly(window)) return at->second;
    for (std::int32_t t : tasks)
      if (part_sizes(window, t) != at->second)
        reject("task " + std::to_string(tasks[0]) + " and task " + std::to_string(t) +
               " share a plan class and have parts of different sizes");
    return at->second;
  }

  /// Whether all tasks of the class have a part of the value, and all parts have the same sizes.
  [[nodiscard]] bool cut_evenly(std::uint32_t window) const {
    if (plan_.windows[window].has != Window::Has::part) return false;
    Sizes sizes = plan_.windows[window].sizes;
    for (const SplitDim& split : plan_.windows[window].splits) {
      const auto members = static_cast<std::int64_t>(tables_.members[split.grouping]);
      std::int64_t& size = sizes[split.dim];
      if (members == 0 || size % members != 0 || !tables_.covers[split.grouping][class_]) return false;
      size /= members;
    }
    return true;
  }

  [[nodiscard]] Sizes part_sizes(std::uint32_t window, std::int32_t t) const {
    Sizes sizes = plan_.windows[window].sizes;
    for (const SplitDim& split : plan_.windows[window].splits) {
      const GroupPosition place = tables_.places[split.grouping][t];
      if (place.group < 0)
        reject("task " + std::to_string(t) + " has a part of a value that is split over other tasks");
      const auto members = static_cast<std::int64_t>(plan_.groupings[split.grouping][place.group].size());
      sizes[split.dim] = size_of_part(sizes[split.dim], members, place.member);
    }
    const Window& halo = plan_.windows[window];
    for (const SplitDim& split : halo.splits) {
      const GroupPosition place = tables_.places[split.grouping][t];
      const auto members = static_cast<std::int64_t>(plan_.groupings[split.grouping][place.group].size());
      if (const Reads* const reads = rows_along(halo, split.dim))
        sizes[split.dim] = rows_read(*reads, halo.sizes[split.dim], members, place.member).count();
      else if (!halo.reads.empty() && split.dim == halo.halo_dim)
        sizes[split.dim] = halo_buffer_rows(halo, members, place.member);
    }
    return sizes;
  }

  // ---- Instructions ----

  void check_region(RegionId region) {
    const Range range = plan_class().regions[region].instructions;
    for (const std::uint32_t k : range) {
      const Instruction& i = plan_class().instructions[k];
      check_cuts(i);
      check_place(i);
      switch (i.what) {
        case Opcode::copy:
          check_copy(i);
          break;
        case Opcode::feed:
          check_port(i, region, plan_.feeds[i.feed()], operand(i.outputs, 0), fed_[i.feed()]);
          break;
        case Opcode::fetch:
          check_port(i, region, plan_.fetches[i.fetch()], operand(i.inputs, 0), fetched_[i.fetch()]);
          break;
        case Opcode::collective:
          check_parts(i);
          break;
        case Opcode::loop:
        case Opcode::branch:
          check_owner(i);
          break;
        default:
          break;
      }
    }
  }

  /// Checks that the operands are where the instruction runs: on the host for a thread, on the device for a queue. A
  /// copy on a queue may also go to its device or come from there.
  void check_place(const Instruction& i) const {
    const bool queued = plan_class().on_queue(i);
    const auto is_here = [&](const Buffer& b) {
      if (b.space == Buffer::Space::none) return true;
      return queued ? b.device == plan_class().queues[i.strand - plan_class().threads].device
                    : plan_class().devices[b.device].kind == DeviceKind::cpu;
    };
    const auto wrong = [&](const Buffer& b) {
      reject(describe(plan_, i) + " on " + task() + " runs on " +
             (queued ? "a queue of " + device_name(plan_class().queues[i.strand - plan_class().threads].device)
                     : "the host") +
             ", and " + named(b) + " is on " + device_name(b.device));
    };
    if (queued && i.what == Opcode::copy) {
      if (!is_here(operand(i.inputs, 0)) && !is_here(operand(i.outputs, 0))) wrong(operand(i.outputs, 0));
      return;
    }
    for (std::uint32_t k = 0; k < i.inputs.count; ++k)
      if (!is_here(operand(i.inputs, k))) wrong(operand(i.inputs, k));
    // The regions of a loop or branch make its outputs.
    for (std::uint32_t k = 0; k < i.outputs.count && i.what != Opcode::loop && i.what != Opcode::branch; ++k)
      if (!is_here(operand(i.outputs, k))) wrong(operand(i.outputs, k));
    if (i.scratch != kNone && !is_here(plan_class().buffers[i.scratch])) wrong(plan_class().buffers[i.scratch]);
  }

  [[nodiscard]] std::string device_name(std::uint32_t device) const {
    return std::string(name_of(plan_class().devices[device].kind)) + ":" +
           std::to_string(plan_class().devices[device].index);
  }

  void check_copy(const Instruction& i) const {
    const Buffer& from = operand(i.inputs, 0);
    const Buffer& to = operand(i.outputs, 0);
    if (from.dtype != to.dtype || from.sizes != to.sizes || from.bounded != to.bounded)
      reject(describe(plan_, i) + " on " + task() + ": " + text_of(from) + " is copied into " + text_of(to));
  }

  /// Checks that a feed or fetch is in the step itself, and counts it in `times`. It must be on the caller's task
  /// alone, with the caller's type; or on each task of a class, with the task's part of the whole value.
  void check_port(const Instruction& i, RegionId region, const PlanPort& port, const Buffer& buffer, int& times) {
    if (region != 1) reject(describe(plan_, i) + " on " + task() + " is not in the step itself");
    if (port.by_parts()) return check_part(i, port, buffer, times);
    if (!tables_.is_only_task(class_, port.task))
      reject(describe(plan_, i) + " is on " + task() + ", the caller on task " + std::to_string(port.task));
    if (port.dtype != buffer.dtype || port.sizes != buffer.sizes || port.bounded != buffer.bounded)
      reject(describe(plan_, i) + " on " + task() + ": the caller's value is " +
             text_of(port.dtype, port.sizes, port.bounded) + ", its buffer " + text_of(buffer));
    ++times;
  }

  void check_part(const Instruction& i, const PlanPort& port, const Buffer& buffer, int& times) {
    const std::string what = describe(plan_, i) + " on " + task();
    if (!ports_.emplace(class_, i.what, i.target).second) reject(what + " comes twice in a step");
    if (buffer.window != port.window || (port.window == kNone && i.what == Opcode::feed) ||
        (port.window != kNone && plan_.windows[port.window].has != Window::Has::part))
      reject(what + ": its buffer " + text_of(buffer) + " is no part of the caller's value");
    if (port.dtype != buffer.dtype || port.sizes != whole_of(buffer) || port.bounded != buffer.bounded)
      reject(what + ": the caller's value is " + text_of(port.dtype, port.sizes, port.bounded) +
             ", its buffer a part of " + text_of(buffer.dtype, whole_of(buffer), buffer.bounded));
    times = 1;
  }

  void require_counts(const std::vector<int>& times, const std::vector<PlanPort>& ports, std::string_view what,
                      int least) const {
    for (std::size_t k = 0; k < ports.size(); ++k)
      if (times[k] < least || times[k] > 1)
        reject(formatted("{} '{}' comes {} times in a step of task {}", as_is(what), plan_.string(ports[k].name),
                         times[k], ports[k].task));
  }

  void check_owner(const Instruction& i) const {
    const bool is_loop = i.what == Opcode::loop;
    const Region::Kind first = is_loop ? Region::Kind::condition : Region::Kind::branch;
    const Region::Kind second = is_loop ? Region::Kind::body : Region::Kind::branch;
    if (plan_class().regions[i.region()].kind != first || plan_class().regions[i.other_region()].kind != second)
      reject(describe(plan_, i) + " on " + task() + ": its regions do not fit a " + std::string(name_of(i.what)));
    const Buffer& predicate = operand(i.inputs, 0);
    if (predicate.dtype != DType::boolean || predicate.bytes != 1 || predicate.bounded)
      reject(describe(plan_, i) + " on " + task() + ": its condition is " + text_of(predicate));
  }

  /// Checks that operands of one instruction that are split over the same tasks are split over them in the same order.
  void check_cuts(const Instruction& i) {
    if (i.what != Opcode::kernel && i.what != Opcode::copy) return;
    std::vector<std::uint32_t>& cuts = cuts_;
    cuts.clear();
    for (const Range range : {i.inputs, i.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) {
        const std::uint32_t window = operand(range, k).window;
        if (window == kNone) continue;
        for (const SplitDim& split : plan_.windows[window].splits)
          if (std::find(cuts.begin(), cuts.end(), split.grouping) == cuts.end()) cuts.push_back(split.grouping);
      }
    for (std::size_t a = 0; a < cuts.size(); ++a)
      for (std::size_t b = a + 1; b < cuts.size(); ++b)
        if (orders_differ(cuts[a], cuts[b]))
          reject(describe(plan_, i) + " on " + task() + ": its operands are cut over the same tasks in another order");
  }

  /// Checks that a value that a collective joins or cuts is split over the members, in their order. Along all other
  /// splits the members must have the same part.
  void check_parts(const Instruction& i) {
    const Collective& collective = plan_.collectives[i.collective()];
    const CollectiveKind kind = plan_.schedules[collective.schedule].kind;
    const bool exchanges = kind == CollectiveKind::all_to_all;
    const bool joins = exchanges || kind == CollectiveKind::all_gather || kind == CollectiveKind::gather;
    const bool cuts = exchanges || kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::scatter;
    check_splits(i, i.inputs, joins);
    check_splits(i, i.outputs, cuts);
    record_window(i, i.inputs, ends_[i.collective()].in);
    record_window(i, i.outputs, ends_[i.collective()].out);
  }

  /// Notes the window of a collective's operand. Rejects the plan if other members have parts of another value.
  void record_window(const Instruction& i, Range operands, std::optional<std::uint32_t>& window) const {
    if (operands.count == 0 || operand(operands, 0).bytes == 0) return;
    const Buffer& b = operand(operands, 0);
    if (window && *window != b.window) refuse_parts(i, b, "other members have parts of another value than ");
    window = b.window;
  }

  /// Checks the splits that a collective neither joins nor cuts: along them, members with an output have the same part
  /// as members with an input.
  void check_ends(std::uint32_t c) {
    if (!ends_[c].in || !ends_[c].out) return;
    const std::vector<SplitDim> in = kept_splits(c, *ends_[c].in), out = kept_splits(c, *ends_[c].out);
    const Schedule& schedule = plan_.schedules[plan_.collectives[c].schedule];
    bool same = in.size() == out.size();
    for (std::size_t k = 0; same && k < in.size(); ++k) {
      same = in[k].dim == out[k].dim;
      for (const auto& group : plan_.groupings[plan_.collectives[c].grouping])
        same = same && part_of(in[k], group[input_member(schedule)]) == part_of(out[k], group[output_member(schedule)]);
    }
    if (!same) reject(described(plan_, c) + ": members get parts of other dims or places than are given");
  }

  /// The splits of a window, except the split over the members.
  [[nodiscard]] std::vector<SplitDim> kept_splits(std::uint32_t c, std::uint32_t window) {
    std::vector<SplitDim> kept;
    if (window == kNone) return kept;
    const Collective& collective = plan_.collectives[c];
    const Schedule& schedule = plan_.schedules[collective.schedule];
    for (const SplitDim& split : plan_.windows[window].splits)
      if (!places_agree(collective.grouping, split.grouping, schedule.guest_root ? schedule.root : -1))
        kept.push_back(split);
    return kept;
  }

  /// input_member(): the index of a member that has an input. output_member(): the index of a member that has an
  /// output.
  static std::size_t input_member(const Schedule& schedule) {
    const bool root_gives = schedule.kind == CollectiveKind::broadcast || schedule.kind == CollectiveKind::scatter;
    return root_gives ? static_cast<std::size_t>(schedule.root) : first_non_guest(schedule);
  }
  static std::size_t output_member(const Schedule& schedule) {
    const bool root_gets = schedule.kind == CollectiveKind::gather || schedule.kind == CollectiveKind::reduce;
    return root_gets ? static_cast<std::size_t>(schedule.root) : first_non_guest(schedule);
  }
  static std::size_t first_non_guest(const Schedule& schedule) {
    return schedule.guest_root && schedule.root == 0 ? 1 : 0;
  }

  /// The number of the task's part, and the number of parts.
  [[nodiscard]] std::pair<std::int32_t, std::size_t> part_of(const SplitDim& split, std::int32_t task) const {
    const GroupPosition place = tables_.places[split.grouping][task];
    return {place.member, place.group < 0 ? 0 : plan_.groupings[split.grouping][place.group].size()};
  }

  void check_splits(const Instruction& i, Range operands, bool over_members) {
    if (operands.count == 0) return;
    const Buffer& whole = operand(operands, 0);
    check_splits(i, whole, over_members);
    if (whole.window != kNone) return;
    for (const std::uint32_t part : views_of(plan_class().operands[operands[0]]))
      check_splits(i, plan_class().buffers[part], over_members);
  }

  /// The views and parts of a buffer of the current class.
  std::span<const std::uint32_t> views_of(BufferId buffer) {
    if (views_class_ != class_) {
      views_class_ = class_;
      views_.clear();
      for (std::uint32_t b = 0; b < plan_class().buffers.size(); ++b)
        if (plan_class().buffers[b].view_of != kNone) views_[plan_class().buffers[b].view_of].push_back(b);
    }
    const auto found = views_.find(buffer);
    if (found == views_.end()) return {};
    return found->second;
  }

  void check_splits(const Instruction& i, const Buffer& b, bool over_members) {
    if (b.bytes == 0) return;
    const Collective& collective = plan_.collectives[i.collective()];
    const Schedule& schedule = plan_.schedules[collective.schedule];
    const std::int32_t guest = schedule.guest_root ? schedule.root : -1;
    const std::size_t members = static_cast<std::size_t>(schedule.members) - (guest >= 0 ? 1 : 0);
    bool over = !over_members || members < 2;
    for (const SplitDim& split : splits_of(b)) {
      if (over_members && places_agree(collective.grouping, split.grouping, guest))
        over = true;
      else if (!places_equal(collective.grouping, split.grouping, guest))
        refuse_parts(i, b, "the members have different parts of ");
    }
    if (!over) refuse_parts(i, b, "the members do not have, in their order, the parts of ");
  }

  [[nodiscard]] std::span<const SplitDim> splits_of(const Buffer& b) const {
    if (b.window == kNone) return {};
    return plan_.windows[b.window].splits;
  }

  [[noreturn]] void refuse_parts(const Instruction& i, const Buffer& b, std::string_view why) const {
    reject(describe(plan_, i) + " on " + task() + ", " + described(plan_, i.collective()) + ": " + std::string(why) +
           named(b));
  }

  /// Whether in each group of `a` all members, except member `guest`, have the same number in their groups of `b`.
  bool places_equal(std::uint32_t a, std::uint32_t b, std::int32_t guest) {
    const auto [at, fresh] = equal_.try_emplace({a, b, guest}, true);
    if (!fresh) return at->second;
    for (const auto& group : plan_.groupings[a]) {
      std::int32_t first = -1;
      for (std::size_t m = 0; m < group.size(); ++m) {
        if (static_cast<std::int32_t>(m) == guest) continue;
        const GroupPosition place = tables_.places[b][group[m]];
        if (first < 0) first = place.member;
        at->second = at->second && place.member == first;
      }
    }
    return at->second;
  }

  /// Whether each group of `a`, without its member `guest`, is a group of `b`, in the same order.
  bool places_agree(std::uint32_t a, std::uint32_t b, std::int32_t guest) {
    const auto [at, fresh] = agree_.try_emplace({a, b, guest}, true);
    if (!fresh) return at->second;
    for (const auto& group : plan_.groupings[a]) {
      std::vector<std::int32_t> members = group;
      if (guest >= 0) members.erase(members.begin() + guest);
      const GroupPosition first = members.empty() ? GroupPosition{} : tables_.places[b][members[0]];
      at->second = at->second && first.group >= 0 && plan_.groupings[b][first.group] == members;
    }
    return at->second;
  }

  bool orders_differ(std::uint32_t a, std::uint32_t b) {
    const auto [at, fresh] = differ_.try_emplace({std::min(a, b), std::max(a, b)}, false);
    if (!fresh) return at->second;
    for (const auto& group : plan_.groupings[a]) at->second = at->second || is_permuted(group, b);
    return at->second;
  }

  /// Whether a group of `b` has the same tasks in another order.
  [[nodiscard]] bool is_permuted(const std::vector<std::int32_t>& group, std::uint32_t b) const {
    const std::int32_t other = tables_.places[b][group[0]].group;
    if (other < 0 || plan_.groupings[b][other].size() != group.size()) return false;
    bool same_order = true;
    for (std::size_t m = 0; m < group.size(); ++m) {
      const GroupPosition place = tables_.places[b][group[m]];
      if (place.group != other) return false;
      same_order = same_order && place.member == static_cast<std::int32_t>(m);
    }
    return !same_order;
  }

  const Plan& plan_;
  const Tables& tables_;
  std::uint32_t class_ = 0;
  /// The windows of a collective's input and output; kNone: the whole value.
  struct Ends {
    std::optional<std::uint32_t> in, out;
  };
  std::vector<Ends> ends_;  // of each collective
  std::vector<int> fed_, fetched_;
  std::set<std::tuple<std::uint32_t, Opcode, std::uint32_t>> ports_;  // by parts: class, opcode, number
  std::map<std::uint32_t, const Buffer*> variables_;                  // by name
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sizes> parts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> differ_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int32_t>, bool> agree_, equal_;
  std::vector<std::uint32_t> cuts_;
  std::uint32_t views_class_ = kNone;                          // the class with its views in `views_`
  std::map<std::uint32_t, std::vector<std::uint32_t>> views_;  // by buffer: its views
};

}  // namespace

void check_values(const Plan& plan, const Tables& tables) {
  Values(plan, tables).check();
}

}  // namespace ferry::verifier
