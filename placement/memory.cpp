#include "placement/memory.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace ferry {
namespace {

constexpr std::uint32_t kNever = 0xffffffffU;

/// Where a region stands: its owner's position, its nesting.
struct Place {
  std::uint32_t parent = kNone;
  std::uint32_t depth = 0;
  std::uint32_t begin = 0, end = 0;  ///< positions of its owner and of its end
};

struct Lifetime {
  std::uint32_t first = kNever, last = 0;
  std::uint32_t region = kNone;  ///< the innermost region that holds all touches
  bool in_setup = false, in_step = false;
};

class Lifetimes {
 public:
  explicit Lifetimes(const PlanClass& plan)
      : plan_(plan), all_(plan.buffers.size()), places_(plan.regions.size()), position_(plan.instructions.size()) {}

  const std::vector<Lifetime>& find() {
    for (std::uint32_t region : {0U, 1U}) number(region, kNone, 0);
    for (std::uint32_t region : {0U, 1U}) touch_region(region, region == 0);
    for (std::uint32_t region : {0U, 1U}) extend_region(region);
    return all_;
  }
  [[nodiscard]] std::uint32_t position(std::uint32_t instruction) const { return position_[instruction]; }

 private:
  template <class F>
  void each_nested(const Instruction& instruction, F f) {
    if (instruction.what != Do::loop && instruction.what != Do::branch) return;
    f(instruction.target);
    f(instruction.other);
  }

  template <class F>
  void each_instruction(std::uint32_t region, F f) {
    const Range range = plan_.regions[region].instructions;
    for (std::uint32_t i = range.begin; i < range.begin + range.count; ++i) f(i, plan_.instructions[i]);
  }

  template <class F>
  void each_operand(const Instruction& instruction, F f) {
    for (const Range range : {instruction.inputs, instruction.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) f(storage_of(plan_, plan_.operands[range.begin + k]));
    if (instruction.scratch != kNone) f(instruction.scratch);
  }

  void number(std::uint32_t region, std::uint32_t parent, std::uint32_t depth) {
    places_[region] = {parent, depth, next_, next_};
    each_instruction(region, [&](std::uint32_t i, const Instruction& instruction) {
      position_[i] = next_++;
      each_nested(instruction, [&](std::uint32_t nested) { number(nested, region, depth + 1); });
    });
    places_[region].end = next_++;
  }

  void touch_region(std::uint32_t region, bool setup) {
    each_instruction(region, [&](std::uint32_t, const Instruction& instruction) {
      each_operand(instruction, [&](std::uint32_t buffer) {
        Lifetime& life = all_[buffer];
        life.region = life.region == kNone ? region : common(life.region, region);
        (setup ? life.in_setup : life.in_step) = true;
      });
      each_nested(instruction, [&](std::uint32_t nested) { touch_region(nested, setup); });
    });
  }

  std::uint32_t common(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      std::uint32_t& deeper = places_[a].depth >= places_[b].depth ? a : b;
      if (places_[deeper].parent == kNone) return a < b ? a : b;  // setup and step: the buffer will be state
      deeper = places_[deeper].parent;
    }
    return a;
  }

  void extend_region(std::uint32_t region) {
    each_instruction(region, [&](std::uint32_t i, const Instruction& instruction) {
      each_operand(instruction, [&](std::uint32_t buffer) { extend(all_[buffer], region, position_[i]); });
      each_nested(instruction, [&](std::uint32_t nested) { extend_region(nested); });
    });
  }

  /// A touch in a region inside the buffer's own counts as a touch of that whole region: it may be repeated.
  void extend(Lifetime& life, std::uint32_t region, std::uint32_t position) {
    std::uint32_t first = position, last = position;
    while (region != life.region && region != kNone) {
      first = places_[region].begin;
      last = places_[region].end;
      region = places_[region].parent;
    }
    life.first = std::min(life.first, first);
    life.last = std::max(life.last, last);
  }

