#include "placement/class/copy_between_devices.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace ferry {
namespace {

constexpr PlanQueue::Role kRoles[] = {PlanQueue::Role::compute, PlanQueue::Role::in, PlanQueue::Role::out,
                                      PlanQueue::Role::collective};

bool is_wait(Opcode what) {
  return what == Opcode::send_wait || what == Opcode::receive_wait || what == Opcode::collective_wait;
}
bool starts_message(Opcode what) {
  return what == Opcode::send || what == Opcode::receive || what == Opcode::collective;
}

class DeviceCopier {
 public:
  explicit DeviceCopier(ClassPlan& plan) : form_(plan), tables_(plan.tables()), plan_(plan.role) {}

  void run() {
    for (RegionId region = 0; region < form_.regions(); ++region)
      for (const Instruction& i : form_.list(region))
        if (is_gpu_collective(i)) static_cast<void>(gpu_of(i));
    if (std::ranges::all_of(plan_.devices, is_host)) return;
    add_queues();
    find_written();
    // A loop or branch is visited before its regions. The setup comes last, because the other regions add copies to it.
    for (RegionId region = 1; region < form_.regions(); ++region) rewrite(region);
    rewrite(0);
  }

 private:
  using Buffers = std::vector<BufferId>;
  /// The copy of a buffer on a device, by buffer and device.
  using Copies = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

  static bool is_host(const PlanDevice& device) { return device.kind == DeviceKind::cpu; }

  void add_queues() {
    const auto host = std::ranges::find_if(plan_.devices, is_host);
    host_ = static_cast<std::uint32_t>(host - plan_.devices.begin());
    if (host == plan_.devices.end()) plan_.devices.push_back({});
    first_queue_.assign(plan_.devices.size(), 0);
    for (std::uint32_t device = 0; device < plan_.devices.size(); ++device) {
      if (device == host_) continue;
      first_queue_[device] = plan_.strands();
      for (const PlanQueue::Role role : kRoles)
        if (role != PlanQueue::Role::collective || has_collectives(device)) plan_.queues.push_back({device, role});
    }
  }

  /// Whether the device runs collectives of GPUs.
  [[nodiscard]] bool has_collectives(std::uint32_t device) {
    for (RegionId region = 0; region < form_.regions(); ++region)
      for (const Instruction& i : form_.list(region))
        if (is_gpu_collective(i) && gpu_of(i) == device) return true;
    return false;
  }

  /// Whether the instruction belongs to a collective that GPUs run.
  [[nodiscard]] bool is_gpu_collective(const Instruction& i) const {
    return (i.what == Opcode::collective || i.what == Opcode::collective_wait) &&
           tables_.plan().collectives[i.collective()].gpu != kNone;
  }

  /// The device on which a collective of GPUs runs. Adds the device if the class does not have it yet.
  std::uint32_t gpu_of(const Instruction& i) {
    const PlanDevice wanted{DeviceKind::gpu, tables_.plan().collectives[i.collective()].gpu};
    const auto at = std::ranges::find_if(plan_.devices, [&](const PlanDevice& device) {
      return device.kind == wanted.kind && device.index == wanted.index;
    });
    const auto number = static_cast<std::uint32_t>(at - plan_.devices.begin());
    if (at == plan_.devices.end()) plan_.devices.push_back(wanted);
    return number;
  }

  [[nodiscard]] std::uint16_t queue(std::uint32_t device, PlanQueue::Role role) const {
    return static_cast<std::uint16_t>(first_queue_[device] + static_cast<std::uint32_t>(role));
  }

  /// Finds the storages that an instruction outside the setup writes, and the storages of variables.
  void find_written() {
    for (const PlanVariable& variable : plan_.variables) written_.insert(variable.buffer);
    for (RegionId region = 1; region < form_.regions(); ++region)
      for (const Instruction& i : form_.list(region))
        for (const BufferId b : plan_.outputs(i)) written_.insert(storage(b));
  }

  // ---- Regions ----

  void rewrite(RegionId region) {
    const std::vector<Instruction> before = std::exchange(form_.list(region), {});
    const std::uint32_t outer = form_.enter(region);
    copies_.clear();
    queued_ = false;
    for (std::size_t at = 0; at < before.size(); ++at) {
      if (before[at].what == Opcode::send) copy_chunks(std::span(before).subspan(at));
      Instruction i = before[at];
      i.may &= static_cast<std::uint8_t>(~kMovable);
      visit(i);
    }
    for (const auto& [from, to] : at_end_[region]) push_copy(from, to, {});
    if (queued_) form_.push(join(), {}, {});
    form_.enter(outer);
  }

