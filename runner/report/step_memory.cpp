#include "runner/report/step_memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/format.hpp"
#include "base/ranges.hpp"
#include "plan/text/plan_text.hpp"
#include "runner/pictures/plan_drawing.hpp"

namespace ferry {
namespace {

constexpr std::uint32_t kStepRegion = 1;

std::string name_in_trace(const Plan& plan, const Instruction& instruction) {
  const bool kernel = instruction.what == Opcode::kernel || instruction.what == Opcode::tiles;
  return std::string(kernel ? plan.string(instruction.op) : name_of(instruction.what)) + " " +
         std::string(plan.string(instruction.name));
}

/// The lifetimes of the values of a class. A value belongs to the innermost region that has all instructions that touch
/// it. In this region, the loop or branch of a nested region counts as the instruction that touches the value.
class ArenaLifetimes {
 public:
  ArenaLifetimes(const Plan& plan, const PlanClass& role) : plan_(plan), role_(role), owners_(role.regions.size()) {
    visit(kStepRegion);
    for (const auto& [storage, life] : lives_) values_[life.region].push_back(storage);
    for (auto& [storage, life] : lives_) life.reused_in_place = is_reused_in_place(storage, life);
  }

  /// Adds the values on one device.
  void add_to(StepMemory& memory, std::uint32_t device) const {
    const Range step = role_.regions[kStepRegion].instructions;
    for (std::uint32_t i = 0; i < step.count; ++i) {
      const Instruction& instruction = role_.instructions[step[i]];
      memory.names.push_back(name_in_trace(plan_, instruction));
      if (const std::uint64_t bytes = nested_peak_bytes(instruction, device); bytes > 0)
        memory.values.push_back({"in " + memory.names.back(), line_text(instruction), bytes, i, i});
    }
    for (const auto& [storage, life] : lives_) {
      const Buffer& buffer = role_.buffers[storage];
      if (buffer.device != device) continue;
      memory.planned = std::max(memory.planned, buffer.offset + buffer.bytes);
      if (life.region != kStepRegion) continue;
      memory.values.push_back({value_text(buffer), line_text(role_.instructions[step[life.first]]), buffer.bytes,
                               life.first, life.last, life.reused_in_place});
    }
  }

 private:
  struct Owner {
    RegionId region = kNone;
    std::uint32_t at = 0;  ///< the position of the loop or branch
    std::uint32_t depth = 0;
  };
  struct Life {
    RegionId region = kNone;
    std::uint32_t first = 0, last = 0;
    bool reused_in_place = false;
  };

  void visit(RegionId region) {
    const Range range = role_.regions[region].instructions;
    for (std::uint32_t at = 0; at < range.count; ++at) {
      const Instruction& instruction = role_.instructions[range[at]];
      for (const Range operands : {instruction.inputs, instruction.outputs})
        for (const BufferId b : role_.operands_of(operands)) touch(b, region, at);
      if (instruction.scratch != kNone) touch(instruction.scratch, region, at);
      if (instruction.what != Opcode::loop && instruction.what != Opcode::branch) continue;
      for (const std::uint32_t nested : {instruction.region(), instruction.other_region()}) {
        owners_[nested] = {region, at, owners_[region].depth + 1};
        visit(nested);
      }
    }
  }

  void touch(BufferId buffer, RegionId region, std::uint32_t at) {
    const std::uint32_t storage = storage_of(role_, buffer);
    if (role_.buffers[storage].space != Buffer::Space::step) return;
    const auto [found, fresh] = lives_.try_emplace(storage, Life{region, at, at});
    Life& life = found->second;
    while (life.region != region) {
      const Owner& own = owners_[life.region];
      const Owner& others = owners_[region];
      if (own.depth >= others.depth)
        life = {own.region, own.at, own.at};
      else
        std::tie(region, at) = std::pair(others.region, others.at);
    }
    life.first = std::min(life.first, at);
    life.last = std::max(life.last, at);
  }

