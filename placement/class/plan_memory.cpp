#include "placement/class/plan_memory.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>

#include "base/error.hpp"
#include "placement/class/lifetimes.hpp"
#include "placement/class/pack.hpp"
#include "placement/class/strand_clocks.hpp"

namespace ferry {
namespace {

/// The most buffers of a device that are placed by size, because packing takes quadratic time.
constexpr std::size_t kPacked = 6000;

/// Free ranges of one arena.
class Arena {
 public:
  std::uint64_t allocate(std::uint64_t bytes) {
    auto best = by_size_.lower_bound(bytes);
    if (best == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *best;
    by_size_.erase(best);
    free_.erase(offset);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void deallocate(std::uint64_t offset, std::uint64_t bytes) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = remove(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before);
      }
    }
    insert(offset, bytes);
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Sets the size; no allocate() may follow.
  void shrink(std::uint64_t bytes) { size_ = bytes; }

 private:
  using Free = std::map<std::uint64_t, std::uint64_t>;

  std::uint64_t grow(std::uint64_t bytes) {
    std::uint64_t offset = size_;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == size_) {  // the free range at the arena's end is extended
        offset = last->first;
        remove(last);
      }
    }
    size_ = offset + bytes;
    return offset;
  }

  void insert(std::uint64_t offset, std::uint64_t bytes) {
    free_[offset] = bytes;
    by_size_.emplace(bytes, offset);
  }

  Free::iterator remove(Free::iterator at) {
    auto [first, last] = by_size_.equal_range(at->second);
    while (first != last && first->second != at->first) ++first;
    by_size_.erase(first);
    return free_.erase(at);
  }

  Free free_;                                            // offset -> bytes
  std::multimap<std::uint64_t, std::uint64_t> by_size_;  // bytes -> offset
  std::uint64_t size_ = 0;
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(PlanClass& plan) : plan_(plan), lifetimes_(plan), strands_(lifetimes_.strands()) {}