  /// If `list` begins with the sends of a value's chunks, copies all chunks to the host before the first send. So the
  /// host waits for one chunk while the next chunks are copied.
  void copy_chunks(std::span<const Instruction> list) {
    const std::uint32_t whole = storage(first(list[0].inputs));
    for (const Instruction& i : list) {
      if (i.what != Opcode::send || first(i.inputs) == whole || storage(first(i.inputs)) != whole) return;
      static_cast<void>(copy_to(host_, first(i.inputs), i));
    }
  }

  static Instruction join() {
    Instruction instruction;
    instruction.what = Opcode::join;
    return instruction;
  }

  void visit(Instruction i) {
    if (i.what == Opcode::copy) return push_copy(first(i.inputs), first(i.outputs), i);
    if (is_gpu_collective(i)) return add_gpu_collective(i);
    if (is_wait(i.what)) return wait(i);
    const std::uint32_t device = device_of(i);
    if (device != host_) {
      i.strand = queue(device, PlanQueue::Role::compute);
      queued_ = true;
    }
    Buffers in, out, copied_out;
    if (i.what == Opcode::loop)
      in = {copy_after(first(i.inputs), i.region())};
    else
      for (const std::uint32_t k : i.inputs) in.push_back(copy_to(device, plan_.operands[k], i));
    const bool inside =
        i.what == Opcode::loop || i.what == Opcode::branch;  // instructions in their regions write the outputs
    for (const std::uint32_t k : i.outputs) {
      const std::uint32_t b = plan_.operands[k];
      out.push_back(inside || is_on(device, b) ? b : add_like(device, b));
      copied_out.push_back(b);
    }
    form_.push(i, in, out);
    if (starts_message(i.what)) staged_[{i.what == Opcode::collective, i.what == Opcode::send, i.target}] = {in, out};
    for (const std::uint32_t b : copied_out) forget(b);
    if (i.what == Opcode::loop || i.what == Opcode::branch) forget_inside(i);
    if (starts_message(i.what)) return;
    for (std::size_t k = 0; k < out.size(); ++k)
      if (out[k] != copied_out[k]) push_copy(out[k], copied_out[k], i);
  }

  /// Adds a collective that GPUs run. Later work on its queue runs after its end, so its wait follows immediately, and
  /// other strands wait for the wait.
  void add_gpu_collective(Instruction i) {
    if (i.what == Opcode::collective_wait) return;
    const std::uint32_t device = gpu_of(i);
    i.strand = queue(device, PlanQueue::Role::collective);
    i.may = 0;
    queued_ = true;
    Buffers in, out;
    for (const std::uint32_t k : i.inputs) in.push_back(copy_to(device, plan_.operands[k], i));
    for (const BufferId b : plan_.outputs(i)) out.push_back(b);
    for (const Opcode what : {Opcode::collective, Opcode::collective_wait}) {
      i.what = what;
      form_.push(i, in, out);
    }
    for (const std::uint32_t b : out) forget(b);
  }

  /// Adds the wait of a message, with the buffers of the instruction that started the message.
  void wait(const Instruction& i) {
    const auto& [in, out] = staged_.at({i.what == Opcode::collective_wait, i.what == Opcode::send_wait, i.target});
    const auto outputs = plan_.outputs(i);
    const Buffers wanted(outputs.begin(), outputs.end());
    form_.push(i, in, out);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (out[k] != wanted[k]) push_copy(out[k], wanted[k], i);
  }

  /// The device that runs the instruction: for a kernel the device of its outputs, else the host.
  [[nodiscard]] std::uint32_t device_of(const Instruction& i) const {
    return i.what == Opcode::kernel && i.outputs.count > 0 ? plan_.buffers[first(i.outputs)].device : host_;
  }

  // ---- Copies ----

  [[nodiscard]] bool is_on(std::uint32_t device, std::uint32_t b) const {
    return plan_.buffers[b].device == device || plan_.buffers[b].space == Buffer::Space::none;
  }

  /// The buffer itself if it is on that device, else its copy there. Adds the copy instruction if there is none yet. If
  /// the buffer is a view of a whole storage, the storage is copied, so that its views share the copy.
  std::uint32_t copy_to(std::uint32_t device, std::uint32_t b, const Instruction& user) {
    if (is_on(device, b)) return b;
    const std::uint32_t root = storage(b);
    const bool whole = plan_.buffers[root].bytes == plan_.buffers[b].bytes;
    const std::uint32_t from = whole ? root : b;
    const bool of_setup = !written_.contains(root);
    const auto [at, fresh] = (of_setup ? copies_of_setup_ : copies_).try_emplace({from, device});
    if (fresh) at->second = add_like(device, from);
    if (!of_setup ? fresh : form_.region() == 0 && (fresh || cancel_setup_copy(from, at->second)))
      push_copy(from, at->second, user);
    else if (fresh)
      at_end_[0].emplace_back(from, at->second);
    return from == b ? at->second : view(at->second, b);
  }

