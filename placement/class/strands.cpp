#include "placement/class/strands.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/class/thread_clocks.hpp"

namespace ferry {
namespace {

// Nanoseconds; only their ratios matter. A wait across threads costs about two transfers of a cache line.
constexpr std::uint64_t kKernel = 40;    // to call a kernel that does something
constexpr std::uint64_t kIdle = 4;       // to call one without work for each element
constexpr std::uint64_t kWait = 80;      // of the thread that waits
constexpr std::uint64_t kPublish = 20;   // of the thread that is waited for
constexpr std::uint64_t kLatency = 100;  // until the one sees what the other did
constexpr std::uint64_t kBytesPerNanosecond = 8;
/// A kernel that touches more than this splits over the threads by itself.
constexpr std::uint64_t kSplitBytes = 32768;
/// Threads must make a step at least this much shorter, in percent.
constexpr std::uint64_t kGain = 15;

/// Which instructions of a list need which earlier ones: by the buffers that they read and write. Parts of one buffer
/// are apart from each other, but for the first write to any of them: all others need it, so that whoever had the bytes
/// before is done with them.
class Needs {
 public:
  Needs(const PlanClass& plan, Range step)
      : plan_(plan), writer_(plan.buffers.size(), kNone), reader_(plan.buffers.size(), kNone) {
    find_parts();
    first_.reserve(step.count + 1);
    for (std::uint32_t i = 0; i < step.count; ++i) {
      first_.push_back(static_cast<std::uint32_t>(needs_.size()));
      add(i, plan.instructions[step.begin + i]);
    }
    first_.push_back(static_cast<std::uint32_t>(needs_.size()));
  }

  /// In the order of the operands; some more than once.
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::uint32_t i) const {
    return {needs_.data() + first_[i], first_[i + 1] - first_[i]};
  }

 private:
  /// Who has read a buffer since it was written: a list for each buffer, the last first.
  struct Reader {
    std::uint32_t instruction, next;
  };

  void find_parts() {
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> first;
    bytes_of_.reserve(plan_.buffers.size());
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
      const std::uint32_t whole = storage_of(plan_, b);
      bytes_of_.push_back(whole);
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.bytes == plan_.buffers[whole].bytes) continue;
      const auto [at, fresh] = first.try_emplace({whole, buffer.offset}, b);
      bytes_of_.back() = at->second;
      if (fresh) parts_[whole].push_back(b);
    }
  }

  void add(std::uint32_t i, const Instruction& instruction) {
    for (std::uint32_t k = 0; k < instruction.inputs.count; ++k)
      each(operand(instruction.inputs, k), [&](std::uint32_t buffer) { read(i, buffer); });
    for (std::uint32_t k = 0; k < instruction.outputs.count; ++k) {
      const std::uint32_t out = operand(instruction.outputs, k);
      if (const std::uint32_t whole = storage_of(plan_, out); whole != out) open(i, whole);
      each(out, [&](std::uint32_t buffer) { write(i, buffer); });
    }
    if (instruction.what != Do::loop && instruction.what != Do::branch) return;
    for (const std::uint32_t region : {instruction.target, instruction.other}) {
      const Range nested = plan_.regions[region].instructions;
      for (std::uint32_t n = nested.begin; n < nested.begin + nested.count; ++n) add(i, plan_.instructions[n]);
    }
  }

  /// What stands for the operand's bytes: the buffer that they are, or the first that is the same part of one.
  [[nodiscard]] std::uint32_t operand(Range range, std::uint32_t k) const {
    return bytes_of_[plan_.operands[range.begin + k]];
  }
  template <class F>
  void each(std::uint32_t buffer, F f) const {
    f(buffer);
    if (parts_.empty()) return;
    if (const auto found = parts_.find(buffer); found != parts_.end())
      for (const std::uint32_t part : found->second) f(part);
  }

  /// A part of the buffer is about to be written.
  void open(std::uint32_t i, std::uint32_t whole) {
    need(i, writer_[whole]);
    if (writer_[whole] == kNone) writer_[whole] = i;
  }

  void need(std::uint32_t i, std::uint32_t earlier) {
    if (earlier != kNone && earlier != i) needs_.push_back(earlier);
  }
  void read(std::uint32_t i, std::uint32_t buffer) {
    need(i, writer_[buffer]);
    if (reader_[buffer] != kNone && readers_[reader_[buffer]].instruction == i) return;
    readers_.push_back({i, reader_[buffer]});
    reader_[buffer] = static_cast<std::uint32_t>(readers_.size() - 1);
  }
  void write(std::uint32_t i, std::uint32_t buffer) {
    need(i, writer_[buffer]);
    for (std::uint32_t r = reader_[buffer]; r != kNone; r = readers_[r].next) need(i, readers_[r].instruction);
    writer_[buffer] = i;
    reader_[buffer] = kNone;
  }

  const PlanClass& plan_;
  std::vector<std::uint32_t> bytes_of_;                                  // of each buffer
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> parts_;  // of buffers that have some
  std::vector<std::uint32_t> first_, needs_;
  std::vector<std::uint32_t> writer_, reader_;  // of each buffer
  std::vector<Reader> readers_;
};

class StrandPlacer {
 public:
  StrandPlacer(PlanClass& plan, const std::unordered_map<std::uint32_t, double>& work)
      : plan_(plan), step_(plan.regions[1].instructions), work_(work), needs_(plan, step_) {}

