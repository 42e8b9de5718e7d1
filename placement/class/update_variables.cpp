#include "placement/class/update_variables.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace ferry {
namespace {

class Updater {
 public:
  explicit Updater(ClassPlan& plan)
      : plan_(plan.role), step_(plan.list(1)), updates_(std::exchange(plan.updates, {})) {}

  void run() {
    if (updates_.empty()) return;
    find_uses();
    for (VariableUpdate& update : updates_) {
      if (!is_state(update.value) || update.value == update.variable) continue;
      const std::uint32_t kept = add_copy_of(update.value);
      push(update.instruction, update.value, kept);
      update.value = kept;
    }
    for (VariableUpdate& update : updates_) {
      update.value = named(update.value);
      if (update.value != update.variable && !write_in_place(update))
        push(update.instruction, update.value, update.variable);
    }
    if (renamed_.empty()) return;
    for (BufferId& operand : plan_.operands) operand = named(operand);
  }

 private:
  /// The uses of a buffer's bytes in the step.
  struct Uses {
    std::uint32_t maker = kNone, last = kNone;  ///< positions in the step: of the last write, of the last touch
    bool viewed = false;
  };

  void find_uses() {
    uses_.resize(plan_.buffers.size());
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b)
      if (storage_of(plan_, b) != b) uses_[storage_of(plan_, b)].viewed = true;
    for (std::uint32_t i = 0; i < step_.size(); ++i) record_uses(i);
  }

  void record_uses(std::uint32_t position) {
    const Instruction& instruction = step_[position];
    if (instruction.what == Opcode::loop || instruction.what == Opcode::branch) last_control_ = position;
    for (std::uint32_t k = 0; k < instruction.inputs.count; ++k) uses(operand(instruction.inputs, k)).last = position;
    for (std::uint32_t k = 0; k < instruction.outputs.count; ++k) {
      Uses& used = uses(operand(instruction.outputs, k));
      used.maker = used.last = position;
    }
  }

  /// Lets the kernel that makes the new value write it into the variable. Returns false if this is not possible: the
  /// variable is used after the kernel, a loop or branch follows the kernel, the kernel reads the variable and may not
  /// overwrite it, or the value does not have its own bytes.
  bool write_in_place(const VariableUpdate& update) {
    if (is_state(update.value) || storage_of(plan_, update.value) != update.value) return false;
    if (plan_.buffers[update.value].device != plan_.buffers[update.variable].device) return false;
    const Uses value = uses_[update.value];
    if (value.viewed || value.maker == kNone) return false;
    const Instruction& maker = step_[value.maker];
    if (maker.what != Opcode::kernel || maker.outputs.count != 1) return false;
    for (std::uint32_t k = 0; k < maker.inputs.count; ++k)
      if (storage_of(plan_, operand(maker.inputs, k)) == update.variable && !may_overwrite(maker, k)) return false;
    if (last_control_ != kNone && last_control_ > value.maker) return false;
    Uses& variable = uses_[update.variable];
    if (variable.last != kNone && variable.last > value.maker) return false;
    variable.maker = value.maker;
    variable.last = value.last;
    renamed_.emplace(update.value, update.variable);
    return true;
  }

  [[nodiscard]] BufferId named(BufferId buffer) const {
    const auto found = renamed_.find(buffer);
    return found == renamed_.end() ? buffer : found->second;
  }
  [[nodiscard]] std::uint32_t operand(Range range, std::uint32_t k) const { return named(plan_.operands[range[k]]); }
  Uses& uses(BufferId buffer) { return uses_[storage_of(plan_, buffer)]; }
  [[nodiscard]] bool is_state(BufferId buffer) const {
    return plan_.buffers[storage_of(plan_, buffer)].space == Buffer::Space::state;
  }

  /// Adds a buffer like `other`, with its own bytes.
  std::uint32_t add_copy_of(std::uint32_t other) {
    Buffer buffer = plan_.buffers[other];
    buffer.space = Buffer::Space::step;
    buffer.view_of = kNone;
    buffer.offset = 0;
    plan_.buffers.push_back(std::move(buffer));
    uses_.emplace_back();
    return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
  }