  void run() {
    if (strands_ > 1) clock_strands();
    for (PlanDevice& device : plan_.devices) device.step_bytes = device.state_bytes = 0;
    place_state();
    find_heirs();
    place_step();
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
      if (is_root(b)) continue;
      const Buffer& root = plan_.buffers[storage_of(plan_, b)];
      plan_.buffers[b].offset += root.offset;
      plan_.buffers[b].space = root.space;
    }
  }

 private:
  static std::uint64_t padded(const Buffer& buffer) {
    const std::uint64_t header = buffer.bounded ? kBufferAlign : 0;
    return header + std::max<std::uint64_t>((buffer.bytes + kBufferAlign - 1) / kBufferAlign, 1) * kBufferAlign;
  }
  static std::uint64_t header(const Buffer& buffer) { return buffer.bounded ? kBufferAlign : 0; }

  bool is_root(std::uint32_t b) const { return storage_of(plan_, b) == b; }
  /// Whether the buffer is not just a part of another buffer.
  bool is_whole(std::uint32_t b) const { return plan_.buffers[b].bytes == plan_.buffers[storage_of(plan_, b)].bytes; }

  void place_state() {
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
      Buffer& buffer = plan_.buffers[b];
      if (!is_root(b)) continue;
      if (lifetimes_.kept(b)) buffer.space = Buffer::Space::state;
      if (!lifetimes_[b].touched() && buffer.space == Buffer::Space::step) buffer.space = Buffer::Space::none;
      if (buffer.space != Buffer::Space::state) continue;
      std::uint64_t& end = plan_.devices[buffer.device].state_bytes;
      buffer.offset = end + header(buffer);
      end += padded(buffer);
    }
  }

  /// Sets heir_[a] = b if b reuses the bytes of a: the last instruction that reads a makes b and may write it in place.
  void find_heirs() {
    heir_.assign(plan_.buffers.size(), kNone);
    inherits_.assign(plan_.buffers.size(), false);
    for (const Region& region : plan_.regions)
      for (std::uint32_t k = 0; k < region.instructions.count && region.kind != Region::Kind::tile; ++k)
        find_heirs(region.instructions[k]);
  }

  void find_heirs(std::uint32_t i) {
    const Instruction& instruction = plan_.instructions[i];
    if (instruction.what == Opcode::collective_wait || (instruction.what != Opcode::tiles && instruction.in_place == 0))
      return;
    for (std::uint32_t o = 0; o < instruction.outputs.count; ++o) {
      const std::uint32_t out = storage_of(plan_, plan_.outputs(instruction)[o]);
      if (lifetimes_[out].first != lifetimes_.position(i) || inherits_[out]) continue;
      if (!is_whole(plan_.outputs(instruction)[o])) continue;
      for (std::uint32_t k = 0; k < instruction.inputs.count; ++k) {
        if (!is_whole(plan_.inputs(instruction)[k])) continue;
        const std::uint32_t in = storage_of(plan_, plan_.inputs(instruction)[k]);
        if (!may_overwrite_input(instruction, o, k) || !is_last_in(i, in) || !may_inherit(in, out) ||
            !others_done(in, i))
          continue;
        heir_[in] = out;
        inherits_[out] = true;
        break;
      }
    }
  }

  /// Whether the instruction reads input k before it writes output o over the same bytes: all of the input first, or
  /// each element before it writes that element.
  /// False for an epilogue: its first kernel needs all of its inputs while the other kernels write. In a tile region
  /// with rows, false for values with fewer elements, which other rows may need.
  bool may_overwrite_input(const Instruction& instruction, std::uint32_t o, std::uint32_t k) const {
    if (instruction.what == Opcode::tiles && instruction.tile_elements() == 0) return false;
    const std::uint32_t out = plan_.outputs(instruction)[o];
    const std::uint32_t in = plan_.inputs(instruction)[k];
    if (instruction.what != Opcode::tiles) return o == 0 && reads_in_place(instruction, storage_of(plan_, in));
    if (size_of(plan_.buffers[in].dtype) != size_of(plan_.buffers[out].dtype)) return false;
    const Range members = plan_.regions[instruction.region()].instructions;
    if (elements_of(plan_.buffers[out]) != tiled_elements(plan_, instruction)) return false;
    bool written = false, free = true;
    for (const std::uint32_t m : members) {
      const Instruction& member = plan_.instructions[m];
      const bool writes = plan_.outputs(member)[0] == out;
      written = written || writes;
      if (!written) continue;
      free = free && (writes ? reads_in_place(member, storage_of(plan_, in)) : !reads(member, storage_of(plan_, in)));
    }
    return written && free;
  }
  /// Whether the kernel reads the storage only as a whole, and only by inputs over which it may write its output.
  bool reads_in_place(const Instruction& kernel, std::uint32_t storage) const {
    for (std::uint32_t k = 0; k < kernel.inputs.count; ++k) {
      const std::uint32_t in = plan_.inputs(kernel)[k];
      if (storage_of(plan_, in) != storage) continue;
      if (!is_whole(in) || !may_overwrite(kernel, k)) return false;
    }
    return true;
  }
  bool reads(const Instruction& kernel, std::uint32_t storage) const { return is_among(kernel.inputs, storage); }
  bool touches(const Instruction& instruction, std::uint32_t storage) const {
    return is_among(instruction.inputs, storage) || is_among(instruction.outputs, storage);
  }
  bool is_among(Range operands, std::uint32_t storage) const {
    for (const BufferId b : plan_.operands_of(operands))
      if (storage_of(plan_, b) == storage) return true;
    return false;
  }

  bool may_inherit(std::uint32_t in, std::uint32_t out) const {
    const Buffer& a = plan_.buffers[in];
    const Buffer& b = plan_.buffers[out];
    return in != out && heir_[in] == kNone && a.space == Buffer::Space::step && b.space == Buffer::Space::step &&
           a.device == b.device && a.bytes == b.bytes && !a.bounded && !b.bounded;
  }

  /// Whether nothing touches the buffer after instruction i; after a collective, nothing except its wait.
  bool is_last_in(std::uint32_t i, BufferId buffer) const {
    const Instruction& instruction = plan_.instructions[i];
    if (instruction.what != Opcode::collective) return lifetimes_[buffer].last == lifetimes_.position(i);
    for (std::uint32_t next = i + 1; lifetimes_.position(next) <= lifetimes_[buffer].last; ++next) {
      const Instruction& later = plan_.instructions[next];
      if (later.what == Opcode::collective_wait && later.collective() == instruction.collective())
        return lifetimes_[buffer].last == lifetimes_.position(next);
      if (later.what == Opcode::loop || later.what == Opcode::branch || touches(later, buffer)) return false;
    }
    return false;
  }

  // ---- Strands: what has happened before an instruction ----

  void clock_strands() {
    clocks_.emplace(plan_);
    const Range step = plan_.regions[1].instructions;
    at_position_.reserve(step.count);
    ends_.resize(strands_);
    for (std::uint32_t i = 0; i < step.count; ++i) {
      at_position_.push_back(lifetimes_.position(step[i]));
      ends_[clocks_->strand(i)].push_back(lifetimes_.end_of(step[i]));
    }
  }

  /// The position that strand `other` has certainly reached when the step's instruction i begins; 0: none.
  [[nodiscard]] std::uint32_t reached(std::uint32_t i, std::uint32_t other) const {
    const std::uint32_t known = clocks_->known(clocks_->strand(i), clocks_->count(i), other);
    return known == 0 ? 0 : ends_[other][known - 1];
  }

  /// The index, in the step's own list, of the instruction that contains a position; kNone in the setup.
  [[nodiscard]] std::uint32_t instruction_at(std::uint32_t position) const {
    const auto after = std::upper_bound(at_position_.begin(), at_position_.end(), position);
    return after == at_position_.begin() ? kNone : static_cast<std::uint32_t>(after - at_position_.begin()) - 1;
  }

  /// Whether no other strand uses the buffer any more when the instruction begins.
  [[nodiscard]] bool others_done(BufferId buffer, std::uint32_t instruction) const {
    if (strands_ == 1) return true;
    const std::uint32_t i = instruction_at(lifetimes_.position(instruction));
    for (std::uint32_t t = 0; i != kNone && t < strands_; ++t)
      if (t != clocks_->strand(i) && lifetimes_.last_on(buffer, t) > reached(i, t)) return false;
    return true;
  }

  // ---- The step's arena ----

  /// Each strand has a part of the arena for the buffers that it touches first. In this part, it reuses the bytes of
  /// buffers that no strand uses any more.
  void place_step() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b)
      if (is_root(b) && plan_.buffers[b].space == Buffer::Space::step && lifetimes_[b].touched()) order.push_back(b);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return lifetimes_[a].first < lifetimes_[b].first; });
    arenas_.resize(plan_.devices.size() * strands_);
    ending_.resize(strands_ * strands_);
    home_.assign(plan_.buffers.size(), 0);
    std::vector<std::uint32_t> turn(plan_.buffers.size());
    for (std::uint32_t k = 0; k < order.size(); ++k) turn[order[k]] = k;
    for (std::uint32_t b : order) {
      if (inherits_[b]) continue;  // placed together with the buffer that it shares bytes with
      const std::uint32_t i = strands_ == 1 ? kNone : instruction_at(lifetimes_[b].first);
      const StrandId home = i == kNone ? StrandId(0) : clocks_->strand(i);
      release(home, lifetimes_[b].first, i);
      Buffer& buffer = plan_.buffers[b];
      buffer.offset = arena(buffer, home).allocate(padded(buffer)) + header(buffer);
      std::uint32_t tail = b;
      home_[b] = home;
      for (std::uint32_t heir = heir_[b]; heir != kNone; tail = heir, heir = heir_[heir]) {
        plan_.buffers[heir].offset = buffer.offset;
        home_[heir] = home;
      }
      ending_[home * strands_ + home].push({lifetimes_.last_on(tail, home), turn[tail], tail});
    }
    if (strands_ == 1) pack_devices(order);
    join_arenas(order);
  }

  /// Places the buffers of a device again by size if the placement in order of first touch takes more bytes than are
  /// ever live at once, and there are not too many buffers. In order of first touch, large buffers find only the gaps
  /// between small ones.
  void pack_devices(const std::vector<std::uint32_t>& order) {
    for (std::uint32_t device = 0; device < plan_.devices.size(); ++device) {
      std::vector<std::uint32_t> heads;
      std::vector<LiveRange> ranges;
      for (std::uint32_t b : order) {
        if (inherits_[b] || plan_.buffers[b].device != device) continue;
        heads.push_back(b);
        std::uint32_t tail = b;
        while (heir_[tail] != kNone) tail = heir_[tail];
        ranges.push_back({lifetimes_[b].first, lifetimes_[tail].last, padded(plan_.buffers[b])});
      }
      if (ranges.size() > kPacked || max_live_bytes(ranges) == arenas_[device].size()) continue;
      const std::uint64_t bytes = pack(ranges);
      if (bytes >= arenas_[device].size()) continue;
      arenas_[device].shrink(bytes);
      for (std::size_t i = 0; i < heads.size(); ++i)
        for (std::uint32_t b = heads[i]; b != kNone; b = heir_[b])
          plan_.buffers[b].offset = ranges[i].offset + header(plan_.buffers[b]);
    }
  }

  /// Frees the bytes of buffers that no strand uses any more when the step's instruction `i` begins, at `position`. A
  /// buffer moves from the list of one strand to the list of the next until its use has ended on all strands.
  void release(std::uint32_t home, std::uint32_t position, std::uint32_t i) {
    for (std::uint32_t k = 0; k < strands_; ++k) {
      const std::uint32_t t = k == 0 ? home : k <= home ? k - 1 : k;  // its own strand first
      auto& ending = ending_[home * strands_ + t];
      if (ending.empty()) continue;
      const std::uint32_t end = t == home ? position : i == kNone ? 0 : reached(i, t) + 1;
      for (; !ending.empty() && ending.top().last < end; ending.pop()) {
        const Ending& ended = ending.top();
        if (k + 1 < strands_) {
          const std::uint32_t next = k + 1 <= home ? k : k + 1;
          ending_[home * strands_ + next].push({lifetimes_.last_on(ended.buffer, next), ended.turn, ended.buffer});
        } else {
          const Buffer& buffer = plan_.buffers[ended.buffer];
          arena(buffer, home).deallocate(buffer.offset - header(buffer), padded(buffer));
        }
      }
    }
  }

  Arena& arena(const Buffer& buffer, std::uint32_t home) { return arenas_[buffer.device * strands_ + home]; }

  /// Puts the strands' parts of each device's arena one after another.
  void join_arenas(const std::vector<std::uint32_t>& placed) {
    std::vector<std::uint64_t> begins(arenas_.size());
    for (std::size_t a = 0; a < arenas_.size(); ++a) {
      std::uint64_t& bytes = plan_.devices[a / strands_].step_bytes;
      begins[a] = bytes;
      bytes += arenas_[a].size();
    }
    for (std::uint32_t b : placed) plan_.buffers[b].offset += begins[plan_.buffers[b].device * strands_ + home_[b]];
  }

  /// A buffer that a strand touches last at `last`. Buffers that end together are in the order in which they began.
  struct Ending {
    std::uint32_t last, turn, buffer;
    bool operator<(const Ending& other) const {
      return last != other.last ? last > other.last : turn > other.turn;  // the first to end is on top of the queue
    }
  };

  PlanClass& plan_;
  Lifetimes lifetimes_;
  const std::uint32_t strands_;
  std::vector<std::uint32_t> heir_;
  std::vector<bool> inherits_;
  std::optional<StrandClocks> clocks_;
  std::vector<std::uint32_t> at_position_;           // of each instruction of the step
  std::vector<std::vector<std::uint32_t>> ends_;     // of each strand's instructions
  std::vector<Arena> arenas_;                        // of each device and strand
  std::vector<std::priority_queue<Ending>> ending_;  // by home and strand: buffers that may still be in use there
  std::vector<std::uint32_t> home_;                  // by buffer: the strand with the part that contains it
};

}  // namespace

void plan_memory(ClassPlan& plan) {
  MemoryPlanner(plan.role).run();
}

}  // namespace ferry
