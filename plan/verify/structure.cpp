#include <cstdint>
#include <set>

#include "base/format.hpp"
#include "plan/verify/halos.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

void require(bool holds, std::string_view what) {
  if (!holds) reject("malformed plan: " + std::string(what));
}

/// The number of parts that a collective with this schedule must have.
std::int64_t part_count(const Schedule& schedule) {
  const std::int64_t members = schedule.members;
  if (schedule.kind == CollectiveKind::all_to_all) return members * members;
  const bool one = schedule.kind == CollectiveKind::broadcast || schedule.kind == CollectiveKind::reduce;
  return one || schedule.whole ? 1 : members;
}

bool within(Range range, std::size_t size) {
  return range.first <= size && range.count <= size - range.first;
}

constexpr std::uint32_t kMostThreads = 4096;  // of a task; vector clocks of threads take memory of its square
constexpr std::size_t kMostQueues = 4096;
constexpr std::int64_t kMostStale = 1'000'000;
constexpr std::uint32_t kDeepest = 1000;  // levels of nested regions; the checks recurse into them

class Structure {
 public:
  explicit Structure(const Plan& plan) : plan_(plan) {}

  void check() {
    const std::size_t tasks = plan_.topology.tasks.size();
    require(plan_.version == kPlanVersion, "version " + std::to_string(plan_.version));
    require(tasks > 0 && plan_.class_of.size() == tasks, "the tasks and their classes differ in number");
    for (std::uint32_t c : plan_.class_of) require(c < plan_.classes.size(), "a class is out of range");
    for (const PlanLine& line : plan_.lines) require(string_ok(line.file), "a line's file is out of range");
    for (const Grouping& grouping : plan_.groupings) check_grouping(grouping);
    for (const Window& window : plan_.windows) check_window(window);
    for (const PlanPort& port : plan_.feeds) check_port(port);
    for (const PlanPort& port : plan_.fetches) check_port(port);
    for (const Channel& channel : plan_.channels)
      require(task_ok(channel.from) && task_ok(channel.to) && string_ok(channel.name) && line_ok(channel.line) &&
                  channel.slots >= 1,
              "a channel is out of range");
    for (const Schedule& schedule : plan_.schedules) check_schedule(schedule);
    for (const Collective& collective : plan_.collectives) check_collective(collective);
    for (const PlanClass& plan_class : plan_.classes) check_class(plan_class);
  }

 private:
  [[nodiscard]] bool string_ok(std::uint32_t id) const { return id == kNone || id < plan_.strings.size(); }
  [[nodiscard]] bool line_ok(std::uint32_t id) const { return id == kNone || id < plan_.lines.size(); }
  [[nodiscard]] bool task_ok(std::int32_t task) const { return task >= 0 && task < plan_.topology.size(); }

  void check_grouping(const Grouping& grouping) {
    std::vector<bool> seen(plan_.topology.tasks.size(), false);
    std::size_t size = grouping.empty() ? 0 : grouping[0].size();
    for (const auto& group : grouping) {
      require(!group.empty(), "a group is empty");
      if (group.size() != size) size = 0;
      for (std::int32_t task : group) {
        require(task_ok(task) && !seen[task], "a task is in two groups of a grouping");
        seen[task] = true;
      }
    }
    group_size_.push_back(size);
  }