  void push(Instruction copy, std::uint32_t from, std::uint32_t to) {
    const auto at = static_cast<std::uint32_t>(plan_.operands.size());
    plan_.operands.insert(plan_.operands.end(), {from, to});
    copy.inputs = {at, 1};
    copy.outputs = {at + 1, 1};
    step_.push_back(copy);
    record_uses(static_cast<std::uint32_t>(step_.size() - 1));
  }

  PlanClass& plan_;
  std::vector<Instruction>& step_;
  std::vector<VariableUpdate> updates_;
  std::vector<Uses> uses_;  // of each buffer
  std::uint32_t last_control_ = kNone;
  std::unordered_map<BufferId, BufferId> renamed_;  // from values to variables; variables are not renamed
};

/// Removes copies at the end of loop bodies: the kernel that makes the next value of a carried value writes over the
/// carried value.
class CarriedValues {
 public:
  explicit CarriedValues(ClassPlan& plan) : class_(plan), plan_(plan.role), touches_(count_touches(plan)) {}

  void run() {
    for (RegionId region = 2; region < class_.regions(); ++region)
      if (plan_.regions[region].kind == Region::Kind::body) update(class_.list(region));
  }

 private:
  void update(std::vector<Instruction>& body) {
    for (std::size_t at = body.size(); at-- > 0 && body[at].what == Opcode::copy;)
      if (write_in_place(body, at)) body.erase(body.begin() + static_cast<std::ptrdiff_t>(at));
  }

  /// Lets the kernel that makes the input of copy `at` write it into the copy's output. It does this only for kernels
  /// that change some elements of a value, because copying all elements would take longer. Elementwise kernels may
  /// become tiles instead.
  bool write_in_place(std::vector<Instruction>& body, std::size_t at) {
    const std::uint32_t next = plan_.inputs(body[at])[0], carried = plan_.outputs(body[at])[0];
    if (!may_be(next, carried)) return false;
    const auto maker =
        std::find_if(body.begin(), body.end(), [&](const Instruction& i) { return is_among(i.outputs, next); });
    if (maker == body.end() || !changes(*maker, carried)) return false;
    std::uint32_t touches = 0;
    for (auto i = body.begin(); i != body.end(); ++i) {
      for (const Range range : {i->inputs, i->outputs})
        for (const BufferId b : plan_.operands_of(range)) touches += b == next ? 1U : 0U;
      if (i <= maker || i == body.begin() + static_cast<std::ptrdiff_t>(at)) continue;
      if (i->what == Opcode::loop || i->what == Opcode::branch) return false;
      if (is_among(i->inputs, carried) || is_among(i->outputs, carried)) return false;
    }
    if (touches != touches_[next]) return false;  // it has views, or other instructions use it
    for (const Instruction& i : body)
      for (const Range range : {i.inputs, i.outputs})
        for (std::uint32_t k = 0; k < range.count; ++k)
          if (plan_.operands[range[k]] == next) plan_.operands[range[k]] = carried;
    return true;
  }

  /// Whether buffer `next` may have the bytes of `carried`.
  [[nodiscard]] bool may_be(std::uint32_t next, std::uint32_t carried) const {
    const Buffer& a = plan_.buffers[next];
    const Buffer& b = plan_.buffers[carried];
    return a.view_of == kNone && b.view_of == kNone && a.space == Buffer::Space::step && a.device == b.device &&
           a.bytes == b.bytes && !a.bounded && !b.bounded;
  }

  /// Whether `maker` is a kernel that reads the carried value and may write its output over it.
  [[nodiscard]] bool changes(const Instruction& maker, std::uint32_t carried) const {
    if (maker.what != Opcode::kernel || maker.outputs.count != 1 || class_.facts.elementwise.contains(maker.op))
      return false;
    bool reads = false;
    for (std::uint32_t k = 0; k < maker.inputs.count; ++k) {
      const std::uint32_t in = plan_.inputs(maker)[k];
      if (storage_of(plan_, in) != carried) continue;
      if (in != carried || !may_overwrite(maker, k)) return false;
      reads = true;
    }
    return reads;
  }

  [[nodiscard]] bool is_among(Range operands, std::uint32_t storage) const {
    const auto all = plan_.operands_of(operands);
    return std::any_of(all.begin(), all.end(), [&](std::uint32_t b) { return storage_of(plan_, b) == storage; });
  }

