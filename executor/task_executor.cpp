#include "executor/task_executor.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/text.hpp"
#include "comm/group.hpp"
#include "executor/arena.hpp"
#include "kernels/kernel.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kExtentBytes = 8;

/// A buffer with its address. For a bounded value sizes[0] is the extent of this step, which is kept in front of the
/// bytes.
struct Slot {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  bool bounded = false;
  Array array;
  std::vector<std::int64_t> sizes, whole, begin;

  [[nodiscard]] std::byte* message() const { return bounded ? data - kExtentBytes : data; }
  [[nodiscard]] std::size_t message_bytes() const { return bytes + (bounded ? kExtentBytes : 0); }
};

/// An instruction with everything it needs in place.
struct Resolved {
  Do what = Do::kernel;
  void (*run)(KernelRun&) = nullptr;
  KernelState* state = nullptr;
  std::uint32_t target = kNone, other = kNone;
  std::uint32_t first = 0, inputs = 0, outputs = 0;  ///< into arrays_ and slots_of_; inputs, then outputs
  std::span<std::byte> scratch;
  GroupCall* group = nullptr;
  bool bounded = false;  ///< an operand is bounded: extents are read before and written after
  const Instruction* instruction = nullptr;
};

}  // namespace

struct TaskExecutor::State {
  State(const Plan& p, int t, Transport& tr, Workers& w, const ExecutorOptions& o)
      : plan(p), role(p.class_for(t)), task(t), transport(tr), workers(w), options(o) {}

  const Plan& plan;
  const PlanClass& role;
  int task;
  Transport& transport;
  Workers& workers;
  ExecutorOptions options;

  std::vector<Arena> arenas;            // step and state of each device
  std::vector<Slot> slots;              // of each buffer
  std::vector<Array> arrays;            // operands of kernels, instruction by instruction
  std::vector<std::uint32_t> operands;  // the buffers of those
  std::vector<Resolved> instructions;
  std::vector<std::unique_ptr<KernelState>> kernel_states;
  std::deque<GroupCall> groups;
  std::vector<Ticket> sends, receives;  // under way, by channel
  std::vector<std::int64_t> region_runs;
  std::vector<std::int64_t> iterations;  // of the loops being run, outermost first
  Traffic measured;
  std::int64_t step = 0;
  bool set_up = false;
  std::span<const Tensor> feeds;
  std::span<Tensor> fetched;

  // ---- Preparing ----

  void prepare(const std::function<std::byte*(std::string_view)>& variable) {
    for (const PlanDevice& device : role.devices) {
      const std::string what = "task " + std::to_string(task) + " on " + std::string(name_of(device.kind)) + ":" +
                               std::to_string(device.index);
      arenas.emplace_back(device.step_bytes, "a step of " + what);
      arenas.emplace_back(device.state_bytes, "the state of " + what);
    }
    std::vector<std::byte*> own(role.buffers.size(), nullptr);
    for (const PlanVariable& v : role.variables) own[v.buffer] = variable(plan.string(v.name));
    slots.resize(role.buffers.size());
    for (std::size_t b = 0; b < slots.size(); ++b) place(b, own[storage_of(role, static_cast<std::uint32_t>(b))]);
    sends.resize(plan.channels.size());
    receives.resize(plan.channels.size());
    region_runs.resize(role.regions.size());
    instructions.reserve(role.instructions.size());
    for (const Instruction& instruction : role.instructions) instructions.push_back(resolve(instruction));
    iterations.reserve(64);
  }

  void place(std::size_t b, std::byte* variable) {
    const Buffer& buffer = role.buffers[b];
    Slot& slot = slots[b];
    if (variable != nullptr)
      slot.data = variable;
    else if (buffer.space != Buffer::Space::none)
      slot.data = arenas[2 * buffer.device + (buffer.space == Buffer::Space::state ? 1 : 0)].data() + buffer.offset;
    slot.bytes = buffer.bytes;
    slot.bounded = buffer.bounded;
    slot.sizes = buffer.sizes;
    slot.whole = buffer.sizes;
    slot.begin.assign(buffer.sizes.size(), 0);
    if (buffer.window != kNone) {
      slot.whole = plan.windows[buffer.window].sizes;
      slot.begin = begin_of(plan, plan.windows[buffer.window], task);
    }
    slot.array = {slot.data, buffer.dtype, slot.sizes, slot.whole, slot.begin};
  }