  /// Whether the last instruction that reads the value makes another value in its place.
  [[nodiscard]] bool is_reused_in_place(std::uint32_t storage, const Life& life) const {
    const Instruction& last = role_.instructions[role_.regions[life.region].instructions[life.last]];
    for (const BufferId b : role_.outputs(last)) {
      const std::uint32_t output = storage_of(role_, b);
      const auto made = lives_.find(output);
      if (output == storage || made == lives_.end()) continue;
      if (made->second.region == life.region && made->second.first == life.last &&
          overlap(role_.buffers[storage], role_.buffers[output]))
        return true;
    }
    return false;
  }

  static bool overlap(const Buffer& a, const Buffer& b) {
    return a.device == b.device && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }

  /// The most bytes that values of the region, and of regions nested in it, have on the device at one time.
  [[nodiscard]] std::uint64_t peak_bytes(RegionId region, std::uint32_t device) const {
    const Range range = role_.regions[region].instructions;
    std::vector<std::int64_t> changes(range.count + 1, 0);
    if (const auto values = values_.find(region); values != values_.end())
      for (const std::uint32_t storage : values->second) {
        if (role_.buffers[storage].device != device) continue;
        const Life& life = lives_.at(storage);
        const auto bytes = static_cast<std::int64_t>(role_.buffers[storage].bytes);
        changes[life.first] += bytes;
        changes[life.last + (life.reused_in_place && life.first < life.last ? 0 : 1)] -= bytes;
      }
    std::int64_t now = 0, most = 0;
    for (std::uint32_t at = 0; at < range.count; ++at) {
      now += changes[at];
      most = std::max(most, now + static_cast<std::int64_t>(nested_peak_bytes(role_.instructions[range[at]], device)));
    }
    return static_cast<std::uint64_t>(most);
  }

  [[nodiscard]] std::uint64_t nested_peak_bytes(const Instruction& instruction, std::uint32_t device) const {
    if (instruction.what != Opcode::loop && instruction.what != Opcode::branch) return 0;
    return std::max(peak_bytes(instruction.region(), device), peak_bytes(instruction.other_region(), device));
  }

  [[nodiscard]] std::string value_text(const Buffer& buffer) const {
    const std::string_view name = plan_.string(buffer.name);
    const Type type{buffer.dtype, Shape(std::span<const std::int64_t>(buffer.sizes.vector()))};
    return (name.empty() ? "scratch" : formatted("{}", name)) + " " + type.str();
  }

  [[nodiscard]] std::string line_text(const Instruction& instruction) const {
    const SourceLine line = plan_.line(instruction.line);
    return line.known() ? line.str() : "";
  }

  const Plan& plan_;
  const PlanClass& role_;
  std::vector<Owner> owners_;                                   ///< of each region
  std::map<std::uint32_t, Life> lives_;                         ///< by storage
  std::map<std::uint32_t, std::vector<std::uint32_t>> values_;  ///< storages by region
};

/// The begin and the end of each of the step's instructions, in nanoseconds from the begin of the step.
struct StepTimes {
  std::vector<std::int64_t> begin, end;
};

StepTimes times_of(const StepMemory& memory, const TracedRun& run, const TracedStep& step) {
  constexpr std::int64_t kUnknown = -1;
  std::unordered_map<std::string_view, std::vector<std::size_t>> places;
  for (std::size_t i = memory.names.size(); i-- > 0;) places[memory.names[i]].push_back(i);  // the first place last
  StepTimes times{std::vector<std::int64_t>(memory.names.size(), kUnknown),
                  std::vector<std::int64_t>(memory.names.size(), kUnknown)};
  for (const TracedEvent& event : run.events) {
    if (event.task != step.task || event.begin < step.begin || event.begin >= step.end) continue;
    const auto found = places.find(run.strings[event.name]);
    if (found == places.end() || found->second.empty()) continue;
    const std::size_t at = found->second.back();
    found->second.pop_back();
    times.begin[at] = event.begin - step.begin;
    times.end[at] = event.end - step.begin;
  }
  // An instruction without an event took no time; it ran right after the instruction before it in the plan.
  std::int64_t now = 0;
  for (std::size_t i = 0; i < times.begin.size(); ++i) {
    if (times.begin[i] == kUnknown) times.begin[i] = times.end[i] = now;
    now = times.end[i];
  }
  return times;
}

/// If there are more than kMostMemoryPoints points, keeps the highest of each stretch of points.
void thin(MemoryCurve& curve) {
  const std::size_t stretch = (curve.times.size() + kMostMemoryPoints - 1) / kMostMemoryPoints;
  if (stretch < 2) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < curve.times.size(); i += stretch, ++kept) {
    const std::size_t end = std::min(i + stretch, curve.bytes.size());
    curve.bytes[kept] = *std::max_element(curve.bytes.begin() + static_cast<std::ptrdiff_t>(i),
                                          curve.bytes.begin() + static_cast<std::ptrdiff_t>(end));
    curve.times[kept] = curve.times[i];
  }
  curve.times.resize(kept);
  curve.bytes.resize(kept);
}

}  // namespace