  ClassPlan& class_;
  PlanClass& plan_;
  const std::vector<std::uint32_t> touches_;  // by buffer; not updated when a carried value gets more
};

/// Marks the copies that may swap their buffers.
class CarriedSwaps {
 public:
  explicit CarriedSwaps(ClassPlan& plan)
      : role_(plan.role),
        smallest_(plan.facts.fuse_from > 0 ? std::min<std::int64_t>(kSmallest, plan.facts.fuse_from) : kSmallest),
        touches_(plan.role.buffers.size(), 0) {}

  void run() {
    if (!role_.queues.empty()) return;
    for (const Instruction& i : role_.instructions) each_own_operand(i, [&](std::uint32_t b) { ++touches_[b]; });
    for (const Instruction& i : role_.instructions)
      if (i.what == Opcode::loop) mark(i);
  }

 private:
  /// The fewest elements of a value that swaps, unless KernelFacts::fuse_from is lower. A smaller copy takes no time
  /// that one could measure.
  static constexpr std::int64_t kSmallest = 1024;

  [[nodiscard]] std::span<Instruction> list(RegionId region) {
    const Range range = role_.regions[region].instructions;
    return std::span(role_.instructions).subspan(range.first, range.count);
  }

  void mark(const Instruction& loop) {
    const std::span<Instruction> condition = list(loop.region()), body = list(loop.other_region());
    for (const std::span<Instruction> part : {condition, body})
      for (const Instruction& i : part)
        if (i.what == Opcode::loop || i.what == Opcode::branch) return;
    std::vector<std::uint32_t> later;  // the buffers that the copies after `at` touch
    for (std::size_t at = body.size(); at-- > 0 && body[at].what == Opcode::copy;) {
      Instruction& i = body[at];
      if (may_swap(i, condition, body, later)) i.other = Instruction::kSwap;
      each_operand(i, [&](std::uint32_t b) { later.push_back(b); });
    }
  }

  [[nodiscard]] bool may_swap(const Instruction& copy, std::span<const Instruction> condition,
                              std::span<const Instruction> body, const std::vector<std::uint32_t>& later) const {
    const std::uint32_t next = role_.inputs(copy)[0], carried = role_.outputs(copy)[0];
    const Buffer &a = role_.buffers[next], &b = role_.buffers[carried];
    if (next == carried || !is_plain(a) || !is_plain(b) || a.bytes != b.bytes || elements_of(a) < smallest_)
      return false;
    for (const std::uint32_t touched : later)
      if (touched == next || touched == carried) return false;
    std::uint32_t touches = 0;
    bool sums = false;
    for (const std::span<const Instruction> part : {condition, body})
      for (const Instruction& i : part)
        each_operand(i, [&](std::uint32_t touched) {
          touches += touched == next ? 1U : 0U;
          const bool collective = i.what == Opcode::collective || i.what == Opcode::collective_wait;
          sums = sums || (collective && (touched == next || touched == carried));
        });
    return !sums && touches == touches_[next];
  }

  /// Whether the buffer has bytes of its own in the step's memory of the host.
  [[nodiscard]] bool is_plain(const Buffer& buffer) const {
    return buffer.view_of == kNone && buffer.space == Buffer::Space::step && !buffer.bounded &&
           role_.devices[buffer.device].kind == DeviceKind::cpu;
  }

  /// Calls f for the storage of each operand, also of the kernels that run together.
  template <class F>
  void each_operand(const Instruction& i, const F& f) const {
    each_own_operand(i, f);
    if (i.what == Opcode::tiles || i.what == Opcode::stencil)
      for (const Instruction& member : role_.instructions_of(role_.regions[i.region()])) each_own_operand(member, f);
  }
  template <class F>
  void each_own_operand(const Instruction& i, const F& f) const {
    for (const Range range : {i.inputs, i.outputs})
      for (const BufferId b : role_.operands_of(range)) f(storage_of(role_, b));
  }

  PlanClass& role_;
  const std::int64_t smallest_;
  std::vector<std::uint32_t> touches_;  // by buffer: how often instructions of all regions touch its bytes
};

}  // namespace

void swap_carried(ClassPlan& plan) {
  CarriedSwaps(plan).run();
}

void update_variables(ClassPlan& plan) {
  Updater(plan).run();
  CarriedValues(plan).run();
}

}  // namespace ferry
