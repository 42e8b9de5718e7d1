#include <algorithm>
#include <map>

#include "placement/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

[[noreturn]] void reject(std::string reason) {
  throw Rejected{std::move(reason)};
}

/// An instruction of the step: its thread, and its number there from 1.
struct Moment {
  std::uint32_t thread = 0, count = 0;
  const Instruction* instruction = nullptr;  ///< null: before the step
};

/// Bytes that were last written by one instruction, and the last reader of each thread since.
struct Touched {
  std::uint64_t end = 0;
  Moment writer;
  std::vector<Moment> readers;
};

/// Walks one class's step in the order of its list, with what each thread knows of the others (vector clocks).
class Threads {
 public:
  Threads(const Plan& plan, const PlanClass& plan_class) : plan_(plan), class_(plan_class) {}

  bool check() {
    if (!check_places()) return false;
    knows_.assign(class_.threads, std::vector<std::uint32_t>(class_.threads, 0));
    then_.resize(class_.threads);
    ran_.assign(class_.threads, 0);
    memory_.resize(2 * class_.devices.size());
    const Range step = class_.regions[1].instructions;
    for (std::uint32_t k = step.begin; k < step.begin + step.count; ++k) run(class_.instructions[k]);
    return true;
  }

 private:
  /// Messages, loops and branches must be on thread 0, and so must all regions but the step; a tile region is run like
  /// one kernel, by the thread of its instruction. False if everything is on thread 0 and nothing waits.
  bool check_places() const {
    bool several = false;
    for (std::uint32_t r = 0; r < class_.regions.size(); ++r) {
      const Range range = class_.regions[r].instructions;
      for (std::uint32_t k = range.begin; k < range.begin + range.count; ++k) {
        const Instruction& i = class_.instructions[k];
        several = several || i.thread != 0 || i.waits.count > 0;
        const bool computes = i.what == Opcode::kernel || i.what == Opcode::copy || i.what == Opcode::tiles;
        const bool free = r == 1 && computes;
        if (i.thread != 0 && !free)
          reject(describe(plan_, i) + " is on thread " + std::to_string(i.thread) + ", where only thread 0 may run it");
        if (r != 1 && i.waits.count > 0) reject(describe(plan_, i) + " waits for a thread outside of the step");
      }
    }
    return several;
  }

  void run(const Instruction& i) {
    std::vector<std::uint32_t>& mine = knows_[i.thread];
    for (std::uint32_t w = i.waits.begin; w < i.waits.begin + i.waits.count; ++w) {
      const Wait& wait = class_.waits[w];
      if (wait.thread == i.thread || wait.count > ran_[wait.thread])
        reject(describe(plan_, i) + " on thread " + std::to_string(i.thread) + " waits for instruction " +
               std::to_string(wait.count) + " of thread " + std::to_string(wait.thread) +
               ", which comes after it: they would wait for ever");
      if (wait.count == 0) continue;
      const std::uint32_t* theirs = then_[wait.thread].data() + (wait.count - 1) * mine.size();
      for (std::size_t t = 0; t < mine.size(); ++t) mine[t] = std::max(mine[t], theirs[t]);
    }
    mine[i.thread] = ++ran_[i.thread];
    touch(i, {i.thread, mine[i.thread], &i});
    then_[i.thread].insert(then_[i.thread].end(), mine.begin(), mine.end());
  }

  /// Notes all that the instruction reads and writes, also in the regions of a loop or branch, which run as a part of
  /// it.
  void touch(const Instruction& i, const Moment& now) {
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) access(class_.operands[i.inputs.begin + k], false, i, now);
    for (std::uint32_t k = 0; k < i.outputs.count; ++k) access(class_.operands[i.outputs.begin + k], true, i, now);
    if (i.scratch != kNone) access(i.scratch, true, i, now);
    if (i.what != Opcode::loop && i.what != Opcode::branch) return;
    for (const std::uint32_t region : {i.target, i.other}) {
      const Range range = class_.regions[region].instructions;
      for (std::uint32_t k = range.begin; k < range.begin + range.count; ++k) touch(class_.instructions[k], now);
    }
  }

  void access(std::uint32_t id, bool writes, const Instruction& i, const Moment& now) {
    const Buffer& b = class_.buffers[id];
    if (b.space == Buffer::Space::none || b.space == Buffer::Space::tile) return;
    auto& bytes = memory_[2 * b.device + (b.space == Buffer::Space::state ? 1 : 0)];
    const std::uint64_t begin = b.offset - (b.bounded ? kExtentBytes : 0), end = b.offset + b.bytes;
    if (begin >= end) return;
    cover(bytes, begin, end);
    for (auto at = bytes.find(begin); at != bytes.end() && at->first < end; ++at) {
      Touched& touched = at->second;
      check_order(touched.writer, id, i, now);
      if (writes) {
        for (const Moment& reader : touched.readers) check_order(reader, id, i, now);
        touched.writer = now;
        touched.readers.clear();
        continue;
      }
      const auto before = std::find_if(touched.readers.begin(), touched.readers.end(),
                                       [&](const Moment& reader) { return reader.thread == now.thread; });
      if (before == touched.readers.end())
        touched.readers.push_back(now);
      else
        *before = now;
    }
  }

  /// Makes [begin, end) a sequence of whole ranges.
  static void cover(std::map<std::uint64_t, Touched>& bytes, std::uint64_t begin, std::uint64_t end) {
    cut(bytes, begin);
    cut(bytes, end);
    while (begin < end) {
      const auto next = bytes.lower_bound(begin);
      if (next != bytes.end() && next->first == begin) {
        begin = next->second.end;
        continue;
      }
      const std::uint64_t to = next == bytes.end() ? end : std::min(end, next->first);
      bytes[begin] = {to, {}, {}};
      begin = to;
    }
  }

  static void cut(std::map<std::uint64_t, Touched>& bytes, std::uint64_t at) {
    auto range = bytes.upper_bound(at);
    if (range == bytes.begin()) return;
    --range;
    if (range->first == at || range->second.end <= at) return;
    Touched rest = range->second;
    range->second.end = at;
    bytes.emplace(at, std::move(rest));
  }

  void check_order(const Moment& earlier, std::uint32_t buffer, const Instruction& i, const Moment& now) const {
    if (earlier.instruction == nullptr || knows_[now.thread][earlier.thread] >= earlier.count) return;
    const std::string_view name = plan_.string(class_.buffers[buffer].name);
    reject(describe(plan_, *earlier.instruction) + " on thread " + std::to_string(earlier.thread) + " and " +
           describe(plan_, i) + " on thread " + std::to_string(now.thread) + " race for buffer " +
           std::to_string(buffer) + (name.empty() ? "" : " (" + std::string(name) + ")") + ": no wait orders them");
  }

  const Plan& plan_;
  const PlanClass& class_;
  std::vector<std::vector<std::uint32_t>> knows_;         // of each thread: instructions that it knows done, by thread
  std::vector<std::vector<std::uint32_t>> then_;          // the same after each of its instructions, appended
  std::vector<std::uint32_t> ran_;                        // of each thread: its instructions so far
  std::vector<std::map<std::uint64_t, Touched>> memory_;  // of each arena
};

}  // namespace

bool check_threads(const Plan& plan) {
  bool several = false;
  for (const PlanClass& plan_class : plan.classes) several = Threads(plan, plan_class).check() || several;
  return several;
}

}  // namespace ferry::verifier
