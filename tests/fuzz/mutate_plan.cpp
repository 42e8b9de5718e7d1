#include "tests/fuzz/mutate_plan.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/op_set.hpp"

namespace ferry::test {
namespace {

class PlanMutator {
 public:
  PlanMutator(Plan& plan, Dice& dice) : plan_(plan), dice_(dice) {}

  std::string run() {
    for (int changes = 1 + dice_.below(3); changes > 0; --changes) change();
    return std::move(done_);
  }

 private:
  void change() {
    class_ = &plan_.classes[dice_.below(plan_.classes.size())];
    const std::pair<int, void (PlanMutator::*)()> kinds[] = {
        {5, &PlanMutator::change_buffer},     {4, &PlanMutator::change_instruction}, {4, &PlanMutator::change_attrs},
        {3, &PlanMutator::change_operand},    {1, &PlanMutator::change_order},       {1, &PlanMutator::change_region},
        {1, &PlanMutator::change_collective}, {1, &PlanMutator::change_window},      {1, &PlanMutator::change_port},
        {1, &PlanMutator::change_class},      {1, &PlanMutator::change_topology},    {1, &PlanMutator::change_channel}};
    int all = 0;
    for (const auto& kind : kinds) all += kind.first;
    int drawn = dice_.below(all);
    for (const auto& [weight, f] : kinds)
      if ((drawn -= weight) < 0) return (this->*f)();
  }

  void note(std::string_view what) { done_.append(done_.empty() ? "" : ", ").append(what); }

  template <class T>
  [[nodiscard]] T& any(std::vector<T>& all) {
    return all[dice_.below(all.size())];
  }

  template <class Of>
  void number(Id<Of>& x, std::uint32_t other, std::string_view what) {
    std::uint32_t plain = x;
    number(plain, other, what);
    x = plain;
  }