  /// Cancels a copy that was to be made at the end of the setup; false if there is none.
  bool cancel_setup_copy(std::uint32_t from, std::uint32_t to) {
    return std::erase(at_end_[0], std::pair(from, to)) > 0;
  }

  /// The buffer itself if it is on the host, else its copy there, which is made at the end of `region`.
  std::uint32_t copy_after(std::uint32_t b, RegionId region) {
    if (is_on(host_, b)) return b;
    const std::uint32_t to = add_like(host_, b);
    at_end_[region].emplace_back(b, to);
    return to;
  }

  void push_copy(std::uint32_t from, std::uint32_t to, Instruction copy) {
    const std::uint32_t source = plan_.buffers[from].device, target = plan_.buffers[to].device;
    Instruction made;
    made.what = Opcode::copy;
    made.name = copy.name != kNone ? copy.name : plan_.buffers[from].name;
    made.line = copy.line;
    if (source != host_ || target != host_) {
      queued_ = true;
      made.strand = target == host_    ? queue(source, PlanQueue::Role::out)
                    : source == target ? queue(target, PlanQueue::Role::compute)
                                       : queue(target, PlanQueue::Role::in);
    }
    form_.push(made, {from}, {to});
    forget(to);
  }

  /// Forgets the copies of a buffer that is written, because they are out of date.
  void forget(std::uint32_t b) {
    std::erase_if(copies_, [&, root = storage(b)](const auto& copy) { return storage(copy.first.first) == root; });
  }
  void forget_inside(const Instruction& owner) {
    for (const RegionId region : {owner.region(), owner.other_region()})
      for (const Instruction& i : form_.list(region)) {
        for (const BufferId b : plan_.outputs(i)) forget(b);
        if (i.what == Opcode::loop || i.what == Opcode::branch) forget_inside(i);
      }
  }

  // ---- Buffers ----

  /// Adds a buffer like `b` on that device. If `b` is not a view, also adds the same views of its parts.
  std::uint32_t add_like(std::uint32_t device, std::uint32_t b) {
    Buffer buffer = plan_.buffers[b];
    buffer.offset = 0;
    buffer.space = Buffer::Space::step;
    buffer.view_of = kNone;
    buffer.device = device;
    const std::uint32_t made = add(std::move(buffer));
    if (storage(b) != b) return made;
    for (std::uint32_t part = 0; part < made; ++part) {
      if (plan_.buffers[part].view_of != b || plan_.buffers[part].bytes == plan_.buffers[b].bytes) continue;
      Buffer same = plan_.buffers[part];
      same.view_of = made;
      same.device = device;
      add(std::move(same));
    }
    return made;
  }

  /// A view of the buffer `of` with the shape of `b`.
  std::uint32_t view(std::uint32_t of, std::uint32_t b) {
    const auto [at, fresh] = views_.try_emplace({of, b});
    if (!fresh) return at->second;
    Buffer buffer = plan_.buffers[b];
    buffer.view_of = of;
    buffer.offset = 0;
    buffer.device = plan_.buffers[of].device;
    return at->second = add(std::move(buffer));
  }

  std::uint32_t add(Buffer buffer) {
    plan_.buffers.push_back(std::move(buffer));
    return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
  }

  [[nodiscard]] std::uint32_t storage(std::uint32_t b) const { return storage_of(plan_, b); }
  [[nodiscard]] std::uint32_t first(Range range) const { return plan_.operands[range[0]]; }

  ClassPlan& form_;
  PlanTables& tables_;
  PlanClass& plan_;
  std::uint32_t host_ = 0;
  std::vector<std::uint32_t> first_queue_;  // by device: the strand of its first queue
  std::set<std::uint32_t> written_;
  Copies copies_,
      copies_of_setup_;  // copies of the present region, valid until the value is written; copies of the setup
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> views_;  // by `of` and `b` of view()
  struct Message {
    bool collective, sent;
    std::uint32_t target;
    auto operator<=>(const Message&) const = default;
  };
  std::map<Message, std::pair<Buffers, Buffers>> staged_;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      at_end_;           // by region: copies (from, to)
  bool queued_ = false;  // whether the present region gives work to a queue
};

}  // namespace

void copy_between_devices(ClassPlan& plan) {
  DeviceCopier(plan).run();
}

}  // namespace ferry
