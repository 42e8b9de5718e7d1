#include <algorithm>
#include <map>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

/// An instruction of a region, with its strand and its number on this strand.
struct Moment {
  std::uint32_t strand = 0, count = 0;
  const Instruction* instruction = nullptr;  ///< null: the time before the region
};

/// Bytes with the instruction that wrote them last, and the last instruction of each strand that has read them since.
struct AccessedBytes {
  std::uint64_t end = 0;
  Moment writer;
  std::vector<Moment> readers;
};

/// Walks each region of a class in the order of its list, with a vector clock for each strand. A nested region is
/// walked on its own, since its owner is an instruction of thread 0 that ends when the region has ended.
class Strands {
 public:
  Strands(const Plan& plan, const PlanClass& plan_class) : plan_(plan), class_(plan_class) {}

  bool check() {
    if (!check_places()) return false;
    for (std::uint32_t r = 0; r < class_.regions.size(); ++r)
      if (r == 1 || (class_.regions[r].kind != Region::Kind::tile && !class_.queues.empty())) walk(r);
    return true;
  }

 private:
  /// Checks that each instruction is on a strand that may run it. Instructions that move messages or own regions must
  /// be on thread 0 (except tile regions, which run like one kernel on the strand of their instruction), and so must
  /// all instructions outside of the step. Queues may run kernels, tile regions, copies and collectives
  /// (check_gpu_groups() checks which) of any region. If a class has queues, its threads other than 0 run nothing.
  /// Returns false if everything is on thread 0 and nothing waits.
  bool check_places() const {
    bool several = false;
    for (std::uint32_t r = 0; r < class_.regions.size(); ++r) {
      const Range range = class_.regions[r].instructions;
      for (const std::uint32_t k : range) {
        const Instruction& i = class_.instructions[k];
        several = several || i.strand != 0 || i.waits.count > 0;
        const bool simple = i.what == Opcode::kernel || i.what == Opcode::copy;
        const bool in_tile = class_.regions[r].kind == Region::Kind::tile;
        const bool meets = i.what == Opcode::collective || i.what == Opcode::collective_wait;
        const bool free = class_.on_queue(i) ? simple || meets || i.what == Opcode::tiles
                                             : r == 1 && (simple || i.what == Opcode::tiles) && class_.queues.empty();
        if (i.strand != 0 && !free)
          reject(describe(plan_, i) + " is on " + strand_name(i.strand) + ", where only thread 0 may run it");
        if ((r != 1 && class_.queues.empty()) || in_tile)
          if (i.waits.count > 0) reject(describe(plan_, i) + " waits for a strand outside of the step");
      }
    }
    return several;
  }

  [[nodiscard]] std::string strand_name(StrandId strand) const {
    return strand < class_.threads ? "thread " + std::to_string(strand)
                                   : "queue " + std::to_string(strand - class_.threads);
  }

  void walk(RegionId region) {
    clocks_.assign(class_.strands(), std::vector<std::uint32_t>(class_.strands(), 0));
    clock_history_.assign(class_.strands(), {});
    counts_.assign(class_.strands(), 0);
    memory_.assign(2 * class_.devices.size(), {});
    const Range range = class_.regions[region].instructions;
    for (const std::uint32_t k : range) run(class_.instructions[k]);
    for (std::uint32_t queue = class_.threads; queue < class_.strands(); ++queue)
      if (clocks_[0][queue] < counts_[queue])
        reject("a region ends, and thread 0 has not waited for " + strand_name(queue) + " to end; its last work is " +
               describe(plan_, *last_of(range, queue)));
  }

  [[nodiscard]] const Instruction* last_of(Range range, StrandId strand) const {
    std::uint32_t at = range.first + range.count - 1;
    while (class_.instructions[at].strand != strand) --at;
    return &class_.instructions[at];
  }

