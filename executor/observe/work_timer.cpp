#include "executor/observe/work_timer.hpp"

#include <functional>
#include <unordered_map>
#include <utility>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/process/process_state.hpp"

namespace ferry {
namespace {

bool computes(Opcode what) {
  return what == Opcode::kernel || what == Opcode::tiles || what == Opcode::copy || what == Opcode::stencil_begin ||
         what == Opcode::stencil;
}

bool waits(Opcode what) {
  return what == Opcode::send_wait || what == Opcode::receive_wait || what == Opcode::collective_wait;
}

std::uint64_t key_of(const Plan& plan, const PlanClass& role, const Instruction& instruction) {
  Hasher hasher;
  hasher.add(static_cast<int>(instruction.what)).add(plan.string(instruction.op));
  hasher.add(plan.line(instruction.line).str()).add(role.threads);
  for (const Range range : {instruction.inputs, instruction.outputs}) {
    hasher.add(range.count);
    for (const BufferId b : role.operands_of(range)) {
      const Buffer& buffer = role.buffers[b];
      hasher.add(static_cast<int>(buffer.dtype)).add(buffer.sizes.size());
      for (const std::int64_t size : buffer.sizes) hasher.add(size);
    }
  }
  return hasher.digest();
}

std::string text_of(const Plan& plan, const Instruction& instruction) {
  const SourceLine line = plan.line(instruction.line);
  std::string text(instruction.op == kNone ? name_of(instruction.what) : plan.string(instruction.op));
  return text + (line.known() ? " at " + line.str() : formatted(" {:?}", plan.string(instruction.name)));
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

WorkTimer::Reading WorkTimer::Reading::now() {
  return {system_clock().now(), thread_cpu_seconds()};
}

WorkTimer::WorkTimer(const Plan& plan, int task, std::uint64_t plan_id, bool crowded)
    : plan_(plan),
      role_(plan.class_for(task)),
      plan_id_(plan_id),
      crowded_(crowded),
      kinds_(1),
      limit_(static_cast<std::int64_t>(role_.instructions.size()) + kMostInLoops) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (const Instruction& instruction : role_.instructions) {
    std::uint32_t& kind = kind_of_.emplace_back(kNoKind);
    if (waits(instruction.what)) kind = kWaits;
    if (!computes(instruction.what) || role_.on_queue(instruction)) continue;
    const std::uint64_t key = key_of(plan, role_, instruction);
    const auto [at, added] = known.emplace(key, static_cast<std::uint32_t>(kinds_.size()));
    kind = at->second;
    if (added) kinds_.push_back({.key = key, .first = &instruction, .runs = {}, .wall = {}, .cpu = {}});
  }
  walkers_.assign(role_.threads, {std::vector<Spent>(kinds_.size())});
}

void WorkTimer::add(std::size_t thread, const Instruction& instruction, const Reading& before) {
  const std::uint32_t kind = kind_of_[static_cast<std::size_t>(&instruction - role_.instructions.data())];
  if (kind == kNoKind) return;
  // The order of the clocks is: wall, CPU, the instruction, CPU, wall. Reading the CPU time is a system call, in which
  // Linux may switch to another thread. The time of that thread then counts in the wall time of the instruction, like
  // any time that the thread loses.
  const double cpu = thread_cpu_seconds() - before.cpu;
  const double wall = seconds(system_clock().now() - before.wall);
  ++walkers_[thread].readings;
  walkers_[thread].spent[kind] += {1, wall, cpu};
}

bool WorkTimer::end_step(TimePoint begin, TimePoint end) {
  std::int64_t readings = 0;
  for (Walker& walker : walkers_) readings = std::max(readings, std::exchange(walker.readings, 0));
  next_ = readings < limit_ ? begin + kPause * readings : TimePoint::max();
  if (readings >= limit_) return false;
  if (samples_ == 0 && steps_in_sample_ == 0) measured_since_ = begin;
  if (steps_in_sample_++ == 0) sample_begin_ = begin;
  seconds_in_sample_ += seconds(end - begin);
  if (end - sample_begin_ < kSample) return false;
  end_sample();
  if (end - reported_ < report_interval(end - measured_since_)) return false;
  reported_ = end;
  return true;
}

void WorkTimer::end_sample() {
  const auto steps = static_cast<double>(steps_in_sample_);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    Spent spent;
    for (Walker& walker : walkers_) spent += std::exchange(walker.spent[k], {});
    Kind& kind = kinds_[k];
    if (k == kWaits) kind.wall.add(spent.wall / steps);
    if (k == kWaits || spent.runs == 0) continue;
    const auto runs = static_cast<double>(spent.runs);
    kind.total += spent.wall;
    kind.runs.add(runs / steps);
    kind.wall.add(spent.wall / runs);
    kind.cpu.add(spent.cpu / runs);
  }
  steps_.add(seconds_in_sample_ / steps);
  ++samples_;
  steps_in_sample_ = 0;
  seconds_in_sample_ = 0;
}

WorkTimes WorkTimer::times(std::vector<LinkUse> links) const {
  WorkTimes times{.plan = plan_id_, .samples = samples_, .crowded = crowded_, .links = std::move(links)};
  if (samples_ == 0) return times;
  times.step = steps_.spread().median;
  times.waiting = kinds_[kWaits].wall.spread().median;
  std::vector<const Kind*> busiest;
  for (const Kind& kind : kinds_)
    if (!kind.runs.empty()) busiest.push_back(&kind);
  const std::size_t told = std::min(busiest.size(), kReportedKinds);
  std::ranges::partial_sort(busiest, busiest.begin() + static_cast<std::ptrdiff_t>(told), std::ranges::greater(),
                            &Kind::total);
  busiest.resize(told);
  for (const Kind* kind : busiest)
    times.busiest.push_back({.key = kind->key,
                             .op = text_of(plan_, *kind->first),
                             .runs = kind->runs.spread().median,
                             .wall = kind->wall.spread(),
                             .cpu = kind->cpu.spread()});
  return times;
}

}  // namespace ferry