  Resolved resolve(const Instruction& i) {
    Resolved r;
    r.what = i.what;
    r.target = i.target;
    r.other = i.other;
    r.instruction = &i;
    r.first = static_cast<std::uint32_t>(arrays.size());
    r.inputs = i.inputs.count;
    r.outputs = i.outputs.count;
    for (const Range range : {i.inputs, i.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) {
        const std::uint32_t b = role.operands[range.begin + k];
        operands.push_back(b);
        arrays.push_back(slots[b].array);
        r.bounded = r.bounded || slots[b].bounded;
      }
    if (i.scratch != kNone) r.scratch = {slots[i.scratch].data, slots[i.scratch].bytes};
    if (i.what == Do::kernel) resolve_kernel(i, r);
    if (i.what == Do::collective) resolve_collective(i, r);
    return r;
  }

  void resolve_kernel(const Instruction& i, Resolved& r) {
    const std::string_view op = plan.string(i.op);
    const Kernel* kernel = cpu_kernels().find(op);
    if (kernel == nullptr) throw Error(Code::plan, "there is no kernel for " + std::string(op)).at(plan.line(i.line));
    r.run = kernel->run;
    if (kernel->prepare == nullptr) return;
    static const Attrs kNoAttrs;
    std::vector<Type> types;
    for (std::uint32_t k = 0; k < r.inputs + r.outputs; ++k) types.push_back(type_of(operands[r.first + k]));
    const std::span<const Type> all = types;
    const KernelSetup setup{.name = plan.string(i.name),
                            .attrs = i.attrs == kNone ? kNoAttrs : plan.attrs[i.attrs],
                            .inputs = all.first(r.inputs),
                            .outputs = all.subspan(r.inputs),
                            .data_folder = options.data_folder,
                            .seed = options.seed};
    try {
      kernel_states.push_back(kernel->prepare(setup));
    } catch (Error& error) {
      throw located(error, i);
    }
    r.state = kernel_states.back().get();
  }

  Type type_of(std::uint32_t b) const {
    const Buffer& buffer = role.buffers[b];
    Shape shape{std::span<const std::int64_t>(buffer.sizes)};
    if (buffer.bounded) shape[0] = Dim::at_most(buffer.sizes[0]);
    return {buffer.dtype, std::move(shape)};
  }

  void resolve_collective(const Instruction& i, Resolved& r) {
    const Collective& collective = plan.collectives[i.target];
    const Membership place = membership(plan.groupings[collective.grouping], task);
    const DType dtype = collective.dtype;
    const Reduce reduce = collective.reduce;
    GroupSpec spec{.schedule = plan.schedules[collective.schedule],
                   .parts = collective.parts,
                   .tasks = *place.group,
                   .member = place.member,
                   .channel = static_cast<std::uint32_t>(plan.channels.size()) + i.target,
                   .dtype = dtype,
                   .staging = r.scratch,
                   .fold = [=](std::byte* out, const std::byte* in, std::int64_t count) {
                     fold_elements(reduce, dtype, out, in, count);
                   }};
    if (i.inputs.count > 0) spec.input = slots[role.operands[i.inputs.begin]].message();
    if (i.outputs.count > 0) spec.output = slots[role.operands[i.outputs.begin]].message();
    r.group = &groups.emplace_back(transport, spec);
  }

  // ---- Running ----

  void run_region(std::uint32_t region) {
    const Range range = role.regions[region].instructions;
    ++region_runs[region];
    for (std::uint32_t k = range.begin; k < range.begin + range.count; ++k) execute(instructions[k]);
  }

  void execute(const Resolved& r) {
    switch (r.what) {
      case Do::kernel:
        return run_kernel(r);
      case Do::copy:
        return copy(r);
      case Do::send:
        return send(r);
      case Do::receive:
        return receive(r);
      case Do::send_wait:
        return wait_for(r, [&] { return transport.done(sends[r.target]); });
      case Do::receive_wait:
        return finish_receive(r);
      case Do::collective:
        return run_collective(r);
      case Do::feed:
        return feed(r);
      case Do::fetch:
        return fetch(r);
      case Do::loop:
        return loop(r);
      case Do::branch:
        return run_region(truth(r) ? r.target : r.other);
    }
  }

  void run_kernel(const Resolved& r) {
    if (r.bounded) read_extents(r);
    KernelRun run{.inputs = {arrays.data() + r.first, r.inputs},
                  .outputs = {arrays.data() + r.first + r.inputs, r.outputs},
                  .state = r.state,
                  .scratch = r.scratch,
                  .parallel = workers,
                  .step = step,
                  .iterations = iterations};
    try {
      r.run(run);
    } catch (Error& error) {
      throw located(error, *r.instruction);
    }
    if (r.bounded) write_extents(r);
  }

  void read_extents(const Resolved& r) {
    for (std::uint32_t k = 0; k < r.inputs + r.outputs; ++k) {
      Slot& slot = slots[operands[r.first + k]];
      if (!slot.bounded) continue;
      const Buffer& buffer = role.buffers[operands[r.first + k]];
      slot.sizes[0] = buffer.sizes[0];
      if (k >= r.inputs) continue;
      std::memcpy(&slot.sizes[0], slot.message(), kExtentBytes);
      if (slot.sizes[0] < 0 || slot.sizes[0] > buffer.sizes[0])
        throw Error(Code::bug, "the extent of '" + escaped(plan.string(buffer.name)) + "' is out of its bound");
    }
  }

  void write_extents(const Resolved& r) {
    for (std::uint32_t k = r.inputs; k < r.inputs + r.outputs; ++k) {
      const Slot& slot = slots[operands[r.first + k]];
      if (slot.bounded) std::memcpy(slot.message(), &slot.sizes[0], kExtentBytes);
    }
  }

  void copy(const Resolved& r) {
    const Slot& from = slots[operands[r.first]];
    const Slot& to = slots[operands[r.first + 1]];
    ++measured.copies;
    if (from.data != to.data) std::memcpy(to.message(), from.message(), from.message_bytes());
  }

  void send(const Resolved& r) {
    const Slot& slot = slots[operands[r.first]];
    const std::span<const std::byte> bytes(slot.message(), slot.message_bytes());
    sends[r.target] = transport.send(plan.channels[r.target].to, r.target, bytes);
    ++measured.sent_messages;
    measured.sent_bytes += static_cast<std::int64_t>(bytes.size());
  }

  void receive(const Resolved& r) {
    const Slot& slot = slots[operands[r.first]];
    receives[r.target] =
        transport.receive(plan.channels[r.target].from, r.target, {slot.message(), slot.message_bytes()});
  }

  void finish_receive(const Resolved& r) {
    wait_for(r, [&] { return transport.done(receives[r.target]); });
    ++measured.received_messages;
    measured.received_bytes += static_cast<std::int64_t>(slots[operands[r.first]].message_bytes());
  }

  void run_collective(const Resolved& r) {
    const GroupCount before = r.group->moved();
    r.group->start();
    wait_for(r, [&] { return r.group->progress(); });
    const GroupCount& after = r.group->moved();
    measured.sent_messages += after.sent_messages - before.sent_messages;
    measured.sent_bytes += after.sent_bytes - before.sent_bytes;
    measured.received_messages += after.received_messages - before.received_messages;
    measured.received_bytes += after.received_bytes - before.received_bytes;
  }

  void feed(const Resolved& r) {
    const Slot& slot = slots[operands[r.first]];
    const Tensor& tensor = feeds[r.target];
    FERRY_ASSERT(tensor.bytes().size() == slot.bytes, "a feed has other bytes than its buffer");
    if (slot.bytes > 0) std::memcpy(slot.data, tensor.bytes().data(), slot.bytes);
  }

  void fetch(const Resolved& r) {
    const std::uint32_t b = operands[r.first];
    const Slot& slot = slots[b];
    std::vector<std::int64_t> sizes = role.buffers[b].sizes;
    if (slot.bounded) std::memcpy(&sizes[0], slot.message(), kExtentBytes);
    // A new tensor each time: the caller may keep what it got.
    Tensor tensor(role.buffers[b].dtype, std::move(sizes));
    if (!tensor.bytes().empty()) std::memcpy(tensor.mutable_bytes().data(), slot.data, tensor.bytes().size());
    fetched[r.target] = std::move(tensor);
  }

  bool truth(const Resolved& r) const { return *slots[operands[r.first]].array.as<bool>(); }

  void loop(const Resolved& r) {
    iterations.push_back(0);
    for (;;) {
      run_region(r.target);
      if (!truth(r)) break;
      run_region(r.other);
      ++iterations.back();
    }
    iterations.pop_back();
  }

  // ---- Waiting ----

  /// Spins a little, then sleeps as the transport can, until `ready`; gives up at the deadline.
  template <class Ready>
  void wait_for(const Resolved& r, Ready ready) {
    for (int i = 0; i < workers.spins(); ++i) {
      if (ready()) return;
      relax();
    }
    const Deadline deadline(system_clock(), options.deadline);
    while (!ready()) {
      if (deadline.expired()) throw stalled(*r.instruction);
      transport.idle(std::chrono::microseconds(1000));
    }
  }

  /// The verdict: which value, of which op and line, between which tasks.
  Error stalled(const Instruction& i) const {
    const double waited = std::chrono::duration<double>(options.deadline).count();
    std::string who;
    if (i.what == Do::collective) {
      const Collective& collective = plan.collectives[i.target];
      std::vector<std::string> tasks;
      for (std::int32_t other : *membership(plan.groupings[collective.grouping], task).group)
        if (other != task) tasks.push_back(std::to_string(other));
      who = "the other members: tasks " + join(tasks, ", ");
    } else {
      const Channel& channel = plan.channels[i.target];
      who = "task " + std::to_string(i.what == Do::send_wait ? channel.to : channel.from);
    }
    return Error(Code::stalled, "no progress for " + std::to_string(static_cast<std::int64_t>(waited)) + " s: task " +
                                    std::to_string(task) + " waits in " + std::string(name_of(i.what)) + " of '" +
                                    escaped(plan.string(i.name)) + "' for " + who)
        .at(plan.line(i.line))
        .hint("look at what that task is doing; --deadline SECONDS allows for longer steps");
  }

  Error located(const Error& error, const Instruction& i) const {
    return Error(error.code(), std::string(plan.string(i.op)) + " '" + escaped(plan.string(i.name)) + "' on task " +
                                   std::to_string(task) + ": " + error.text())
        .at(plan.line(i.line));
  }
};

TaskExecutor::TaskExecutor(const Plan& plan, int task, Transport& transport, Workers& workers,
                           const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options)
    : state_(std::make_unique<State>(plan, task, transport, workers, options)) {
  state_->prepare(variable);
}

TaskExecutor::~TaskExecutor() = default;

void TaskExecutor::step(std::int64_t step, std::span<const Tensor> feeds, std::span<Tensor> fetched) {
  state_->step = step;
  state_->feeds = feeds;
  state_->fetched = fetched;
  if (!std::exchange(state_->set_up, true)) state_->run_region(0);
  std::fill(state_->region_runs.begin(), state_->region_runs.end(), 0);
  state_->measured = {};
  state_->run_region(1);
}

const Traffic& TaskExecutor::measured() const {
  return state_->measured;
}

std::span<const std::int64_t> TaskExecutor::region_runs() const {
  return state_->region_runs;
}

std::uint64_t TaskExecutor::arena_bytes() const {
  std::uint64_t bytes = 0;
  for (const Arena& arena : state_->arenas) bytes += arena.bytes();
  return bytes;
}

}  // namespace ferry