  void run(const Instruction& i) {
    std::vector<std::uint32_t>& mine = clocks_[i.strand];
    if (class_.on_queue(i)) merge_clock(mine, clocks_[0].data());  // thread 0 submits it, after all events in its clock
    for (const std::uint32_t w : i.waits) {
      const Wait& wait = class_.waits[w];
      if (wait.strand == i.strand || wait.count > counts_[wait.strand])
        reject(describe(plan_, i) + " on " + strand_name(i.strand) + " waits for instruction " +
               std::to_string(wait.count) + " of " + strand_name(wait.strand) +
               ", which comes after it: they would wait for ever");
      if (class_.on_queue(i) && wait.strand < class_.threads)
        reject(describe(plan_, i) + " on " + strand_name(i.strand) + " waits for a thread: queues wait for queues");
      if (wait.count == 0) continue;
      merge_clock(mine, clock_history_[wait.strand].data() + (wait.count - 1) * mine.size());
    }
    mine[i.strand] = ++counts_[i.strand];
    touch(i, {i.strand, mine[i.strand], &i});
    clock_history_[i.strand].insert(clock_history_[i.strand].end(), mine.begin(), mine.end());
  }

  static void merge_clock(std::vector<std::uint32_t>& mine, const std::uint32_t* theirs) {
    for (std::size_t s = 0; s < mine.size(); ++s) mine[s] = std::max(mine[s], theirs[s]);
  }

  /// Records all reads and writes of the instruction, including the reads and writes in the regions of a loop or
  /// branch.
  void touch(const Instruction& i, const Moment& now) {
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) access(class_.inputs(i)[k], false, i, now);
    for (std::uint32_t k = 0; k < i.outputs.count; ++k) access(class_.outputs(i)[k], true, i, now);
    if (i.scratch != kNone) access(i.scratch, true, i, now);
    if (i.what != Opcode::loop && i.what != Opcode::branch) return;
    for (const RegionId region : {i.region(), i.other_region()}) {
      const Range range = class_.regions[region].instructions;
      for (const std::uint32_t k : range) touch(class_.instructions[k], now);
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
      AccessedBytes& touched = at->second;
      check_order(touched.writer, id, i, now);
      if (writes) {
        for (const Moment& reader : touched.readers) check_order(reader, id, i, now);
        touched.writer = now;
        touched.readers.clear();
        continue;
      }
      const auto before = std::find_if(touched.readers.begin(), touched.readers.end(),
                                       [&](const Moment& reader) { return reader.strand == now.strand; });
      if (before == touched.readers.end())
        touched.readers.push_back(now);
      else
        *before = now;
    }
  }

  /// Splits and adds ranges so that [begin, end) is a union of whole ranges.
  static void cover(std::map<std::uint64_t, AccessedBytes>& bytes, std::uint64_t begin, std::uint64_t end) {
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

  static void cut(std::map<std::uint64_t, AccessedBytes>& bytes, std::uint64_t at) {
    auto range = bytes.upper_bound(at);
    if (range == bytes.begin()) return;
    --range;
    if (range->first == at || range->second.end <= at) return;
    AccessedBytes rest = range->second;
    range->second.end = at;
    bytes.emplace(at, std::move(rest));
  }

  void check_order(const Moment& earlier, BufferId buffer, const Instruction& i, const Moment& now) const {
    if (earlier.instruction == nullptr || clocks_[now.strand][earlier.strand] >= earlier.count) return;
    const std::string_view name = plan_.string(class_.buffers[buffer].name);
    reject(describe(plan_, *earlier.instruction) + " on " + strand_name(earlier.strand) + " and " + describe(plan_, i) +
           " on " + strand_name(now.strand) + " race for buffer " + std::to_string(buffer) +
           (name.empty() ? "" : " (" + std::string(name) + ")") + ": no wait orders them");
  }

  const Plan& plan_;
  const PlanClass& class_;
  std::vector<std::vector<std::uint32_t>> clocks_;         // by strand: its vector clock now
  std::vector<std::vector<std::uint32_t>> clock_history_;  // by strand: its clocks after each instruction, concatenated
  std::vector<std::uint32_t> counts_;                      // by strand: the number of its instructions so far
  std::vector<std::map<std::uint64_t, AccessedBytes>> memory_;  // by arena: step and state of each device
};

}  // namespace

bool check_threads(const Plan& plan) {
  bool several = false;
  for (const PlanClass& plan_class : plan.classes) several = Strands(plan, plan_class).check() || several;
  return several;
}

}  // namespace ferry::verifier