  void run() {
    find_costs();
    find_strands();
    deal();
    make_waits();
    if (finished_ * 100 <= alone_ * (100 - kGain)) return;
    plan_.waits.clear();
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      at(i).thread = 0;
      at(i).waits = {};
    }
  }

 private:
  struct Strand {
    std::uint32_t level = 0;  ///< of its first instruction: the longest way to it
    std::uint32_t first = 0, last = 0;
    std::uint64_t cost = 0;
    std::uint16_t thread = 0;
  };

  Instruction& at(std::uint32_t i) { return plan_.instructions[step_.begin + i]; }

  // ---- Costs ----

  void find_costs() {
    costs_.reserve(step_.count);
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      std::uint64_t bytes = 0;
      for (const Range range : {at(i).inputs, at(i).outputs})
        for (std::uint32_t k = 0; k < range.count; ++k) bytes += plan_.buffers[plan_.operands[range.begin + k]].bytes;
      if (bytes > kSplitBytes && at(i).thread == kAnyThread) at(i).thread = 0;
      costs_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(cost(at(i), bytes), 1U << 30)));
      alone_ += costs_.back();
    }
  }

  std::uint64_t cost(const Instruction& instruction, std::uint64_t bytes) const {
    if (instruction.what == Do::tiles && instruction.other == 0)
      return cost(plan_.instructions[plan_.regions[instruction.target].instructions.begin], bytes);
    if (instruction.what != Do::kernel) return kKernel + bytes / kBytesPerNanosecond;
    const auto found = work_.find(instruction.op);
    const double work = found == work_.end() ? 0 : found->second;
    if (work == 0) return kIdle;
    double elements = 0;
    for (std::uint32_t k = 0; k < instruction.outputs.count; ++k) {
      const Buffer& out = plan_.buffers[plan_.operands[instruction.outputs.begin + k]];
      elements += static_cast<double>(elements_of(out));
    }
    return kKernel + bytes / kBytesPerNanosecond + static_cast<std::uint64_t>(work * elements);
  }

  // ---- Strands ----

  void find_strands() {
    strand_.assign(step_.count, kNone);
    std::vector<std::uint32_t> levels(step_.count, 0);
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      for (std::uint32_t need : needs_[i]) levels[i] = std::max(levels[i], levels[need] + 1);
      if (at(i).thread != kAnyThread) continue;
      strand_[i] = strand_for(i, levels[i]);
      Strand& strand = strands_[strand_[i]];
      strand.last = i;
      strand.cost += costs_[i];
    }
  }

  /// The one whose end it takes a value from, or a new one.
  std::uint32_t strand_for(std::uint32_t i, std::uint32_t level) {
    for (std::uint32_t need : needs_[i])
      if (strand_[need] != kNone && strands_[strand_[need]].last == need) return strand_[need];
    strands_.push_back({level, i, i, 0, 0});
    return static_cast<std::uint32_t>(strands_.size() - 1);
  }

  // ---- Threads ----

  void deal() {
    std::vector<std::uint32_t> order(strands_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return strands_[a].level < strands_[b].level; });
    load_.assign(plan_.threads, 0);
    for (std::size_t begin = 0; begin < order.size();) {
      std::size_t end = begin;
      while (end < order.size() && strands_[order[end]].level == strands_[order[begin]].level) ++end;
      deal_level(std::span(order).subspan(begin, end - begin));
      begin = end;
    }
    for (std::uint32_t i = 0; i < step_.count; ++i)
      if (strand_[i] != kNone) at(i).thread = strands_[strand_[i]].thread;
  }

  /// Strands that begin together: in blocks of equal cost where there is one for each thread, else one by one.
  void deal_level(std::span<const std::uint32_t> strands) {
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

  /// Where its last input was made, unless that thread has much more to do than another.
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

  /// Walks the threads side by side: who has to wait for what, and when all would be done.
  void make_waits() {
    ThreadClocks clocks(plan_.threads);
    std::vector<std::uint64_t> now(plan_.threads, 0), done(step_.count, 0);
    std::vector<std::vector<std::uint32_t>> lists(plan_.threads);
    std::vector<Wait> waits;
    for (std::uint32_t i = 0; i < step_.count; ++i) {
      Instruction& instruction = at(i);
      waits.clear();
      for (std::uint32_t need : needs_[i])
        if (at(need).thread != instruction.thread) waits.push_back({at(need).thread, clocks.count(need)});
      if (!waits.empty()) waits = clocks.needed(instruction.thread, std::move(waits));
      instruction.waits = {static_cast<std::uint32_t>(plan_.waits.size()), static_cast<std::uint32_t>(waits.size())};
      if (waits.empty()) instruction.waits = {};
      plan_.waits.insert(plan_.waits.end(), waits.begin(), waits.end());
      clocks.add(instruction.thread, waits);
      std::uint64_t& time = now[instruction.thread];
      for (const Wait& wait : waits) {
        time = std::max(time, done[lists[wait.thread][wait.count - 1]] + kLatency) + kWait;
        now[wait.thread] += kPublish;
      }
      time += costs_[i];
      done[i] = time;
      lists[instruction.thread].push_back(i);
    }
    finished_ = *std::max_element(now.begin(), now.end());
  }

  PlanClass& plan_;
  const Range step_;
  const std::unordered_map<std::uint32_t, double>& work_;
  const Needs needs_;
  std::vector<std::uint32_t> costs_;   // of each instruction of the step
  std::vector<std::uint32_t> strand_;  // of each instruction of the step; kNone: it is on thread 0
  std::vector<Strand> strands_;
  std::vector<std::uint64_t> load_;  // of each thread
  std::uint64_t alone_ = 0, finished_ = 0;
};

}  // namespace

void place_strands(PlanClass& plan, const std::unordered_map<std::uint32_t, double>& work) {
  if (plan.threads > 1) StrandPlacer(plan, work).run();
}

}  // namespace ferry