  void check_window(const Window& window) const {
    for (std::int64_t size : window.sizes) require(size >= 0, "a window has a negative dim");
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const SplitDim& split : window.splits)
      require(split.dim < window.sizes.size() && split.grouping < plan_.groupings.size() &&
                  seen.emplace(split.dim, split.grouping).second,
              "a window's split is out of range");
    const bool moves = window.has == Window::Has::given || window.has == Window::Has::got;
    std::vector<std::size_t> cut(window.sizes.size());
    for (const SplitDim& split : window.splits) ++cut[split.dim];
    std::vector<bool> read(window.sizes.size());
    if (moves) {
      require(window.halo_dim < cut.size() && cut[window.halo_dim] == 1 &&
                  std::ranges::all_of(window.reads, reads_are_legal),
              "the read of a window is out of range");
      read[window.halo_dim] = true;
    }
    require((window.has != Window::Has::part || window.rows.empty()) &&
                (window.has != Window::Has::read || !window.rows.empty()) && (moves || window.reads.empty()),
            "the kind of a window does not fit its reads");
    for (const RowsRead& rows : window.rows) {
      require(rows.dim < cut.size() && cut[rows.dim] == 1 && !read[rows.dim] && reads_are_legal(rows.reads),
              "the read of a window is out of range");
      read[rows.dim] = true;
    }
  }

  void check_port(const PlanPort& port) const {
    require(string_ok(port.name) && (port.by_parts() || task_ok(port.task)) &&
                (port.window == kNone || (port.by_parts() && port.window < plan_.windows.size())),
            "a feed or fetch is out of range");
    for (std::int64_t size : port.sizes) require(size >= 0, "a feed or fetch has a negative dim");
    require(!port.bounded || !port.sizes.empty(), "a bounded scalar");
  }

  void check_schedule(const Schedule& schedule) const {
    const auto script_or_all = [&](std::int32_t m) { return m >= ScheduleStep::kAll && m < schedule.scripts(); };
    const auto slot_or_peer = [&](std::int32_t slot) { return slot >= ScheduleStep::kOfPeer && slot < schedule.slots; };
    require(schedule.members >= 1 && schedule.root >= 0 && schedule.root < schedule.members && schedule.slots >= 0 &&
                schedule.slots - 1 <= schedule.members &&
                (!schedule.whole || schedule.kind == CollectiveKind::all_reduce),
            "a schedule's members are out of range");
    require(schedule.period == 0 || (schedule.period > 0 && schedule.members % schedule.period == 0 &&
                                     schedule.kind == CollectiveKind::all_reduce),
            "a schedule's period is out of range");
    constexpr std::int32_t kMostAllToAll = 46340;  // its square fits 31 bits
    require(schedule.kind != CollectiveKind::all_to_all || schedule.members <= kMostAllToAll,
            "a schedule has too many members");
    using Kind = ScheduleStep::Kind;
    for (const ScheduleStep& step : schedule.steps) {
      require(script_or_all(step.only) && script_or_all(step.except) && slot_or_peer(step.slot) &&
                  slot_or_peer(step.source) && (step.kind != Kind::send_slot || step.slot >= 0) &&
                  (step.kind != Kind::join || (step.slot >= 0 && step.source >= 0 && step.slot != step.source)),
              "a schedule's step is out of range");
      for (const MemberRef ref : {step.peer, step.part})
        require(ref.value >= 0 && ref.value < schedule.members &&
                    (ref.by != MemberRef::By::flip || (schedule.members & (schedule.members - 1)) == 0),
                "a schedule's step is out of range");
    }
  }

  void check_collective(const Collective& collective) const {
    require(collective.schedule < plan_.schedules.size() && collective.grouping < plan_.groupings.size() &&
                string_ok(collective.name) && line_ok(collective.line) && !plan_.groupings[collective.grouping].empty(),
            "a collective is out of range");
    const Schedule& schedule = plan_.schedules[collective.schedule];
    const bool folds = schedule.kind == CollectiveKind::all_reduce || schedule.kind == CollectiveKind::reduce_scatter ||
                       schedule.kind == CollectiveKind::reduce;
    require(folds == (collective.reduce != Reduce::none), "a collective that adds names no sum, or the reverse");
    require(static_cast<std::size_t>(part_count(schedule)) == collective.parts.size(),
            "a collective's parts differ in number");
    const bool has_part = schedule.kind == CollectiveKind::scatter || schedule.kind == CollectiveKind::gather;
    require(!schedule.guest_root || !has_part || collective.parts[schedule.root] == 0, "a guest has a part");
    std::int64_t bytes = 0;
    for (std::int64_t part : collective.parts) {
      require(part >= 0, "a collective's part is negative");
      std::int64_t part_bytes = 0;
      require(!__builtin_mul_overflow(part, static_cast<std::int64_t>(size_of(collective.dtype)), &part_bytes) &&
                  !__builtin_add_overflow(bytes, part_bytes, &bytes),
              "a collective's bytes overflow");
    }
    require(bytes <= (INT64_MAX >> 8) / (schedule.slots + 1), "a collective's bytes overflow");
    if (group_size_[collective.grouping] == static_cast<std::size_t>(schedule.members)) return;
    for (const auto& group : plan_.groupings[collective.grouping])
      if (static_cast<std::int32_t>(group.size()) != schedule.members)
        reject(described(plan_, static_cast<std::uint32_t>(&collective - plan_.collectives.data())) + ": a group of " +
               std::to_string(group.size()) + " tasks, a schedule for " + std::to_string(schedule.members));
  }

  void check_class(const PlanClass& c) const {
    require(c.threads <= kMostThreads, "a class has " + std::to_string(c.threads) + " threads");
    require(c.threads >= 1 && c.regions.size() >= 2 && c.regions[0].kind == Region::Kind::setup &&
                c.regions[1].kind == Region::Kind::step,
            "a class without a setup and a step");
    for (const Buffer& buffer : c.buffers) check_buffer(c, buffer);
    for (std::uint32_t operand : c.operands) require(operand < c.buffers.size(), "an operand is out of range");
    for (const PlanVariable& variable : c.variables)
      require(variable.buffer < c.buffers.size() && variable.name < plan_.strings.size() &&
                  c.buffers[variable.buffer].space == Buffer::Space::state &&
                  c.buffers[variable.buffer].view_of == kNone,
              "a variable is out of range");
    require(c.queues.size() <= kMostQueues, "a class has " + std::to_string(c.queues.size()) + " queues");
    for (const PlanQueue& queue : c.queues) require(queue.device < c.devices.size(), "a queue is out of range");
    for (const Wait& wait : c.waits) require(wait.strand < c.strands(), "a wait names no strand");
    for (const Range& stretch : c.stretches)
      require(stretch.count > 0 && within(stretch, c.instructions.size()), "a stretch is out of range");
    for (const Instruction& instruction : c.instructions) check_instruction(c, instruction);
    check_regions(c);
    check_turns(c);
  }

  /// Checks that the gives of all turns are consecutive, and that all takes follow them, also consecutive.
  void check_turns(const PlanClass& c) const {
    const std::vector<Serving::Turns>& turns = c.serving.turns;
    require(turns.empty() ? c.serving.staleness == 0 : c.serving.staleness >= 1 && c.serving.staleness <= kMostStale,
            "workers may be " + std::to_string(c.serving.staleness) + " steps apart");
    if (turns.empty()) return;
    std::set<std::int32_t> workers;
    for (const Serving::Turns& t : turns)
      require(task_ok(t.worker) && workers.insert(t.worker).second, "a turn's worker is out of range");
    std::uint64_t at = turns[0].give.first;
    for (const bool take : {false, true})
      for (const Serving::Turns& t : turns) {
        const Range& range = take ? t.take : t.give;
        require(range.first == at && range.count > 0, "turns do not lie side by side");
        at += range.count;
      }
    require(at <= c.regions[1].instructions.count, "turns end after the step");
  }

  void check_buffer(const PlanClass& c, const Buffer& buffer) const {
    require(buffer.device < c.devices.size() && string_ok(buffer.name), "a buffer is out of range");
    const bool packed = buffer.view_of != kNone || buffer.space == Buffer::Space::tile;
    const std::uint64_t align = packed ? size_of(buffer.dtype) : kBufferAlign;
    require(buffer.space == Buffer::Space::none || (align > 0 && buffer.offset % align == 0),
            "a buffer is misaligned at " + std::to_string(buffer.offset));
    require(buffer.window == kNone || (buffer.window < plan_.windows.size() &&
                                       plan_.windows[buffer.window].sizes.size() == buffer.sizes.size()),
            "a buffer's window is out of range");
    require(
        buffer.view_of == kNone || (buffer.view_of < c.buffers.size() && c.buffers[buffer.view_of].view_of == kNone),
        "a view of a view");
    require(!buffer.bounded || !buffer.sizes.empty(), "a bounded scalar");
    std::uint64_t bytes = size_of(buffer.dtype);
    require(bytes > 0, "a buffer's dtype");
    for (std::int64_t size : buffer.sizes)
      require(size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes), "a buffer's size");
    require(bytes == buffer.bytes, "the bytes of a buffer do not fit its dims");
  }

  void check_instruction(const PlanClass& c, const Instruction& i) const {
    require(i.strand < c.strands() && string_ok(i.op) && string_ok(i.name) && line_ok(i.line) &&
                (i.attrs == kNone || i.attrs < plan_.attrs.size()) &&
                (i.scratch == kNone || i.scratch < c.buffers.size()) && within(i.inputs, c.operands.size()) &&
                within(i.outputs, c.operands.size()) && within(i.waits, c.waits.size()),
            "an instruction is out of range");
    const bool none_in = i.inputs.count == 0, none_out = i.outputs.count == 0;
    const bool one_in = i.inputs.count == 1, one_out = i.outputs.count == 1;
    bool fits = true;
    switch (i.what) {
      case Opcode::kernel:
        fits = i.op != kNone;
        break;
      case Opcode::feed:
        fits = none_in && one_out && i.feed() < plan_.feeds.size();
        break;
      case Opcode::fetch:
        fits = one_in && none_out && i.fetch() < plan_.fetches.size();
        break;
      case Opcode::copy:
        fits = one_in && one_out && (i.other == kNone || i.other == Instruction::kSwap);
        break;
      case Opcode::send:
      case Opcode::send_wait:
        fits = one_in && none_out && i.channel() < plan_.channels.size();
        break;
      case Opcode::receive:
      case Opcode::receive_wait:
        fits = none_in && one_out && i.channel() < plan_.channels.size();
        break;
      case Opcode::collective:
      case Opcode::collective_wait:
        fits = i.inputs.count <= 1 && i.outputs.count <= 1 && i.collective() < plan_.collectives.size();
        break;
      case Opcode::loop:
      case Opcode::branch:
        fits = one_in && i.region() < c.regions.size() && i.other_region() < c.regions.size();
        break;
      case Opcode::tiles:
        fits = !none_out && i.region() < c.regions.size() && i.tile_elements() != kNone;
        break;
      case Opcode::stencil_begin:
      case Opcode::stencil:
        fits = !none_out && i.region() < c.regions.size() && i.tile_elements() != 0 && i.tile_elements() != kNone;
        break;
      case Opcode::join:
        fits = none_in && none_out && i.scratch == kNone;
        break;
      default:
        fits = false;
    }
    require(fits, "the operands of a " + std::string(name_of(i.what)) + " do not fit");
  }

  static std::vector<std::uint32_t> regions_of(const Instruction& i) {
    if (i.what == Opcode::tiles || i.what == Opcode::stencil) return {i.region()};
    if (i.what == Opcode::loop || i.what == Opcode::branch) return {i.region(), i.other_region()};
    return {};
  }

  /// Checks that regions are disjoint and cover the instructions, and that each but the first two has exactly one
  /// owner.
  void check_regions(const PlanClass& c) const {
    std::vector<int> owners(c.regions.size(), 0);
    std::vector<bool> covered(c.instructions.size(), false);
    for (const Region& region : c.regions) {
      require(within(region.instructions, c.instructions.size()), "a region is out of range");
      for (std::uint32_t k = 0; k < region.instructions.count; ++k) {
        const std::uint32_t at = region.instructions[k];
        require(!covered[at], "two regions share an instruction");
        covered[at] = true;
        const Instruction& i = c.instructions[at];
        for (std::uint32_t owned : regions_of(i)) ++owners[owned];
      }
    }
    for (bool is : covered) require(is, "an instruction in no region");
    for (std::size_t r = 0; r < owners.size(); ++r) require(owners[r] == (r < 2 ? 0 : 1), "a region without one owner");
    check_depth(c);
  }

  /// Regions with one owner each could still own each other in a cycle. So a walk from the setup and the step must
  /// reach every region.
  void check_depth(const PlanClass& c) const {
    std::vector<std::uint32_t> open{0, 1}, depths{0, 0};
    std::size_t met = 0;
    while (!open.empty()) {
      const Region& region = c.regions[open.back()];
      const std::uint32_t depth = depths.back();
      open.pop_back();
      depths.pop_back();
      ++met;
      require(depth <= kDeepest, "regions are nested too deep");
      for (std::uint32_t k = 0; k < region.instructions.count; ++k) {
        const Instruction& i = c.instructions[region.instructions[k]];
        for (std::uint32_t owned : regions_of(i)) {
          open.push_back(owned);
          depths.push_back(depth + 1);
        }
      }
    }
    require(met == c.regions.size(), "regions own each other in a circle");
  }

  const Plan& plan_;
  std::vector<std::size_t> group_size_;  // of each grouping: the size of its groups; 0 if their sizes differ
};

}  // namespace

std::string described(const Plan& plan, std::string_view what, std::uint32_t number, std::uint32_t name,
                      std::uint32_t line) {
  std::string text = std::string(what) + " " + std::to_string(number);
  if (name != kNone) text += formatted(" ({})", plan.string(name));
  if (line != kNone) text += " at " + plan.line(line).str();
  return text;
}

std::string described(const Plan& plan, std::uint32_t collective) {
  const Collective& what = plan.collectives[collective];
  return described(plan, "collective", collective, what.name, what.line);
}

std::string describe(const Plan& plan, const Instruction& i) {
  std::string what(name_of(i.what));
  if (i.what == Opcode::kernel) what = plan.string(i.op);
  std::string text = formatted("{} '{}'", as_is(what), plan.string(i.name));
  if (i.line != kNone) text += " at " + plan.line(i.line).str();
  return text;
}

void check_structure(const Plan& plan) {
  Structure(plan).check();
}

}  // namespace ferry::verifier
