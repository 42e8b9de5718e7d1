#include "placement/class/place_strands.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/op/op_time.hpp"
#include "placement/class/dependences.hpp"
#include "placement/class/strand_clocks.hpp"

namespace ferry {
namespace {

// All values are in nanoseconds; only their ratios matter. A wait across threads costs about two transfers of a cache
// line.
constexpr std::uint64_t kIdle = 4;       // to call a kernel that only moves elements
constexpr std::uint64_t kWait = 80;      // on the thread that waits
constexpr std::uint64_t kPublish = 20;   // on the thread that is waited for
constexpr std::uint64_t kLatency = 100;  // until the waiting thread sees that the other is done
/// In bytes. A kernel that touches more bytes than this splits over the threads by itself.
constexpr std::uint64_t kSplitBytes = 32768;
/// Threads must make a step at least this much shorter, in percent.
constexpr std::uint64_t kGain = 15;

class StrandPlacer {
 public:
  explicit StrandPlacer(ClassPlan& plan)
      : plan_(plan.role),
        step_(plan_.regions[1].instructions),
        work_(plan.facts.work),
        computing_(plan.tables().plan().topology.compute),
        needs_(plan_, step_) {}

  void run() {
    find_costs();
    find_strands();
    assign_threads();
    make_waits();
    if (finished_ * 100 <= alone_ * (100 - kGain)) return;
    plan_.waits.clear();
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      at(i).strand = 0;
      at(i).waits = {};
    }
  }

 private:
  struct Strand {
    std::uint32_t level = 0;  ///< length of the longest chain of dependences to its first instruction
    std::uint32_t first = 0, last = 0;
    std::uint64_t cost = 0;
    std::uint16_t thread = 0;
  };

  Instruction& at(std::uint32_t i) { return plan_.instructions[step_[i]]; }

  // ---- Costs ----