std::vector<StepMemory> step_memories(const Plan& plan) {
  std::vector<StepMemory> all;
  std::size_t roles = 0;
  for (std::uint32_t index = 0; index < plan.classes.size() && roles < PlanDrawing::kMostRoles; ++index) {
    const std::vector<int> tasks = tasks_of_class(plan, index);
    if (tasks.empty()) continue;
    ++roles;
    const ArenaLifetimes lives(plan, plan.classes[index]);
    for (std::uint32_t d = 0; d < plan.classes[index].devices.size(); ++d) {
      const PlanDevice& device = plan.classes[index].devices[d];
      StepMemory memory;
      memory.task = tasks[0];
      memory.tasks = (tasks.size() > 1 ? "tasks " : "task ") + ranges(tasks);
      memory.device = std::string(name_of(device.kind)) + ":" + std::to_string(device.index);
      memory.arena = device.step_bytes;
      lives.add_to(memory, d);
      if (!memory.values.empty()) all.push_back(std::move(memory));
    }
  }
  return all;
}

std::optional<MemoryCurve> memory_curve(const StepMemory& memory, const TracedRun& run,
                                        const std::string& fingerprint) {
  const TracedStep* last = nullptr;
  for (const TracedStep& step : run.steps)
    if (step.task == memory.task && step.plan == fingerprint && run.strings[step.name] != "setup") last = &step;
  if (last == nullptr) return std::nullopt;
  const StepTimes times = times_of(memory, run, *last);
  const auto begin = [&](const StepMemory::Value& value) { return times.begin[value.first]; };
  const auto end = [&](const StepMemory::Value& value) {
    return std::max(begin(value), value.reused_in_place ? times.begin[value.last] : times.end[value.last]);
  };
  std::map<std::int64_t, std::int64_t> changes;  // bytes by time
  for (const StepMemory::Value& value : memory.values) {
    changes[begin(value)] += static_cast<std::int64_t>(value.bytes);
    changes[end(value)] -= static_cast<std::int64_t>(value.bytes);
  }
  MemoryCurve curve;
  curve.duration = last->end - last->begin;
  std::int64_t now = 0, most = -1, when = 0;
  for (const auto& [time, change] : changes) {
    now += change;
    curve.times.push_back(time);
    curve.bytes.push_back(static_cast<std::uint64_t>(now));
    if (now > most) {
      most = now;
      when = time;
    }
  }
  for (const StepMemory::Value& value : memory.values)
    if (begin(value) <= when && when < end(value)) curve.largest.push_back(&value);
  std::ranges::stable_sort(curve.largest, std::ranges::greater(), &StepMemory::Value::bytes);
  curve.largest.resize(std::min(curve.largest.size(), kMostLargest));
  thin(curve);
  return curve;
}

}  // namespace ferry