  const PlanClass& plan_;
  std::vector<Lifetime> all_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> position_;
  std::uint32_t next_ = 0;
};

/// Free ranges of one arena.
class Arena {
 public:
  std::uint64_t take(std::uint64_t bytes) {
    auto best = by_size_.lower_bound(bytes);
    if (best == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *best;
    by_size_.erase(best);
    free_.erase(offset);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void give(std::uint64_t offset, std::uint64_t bytes) {
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

 private:
  using Free = std::map<std::uint64_t, std::uint64_t>;

  std::uint64_t grow(std::uint64_t bytes) {
    std::uint64_t offset = size_;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == size_) {  // the free end of the arena counts
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
  explicit MemoryPlanner(PlanClass& plan) : plan_(plan), lifetimes_(plan) {}

  void run() {
    lives_ = lifetimes_.find();
    for (PlanDevice& device : plan_.devices) device.step_bytes = device.state_bytes = 0;
    place_state();
    find_heirs();
    place_step();
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& root = plan_.buffers[storage_of(plan_, b)];
      plan_.buffers[b].offset = root.offset;
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

  void place_state() {
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
      Buffer& buffer = plan_.buffers[b];
      if (!is_root(b)) continue;
      if (lives_[b].in_setup && lives_[b].in_step) buffer.space = Buffer::Space::state;
      if (lives_[b].first == kNever && buffer.space == Buffer::Space::step) buffer.space = Buffer::Space::none;
      if (buffer.space != Buffer::Space::state) continue;
      std::uint64_t& end = plan_.devices[buffer.device].state_bytes;
      buffer.offset = end + header(buffer);
      end += padded(buffer);
    }
  }

  /// heir_[a] = b: b takes a's bytes in the instruction that reads a last and may write in place.
  void find_heirs() {
    heir_.assign(plan_.buffers.size(), kNone);
    inherits_.assign(plan_.buffers.size(), false);
    for (std::uint32_t i = 0; i < plan_.instructions.size(); ++i) {
      const Instruction& instruction = plan_.instructions[i];
      if (instruction.in_place == 0 || instruction.outputs.count == 0) continue;
      const std::uint32_t out = storage_of(plan_, plan_.operands[instruction.outputs.begin]);
      if (lives_[out].first != lifetimes_.position(i) || inherits_[out]) continue;
      for (std::uint32_t k = 0; k < instruction.inputs.count && k < 32; ++k) {
        if ((instruction.in_place >> k & 1U) == 0) continue;
        const std::uint32_t in = storage_of(plan_, plan_.operands[instruction.inputs.begin + k]);
        if (!may_inherit(in, out, lifetimes_.position(i))) continue;
        heir_[in] = out;
        inherits_[out] = true;
        break;
      }
    }
  }

  bool may_inherit(std::uint32_t in, std::uint32_t out, std::uint32_t position) const {
    const Buffer& a = plan_.buffers[in];
    const Buffer& b = plan_.buffers[out];
    return in != out && heir_[in] == kNone && lives_[in].last == position && a.space == Buffer::Space::step &&
           b.space == Buffer::Space::step && a.device == b.device && a.bytes == b.bytes && !a.bounded && !b.bounded;
  }

  void place_step() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b)
      if (is_root(b) && plan_.buffers[b].space == Buffer::Space::step && lives_[b].first != kNever) order.push_back(b);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return lives_[a].first < lives_[b].first; });
    std::vector<std::uint32_t> by_end = order;
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return lives_[a].last < lives_[b].last; });
    std::vector<Arena> arenas(plan_.devices.size());
    std::size_t ended = 0;
    for (std::uint32_t b : order) {
      for (; ended < by_end.size() && lives_[by_end[ended]].last < lives_[b].first; ++ended)
        release(arenas, by_end[ended]);
      Buffer& buffer = plan_.buffers[b];
      if (inherits_[b]) continue;  // placed together with the buffer whose bytes it takes
      buffer.offset = arenas[buffer.device].take(padded(buffer)) + header(buffer);
      for (std::uint32_t heir = heir_[b]; heir != kNone; heir = heir_[heir]) plan_.buffers[heir].offset = buffer.offset;
    }
    for (std::size_t d = 0; d < arenas.size(); ++d) plan_.devices[d].step_bytes = arenas[d].size();
  }

  void release(std::vector<Arena>& arenas, std::uint32_t b) {
    const Buffer& buffer = plan_.buffers[b];
    if (heir_[b] == kNone) arenas[buffer.device].give(buffer.offset - header(buffer), padded(buffer));
  }

  PlanClass& plan_;
  Lifetimes lifetimes_;
  std::vector<Lifetime> lives_;
  std::vector<std::uint32_t> heir_;
  std::vector<bool> inherits_;
};

}  // namespace

void plan_memory(PlanClass& plan) {
  MemoryPlanner(plan).run();
}

}  // namespace ferry