  void find_costs() {
    costs_.reserve(step_.count);
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      std::uint64_t bytes = 0;
      for (const Range range : {at(i).inputs, at(i).outputs})
        for (const BufferId b : plan_.operands_of(range)) bytes += plan_.buffers[b].bytes;
      if (bytes > kSplitBytes) at(i).may &= static_cast<std::uint8_t>(~kMovable);
      costs_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(cost(at(i), bytes), 1U << 30)));
      alone_ += costs_.back();
    }
  }

  /// The planned time of an instruction in nanoseconds. `bytes`: the bytes of its operands.
  std::uint64_t cost(const Instruction& instruction, std::uint64_t bytes) const {
    if (instruction.what == Opcode::tiles && instruction.tile_elements() == 0)
      return cost(plan_.instructions[plan_.regions[instruction.region()].instructions.first], bytes);
    const auto found = instruction.what == Opcode::kernel ? work_.find(instruction.name) : work_.end();
    const auto threads = static_cast<int>(plan_.threads);
    const OpWork work = found == work_.end() ? OpWork{0, static_cast<double>(bytes)} : found->second;
    if (found != work_.end() && work.flops == 0)
      return kIdle + nanoseconds(computing_picoseconds(DeviceKind::cpu, computing_, work, threads));
    return nanoseconds(kernel_picoseconds(DeviceKind::cpu, computing_, work, threads));
  }

  static std::uint64_t nanoseconds(std::int64_t picoseconds) { return static_cast<std::uint64_t>(picoseconds) / 1000; }

  // ---- Strands ----

  void find_strands() {
    strand_.assign(step_.count, kNone);
    std::vector<std::uint32_t> levels(step_.count, 0);
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      for (std::uint32_t need : needs_[i]) levels[i] = std::max(levels[i], levels[need] + 1);
      if ((at(i).may & kMovable) == 0) continue;
      strand_[i] = strand_for(i, levels[i]);
      Strand& strand = strands_[strand_[i]];
      strand.last = i;
      strand.cost += costs_[i];
    }
  }

  /// The strand for instruction i: a strand with a last instruction on which i depends, or a new strand.
  std::uint32_t strand_for(std::uint32_t i, std::uint32_t level) {
    for (std::uint32_t need : needs_[i])
      if (strand_[need] != kNone && strands_[strand_[need]].last == need) return strand_[need];
    strands_.push_back({level, i, i, 0, 0});
    return static_cast<std::uint32_t>(strands_.size() - 1);
  }

  // ---- Threads ----

  void assign_threads() {
    std::vector<std::uint32_t> order(strands_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return strands_[a].level < strands_[b].level; });
    load_.assign(plan_.threads, 0);
    for (std::size_t begin = 0; begin < order.size();) {
      std::size_t end = begin;
      while (end < order.size() && strands_[order[end]].level == strands_[order[begin]].level) ++end;
      assign_level(std::span(order).subspan(begin, end - begin));
      begin = end;
    }
    for (std::uint32_t i = 0; i < step_.count; ++i)
      if (strand_[i] != kNone) at(i).strand = strands_[strand_[i]].thread;
  }

  /// Assigns the strands of one level to threads: in blocks of equal cost if there are enough strands for all threads,
  /// else one by one.
  void assign_level(std::span<const std::uint32_t> strands) {
    std::uint64_t total = 0, before = 0;
    for (std::uint32_t s : strands) total += strands_[s].cost;
    for (std::uint32_t s : strands) {
      Strand& strand = strands_[s];
      const std::uint64_t middle = before + strand.cost / 2;
      before += strand.cost;
      strand.thread = strands.size() >= plan_.threads
                          ? static_cast<std::uint16_t>(std::min<std::uint64_t>(
                                middle * plan_.threads / std::max<std::uint64_t>(total, 1), plan_.threads - 1))
                          : thread_for(strand);
      load_[strand.thread] += strand.cost;
    }
  }

  /// The thread that makes the strand's last input, unless that thread has much more work than another thread.
  std::uint16_t thread_for(const Strand& strand) const {
    const auto idle = static_cast<std::uint16_t>(std::min_element(load_.begin(), load_.end()) - load_.begin());
    std::uint32_t last = kNone;
    for (std::uint32_t need : needs_[strand.first])
      if (strand_[need] != kNone && (last == kNone || need > last)) last = need;
    if (last == kNone) return idle;
    const std::uint16_t near = strands_[strand_[last]].thread;
    return load_[near] + strand.cost > load_[idle] + strand.cost + alone_ / (10 * plan_.threads) ? idle : near;
  }

  // ---- Waits ----

  /// Simulates the threads. Finds the waits, and the time at which all threads are done.
  void make_waits() {
    StrandClocks clocks(plan_.threads, plan_.threads);
    std::vector<std::uint64_t> now(plan_.threads, 0), done(step_.count, 0);
    std::vector<std::vector<std::uint32_t>> lists(plan_.threads);
    std::vector<Wait> waits;
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      Instruction& instruction = at(i);
      waits.clear();
      for (std::uint32_t need : needs_[i])
        if (at(need).strand != instruction.strand) waits.push_back({at(need).strand, clocks.count(need)});
      if (!waits.empty()) waits = clocks.needed(instruction.strand, std::move(waits));
      instruction.waits = {static_cast<std::uint32_t>(plan_.waits.size()), static_cast<std::uint32_t>(waits.size())};
      if (waits.empty()) instruction.waits = {};
      plan_.waits.insert(plan_.waits.end(), waits.begin(), waits.end());
      clocks.add(instruction.strand, waits);
      std::uint64_t& time = now[instruction.strand];
      for (const Wait& wait : waits) {
        time = std::max(time, done[lists[wait.strand][wait.count - 1]] + kLatency) + kWait;
        now[wait.strand] += kPublish;
      }
      time += costs_[i];
      done[i] = time;
      lists[instruction.strand].push_back(i);
    }
    finished_ = *std::max_element(now.begin(), now.end());
  }

  PlanClass& plan_;
  const Range step_;
  const std::unordered_map<std::uint32_t, OpWork>& work_;
  const ComputeCosts& computing_;
  const Dependences needs_;
  std::vector<std::uint32_t> costs_;   // of each instruction of the step
  std::vector<std::uint32_t> strand_;  // of each instruction of the step; kNone: it is on thread 0
  std::vector<Strand> strands_;
  std::vector<std::uint64_t> load_;  // of each thread
  std::uint64_t alone_ = 0, finished_ = 0;
};

}  // namespace

void place_strands(ClassPlan& plan) {
  if (plan.role.threads > 1 && plan.role.queues.empty()) StrandPlacer(plan).run();
  for (Instruction& instruction : plan.role.instructions) instruction.may = 0;
}

}  // namespace ferry