  /// Changes a number: most often to `other`, which is the same field's elsewhere.
  template <std::integral T>
  void number(T& x, T other, std::string_view what) {
    note(what);
    constexpr int kBits = std::numeric_limits<T>::digits;
    switch (dice_.below(8)) {
      case 0:
        x = static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) + 1);
        return;
      case 1:
        x = static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) - 1);
        return;
      case 2:
        x = static_cast<T>(dice_.below(8));
        return;
      case 3:
        x = static_cast<T>(x ^ static_cast<T>(T{1} << dice_.below(kBits)));
        return;
      case 4:
        x = dice_.one_in(2) ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
        return;
      default:
        x = other;
    }
  }

  template <class Enum>
  void kind(Enum& x, int count, std::string_view what) {
    note(what);
    x = static_cast<Enum>(dice_.below(count));
  }

  void dtype(DType& x, std::string_view what) {
    note(what);
    const DType before = x;
    for (int tries = 0; tries < 8; ++tries) {
      x = kDTypes[dice_.below(std::size(kDTypes))];
      if (x != before && (size_of(x) == size_of(before) || dice_.one_in(4))) return;
    }
  }

  // ---- Buffers ----

  void change_buffer() {
    if (class_->buffers.empty()) return;
    Buffer& b = any(class_->buffers);
    const Buffer other = any(class_->buffers);
    switch (dice_.below(12)) {
      case 0:
        return kind(b.space, 4, "a buffer's space");
      case 1:
        dtype(b.dtype, "a buffer's dtype");
        return fit_bytes(b);
      case 2:
        note("a buffer's bound");
        b.bounded = !b.bounded;
        if (b.bounded && b.offset == 0) b.offset += kBufferAlign;
        return;
      case 3:
        return number(b.device, other.device, "a buffer's device");
      case 4:
        note("a buffer's place");
        if (dice_.one_in(3)) return number(b.offset, other.offset, "offset");
        b.offset = dice_.one_in(2) ? other.offset : b.offset + kBufferAlign;
        return;
      case 5:
        return number(b.bytes, other.bytes, "a buffer's bytes");
      case 6:
        return number(b.window, other.window, "a buffer's window");
      case 7:
        return number(b.view_of, other.view_of, "a view");
      case 8:
        return number(b.name, other.name, "a buffer's name");
      case 9:
        note("a buffer's type");
        b.dtype = other.dtype;
        b.sizes = other.sizes;
        b.bounded = other.bounded;
        b.bytes = other.bytes;
        return;
      default:
        change_sizes(b.sizes.own());
        return fit_bytes(b);
    }
  }

  static void fit_bytes(Buffer& b) {
    b.bytes = size_of(b.dtype);
    for (const std::int64_t size : b.sizes) b.bytes *= static_cast<std::uint64_t>(size);
  }

  void change_sizes(std::vector<std::int64_t>& sizes) {
    if (sizes.empty() || dice_.one_in(8)) {
      note("a dim more");
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dice_.below(sizes.size() + 1)), 1 + dice_.below(3));
      return;
    }
    const std::size_t d = dice_.below(sizes.size()), e = dice_.below(sizes.size());
    switch (dice_.below(5)) {
      case 0:
        note("dims exchanged");
        return std::swap(sizes[d], sizes[e]);
      case 1:
        note("dims joined");
        if (d == e) return;
        sizes[d] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(sizes[d]) * static_cast<std::uint64_t>(sizes[e]));
        sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(e));
        return;
      case 2:
        note("a dim less");
        sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(d));
        return;
      default:
        return number(sizes[d], sizes[e], "a dim's size");
    }
  }

  // ---- Instructions ----

  void change_operand() {
    if (class_->operands.empty()) return;
    number(any(class_->operands), any(class_->operands), "an operand");
  }

  void range(Range& r, Range other, std::string_view what) {
    if (dice_.one_in(3)) {
      r = other;
      return note(what);
    }
    dice_.one_in(2) ? number(r.first, other.first, what) : number(r.count, other.count, what);
  }

  void change_instruction() {
    if (class_->instructions.empty()) return;
    Instruction& i = any(class_->instructions);
    const Instruction other = any(class_->instructions);
    switch (dice_.below(14)) {
      case 0:
        return kind(i.what, static_cast<int>(Opcode::join) + 1, "an opcode");
      case 1:
        return number(i.strand, other.strand, "a strand");
      case 2:
      case 3:
        return change_op(i, other);
      case 4:
        return number(i.name, other.name, "an op's name");
      case 5:
        return number(i.attrs, other.attrs, "which attributes");
      case 6:
        return number(i.line, other.line, "a line");
      case 7:
        return number(i.target, other.target, "a target");
      case 8:
        return number(i.other, other.other, "a second target");
      case 9:
        return range(i.inputs, other.inputs, "inputs");
      case 10:
        return range(i.outputs, other.outputs, "outputs");
      case 11:
        return number(i.in_place, dice_.one_in(2) ? 3U : other.in_place, "in_place");
      case 12:
        return number(i.scratch, other.scratch, "a scratch buffer");
      default:
        return range(i.waits, other.waits, "waits");
    }
  }

  /// Another op: one of the plan's, or any that ferry has.
  void change_op(Instruction& i, const Instruction& other) {
    if (dice_.one_in(2)) return number(i.op, other.op, "an op");
    note("an op");
    const std::vector<const OpDef*> ops = default_ops().all();
    i.op = static_cast<std::uint32_t>(plan_.strings.size());
    plan_.strings.push_back(dice_.of(ops)->name);
  }

  void change_order() {
    std::vector<Instruction>& all = class_->instructions;
    if (all.size() < 2) return;
    const std::size_t at = dice_.below(all.size() - 1);
    switch (dice_.below(3)) {
      case 0:
        note("two instructions exchanged");
        return std::swap(all[at], all[at + 1]);
      case 1:
        note("an instruction copied over another");
        all[at] = any(all);
        return;
      default:
        note("an instruction left out");
        return erase_instruction(at);
    }
  }

  void erase_instruction(std::size_t at) {
    class_->instructions.erase(class_->instructions.begin() + static_cast<std::ptrdiff_t>(at));
    for (Region& region : class_->regions) {
      if (region.instructions.first > at)
        --region.instructions.first;
      else if (region.instructions.first + region.instructions.count > at)
        --region.instructions.count;
    }
  }

  void change_region() {
    Region& region = any(class_->regions);
    const Region other = any(class_->regions);
    if (dice_.one_in(2)) return kind(region.kind, 6, "a region's kind");
    if (dice_.one_in(2)) return range(region.instructions, other.instructions, "a region's instructions");
    note("two regions exchanged");
    std::swap(region.instructions, any(class_->regions).instructions);
  }

  // ---- Attributes ----

  void change_attrs() {
    if (plan_.attrs.empty()) return;
    Attrs& attrs = any(plan_.attrs);
    std::vector<Attrs::Item> items(attrs.begin(), attrs.end());
    Attrs::Item& item = any(items);
    if (dice_.one_in(12)) {
      note("an attribute's name");
      item.first = any(plan_.attrs).begin()->first;
    } else if (dice_.one_in(10)) {
      note("an attribute of another kind");
      item.second = any(plan_.attrs).begin()->second;
    } else {
      note("attribute " + item.first);
      std::visit([&](auto& value) { change_value(value); }, item.second);
    }
    Attrs changed;
    for (const Attrs::Item& each : items) changed.set(each.first, each.second);
    attrs = std::move(changed);
  }

  void change_value(bool& x) { x = !x; }
  void change_value(std::int64_t& x) { number(x, x > 0 ? -x : x / 2, "its number"); }
  void change_value(double& x) {
    const double limits[] = {
        0, -1, 1e300, -x, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
    x = limits[dice_.below(std::size(limits))];
  }
  void change_value(std::string& x) {
    if (!x.empty() && dice_.one_in(2))
      x[dice_.below(x.size())] = static_cast<char>(dice_.below(256));
    else
      x = std::string(plan_.strings[dice_.below(plan_.strings.size())]);
  }
  void change_value(Ints& x) {
    if (x.empty() || dice_.one_in(6))
      x.push_back(dice_.below(4));
    else if (dice_.one_in(6))
      x.pop_back();
    else
      number(any(x), any(x), "its number");
  }
  void change_value(Floats& x) {
    if (x.empty())
      x.push_back(1);
    else
      change_value(any(x));
  }
  void change_value(DType& x) { dtype(x, "its dtype"); }
  void change_value(Shape& x) {
    if (!x.known()) return;
    std::vector<std::int64_t> sizes = x.sizes();
    change_sizes(sizes);
    if (std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size >= 0; }))
      x = Shape(std::span<const std::int64_t>(sizes));
  }
  void change_value(Tensor& x) {
    std::vector<std::int64_t> sizes = x.sizes();
    std::vector<std::byte> bytes(x.bytes().begin(), x.bytes().end());
    if (dice_.one_in(2) && !bytes.empty()) {
      any(bytes) ^= std::byte{1} << dice_.below(x.dtype() == DType::boolean ? 1 : 8);
    } else {
      change_sizes(sizes);
      std::uint64_t size = size_of(x.dtype());
      constexpr std::int64_t kMost = 1000;
      for (std::int64_t& dim : sizes) size *= static_cast<std::uint64_t>(dim = std::clamp<std::int64_t>(dim, 0, kMost));
      constexpr std::uint64_t kMostBytes = 1 << 16;
      if (size > kMostBytes) return;
      bytes.resize(size);
    }
    x = Tensor::copy_of(x.dtype(), sizes, bytes);
  }
  void change_value(SubgraphRef& x) { number(x.index, 0U, "its body"); }

  // ---- The rest ----

  void change_window() {
    if (plan_.windows.empty()) return;
    Window& window = any(plan_.windows);
    const Window other = any(plan_.windows);
    if (!plan_.groupings.empty() && dice_.one_in(4)) {
      note("a grouping");
      Grouping& grouping = any(plan_.groupings);
      if (grouping.empty()) return;
      std::vector<std::int32_t>& group = any(grouping);
      if (!group.empty()) number(any(group), any(any(plan_.groupings).front()), "its task");
      return;
    }
    if (dice_.one_in(3) && !(window.reads.empty() && window.rows.empty())) {
      Reads& reads = window.rows.empty() ? any(window.reads) : any(window.rows).reads;
      std::vector<std::int64_t*> numbers{&reads.begin,         &reads.step,         &reads.size,          &reads.extent,
                                         &reads.windows.begin, &reads.windows.step, &reads.windows.extent};
      return number(*any(numbers), std::int64_t{0}, "what is read of a window");
    }
    if (window.splits.empty() || dice_.one_in(3)) return change_sizes(window.sizes);
    SplitDim& split = any(window.splits);
    if (dice_.one_in(4)) {
      note("a split less");
      window.splits.pop_back();
    } else if (dice_.one_in(2)) {
      number(split.dim, 0U, "a split's dim");
    } else {
      number(split.grouping, other.splits.empty() ? 0U : other.splits.front().grouping, "a split's grouping");
    }
  }

  void change_port() {
    std::vector<PlanPort>& ports =
        plan_.fetches.empty() || (dice_.one_in(2) && !plan_.feeds.empty()) ? plan_.feeds : plan_.fetches;
    if (ports.empty()) return;
    PlanPort& port = any(ports);
    switch (dice_.below(5)) {
      case 0:
        return number(port.name, any(ports).name, "a port's name");
      case 1:
        return number(port.task, 0, "a port's task");
      case 2:
        return dtype(port.dtype, "a port's dtype");
      case 3:
        note("a port's bound");
        port.bounded = !port.bounded;
        return;
      default:
        note("a port");
        return change_sizes(port.sizes);
    }
  }

  void change_channel() {
    if (plan_.channels.empty()) return;
    Channel& channel = any(plan_.channels);
    const Channel other = any(plan_.channels);
    switch (dice_.below(6)) {
      case 0:
        return number(channel.from, other.to, "a channel's sender");
      case 1:
        return number(channel.to, other.from, "a channel's receiver");
      case 2:
        return dtype(channel.dtype, "a channel's dtype");
      case 3:
        return number(channel.bytes, other.bytes, "a channel's bytes");
      case 4:
        note("whether a channel is put");
        channel.put = !channel.put;
        return;
      default:
        return number(channel.slots, other.slots, "a channel's slots");
    }
  }

  void change_collective() {
    if (plan_.collectives.empty()) return;
    Collective& collective = any(plan_.collectives);
    const Collective other = any(plan_.collectives);
    Schedule& schedule = any(plan_.schedules);
    switch (dice_.below(12)) {
      case 0:
        return number(collective.schedule, other.schedule, "a collective's schedule");
      case 1:
        return number(collective.grouping, other.grouping, "a collective's grouping");
      case 2:
        return kind(collective.reduce, 4, "a collective's sum");
      case 3:
        return dtype(collective.dtype, "a collective's dtype");
      case 4:
        if (!collective.parts.empty()) number(any(collective.parts), any(collective.parts), "a collective's part");
        return;
      case 5:
        return kind(schedule.kind, 8, "a schedule's kind");
      case 6:
        if (dice_.one_in(4)) return number(schedule.period, schedule.members, "a schedule's period");
        return number(dice_.one_in(2) ? schedule.slots : schedule.root, 1, "a schedule's slots or root");
      case 7:
        note("a schedule's flags or name");
        if (dice_.one_in(3)) schedule.algorithm = schedule.algorithm == "direct" ? "ring" : "direct";
        (dice_.one_in(2) ? schedule.whole : schedule.guest_root) ^= true;
        return;
      case 8:
        note("whether a schedule is in place");
        schedule.in_place = !schedule.in_place;
        return;
      case 9:
        return kind(schedule.via, 3, "how members reach each other");
      default:
        return change_step(schedule);
    }
  }

  void change_step(Schedule& schedule) {
    if (schedule.steps.empty()) return;
    ScheduleStep& step = any(schedule.steps);
    const ScheduleStep other = any(schedule.steps);
    switch (dice_.below(7)) {
      case 0:
        return kind(step.kind, 10, "a step's kind");
      case 1:
        step.peer = other.peer;
        return number(step.peer.value, other.peer.value, "a step's peer");
      case 2:
        step.part = other.part;
        return number(step.part.value, other.part.value, "a step's part");
      case 3:
        return number(step.only, other.only, "a step's only");
      case 4:
        return number(step.slot, other.slot, "a step's slot");
      case 5:
        return number(step.source, other.source, "a step's source");
      default:
        note("steps exchanged");
        return std::swap(step, any(schedule.steps));
    }
  }

  void change_class() {
    PlanClass& other = any(plan_.classes);
    switch (dice_.below(8)) {
      case 0: {
        if (class_->devices.empty()) return;
        PlanDevice& device = any(class_->devices);
        return number(dice_.one_in(2) ? device.step_bytes : device.state_bytes, device.step_bytes / 2, "arena bytes");
      }
      case 1:
        if (class_->variables.empty()) return;
        return number(any(class_->variables).buffer, any(class_->variables).buffer, "a variable's buffer");
      case 2:
        if (class_->variables.empty()) return;
        return number(any(class_->variables).name, any(class_->variables).name, "a variable's name");
      case 3:
        return number(class_->threads, other.threads, "threads");
      case 4: {
        if (class_->waits.empty()) return;
        Wait& wait = any(class_->waits);
        if (dice_.one_in(3)) return number(wait.strand, any(class_->waits).count, "a wait");
        return number(wait.count, any(class_->waits).count, "a wait");
      }
      case 5: {
        if (class_->queues.empty()) return;
        PlanQueue& queue = any(class_->queues);
        if (dice_.one_in(2)) return kind(queue.role, 3, "a queue");
        return number(queue.device, any(class_->queues).device, "a queue");
      }
      case 6:
        if (class_->stretches.empty()) return;
        return range(any(class_->stretches), any(class_->stretches), "a stretch");
      default:
        return number(any(plan_.class_of), any(plan_.class_of), "a task's class");
    }
  }

  void change_topology() {
    TaskInfo& task = any(plan_.topology.tasks);
    switch (dice_.below(4)) {
      case 0:
        return number(task.host, 1, "a host");
      case 1:
        return number(task.threads, 1, "a task's threads");
      case 2:
        return number(task.memory_bytes, std::uint64_t{1} << 20, "a task's memory");
      default:
        if (plan_.lines.empty()) return;
        return number(any(plan_.lines).file, 0U, "a line's file");
    }
  }

  Plan& plan_;
  Dice& dice_;
  PlanClass* class_ = nullptr;
  std::string done_;
};

}  // namespace

std::string mutate(Plan& plan, Dice& dice) {
  return PlanMutator(plan, dice).run();
}

}  // namespace ferry::test
