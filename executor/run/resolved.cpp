#include "executor/run/resolved.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/format.hpp"
#include "executor/run/messages.hpp"
#include "ops/op_set.hpp"
#include "plan/group_places.hpp"
#include "plan/largest_values.hpp"

namespace ferry {
namespace {

/// An instruction that touches this many bytes takes microseconds: transfers are polled after it.
constexpr std::uint64_t kPollBytes = 32 << 10;
constexpr std::int64_t kNoStep = 0;

/// Adds the largest values to an error, since the user can change these. The plan fitted when it was made, so other
/// processes have taken memory since.
void note_largest_values(const Plan& plan, const PlanClass& role, std::uint32_t device, Error& error) {
  constexpr std::size_t kNamed = 5;
  for (const LargeValue& value : largest_values(plan, role, kNamed, [&](std::uint32_t d) { return d == device; }))
    error.note("it has " + value.text + (value.line.known() ? " at " + value.line.str() : ""));
}

}  // namespace

ResolvedPlan::ResolvedPlan(const Plan& plan, int task, const ResolveContext& context)
    : plan_(plan),
      role_(plan.class_for(task)),
      task_(task),
      threads_(std::max(1U, role_.threads)),
      nothing_{
          .inputs = {}, .outputs = {}, .scratch = {}, .parallel = context.parallel, .step = kNoStep, .iterations = {}} {
  regions_ = role_.regions.size();
  place_buffers(context);
  describe_buffers();
  depth_.assign(regions_, 0);
  for (RegionId region : {0U, 1U}) set_depths(region, 0);
  const std::uint32_t deepest = *std::max_element(depth_.begin(), depth_.end());
  numbers_.assign(1 + deepest, 0);
  links_.resize(plan.channels.size() + plan.collectives.size());
  calls_.resize(plan.collectives.size());
  std::size_t operands = 0;
  for (const Instruction& instruction : role_.instructions)
    operands += instruction.inputs.count + instruction.outputs.count;
  has_swaps_ = std::ranges::any_of(role_.instructions, &Instruction::swaps);
  const std::size_t copies = has_swaps_ ? 2 : 1;
  arrays_.reserve(copies * operands);
  extents_.reserve(copies * operands);
  runs_.reserve(copies * role_.instructions.size());
  fuse_on_devices(context);
  lists_.resize(regions_ * threads_);
  for (RegionId region = 0; region < regions_; ++region)
    if (role_.regions[region].kind != Region::Kind::tile) resolve_region(region, region, context);
  if (has_swaps_) resolve_swaps(context);
  link_puts();
  mark_waits();
}

void ResolvedPlan::place_buffers(const ResolveContext& context) {
  arena_bytes_.assign(role_.devices.size(), 0);
  std::vector<std::byte*> own(role_.buffers.size(), nullptr);
  for (const PlanVariable& v : role_.variables) {
    const Buffer& buffer = role_.buffers[v.buffer];
    own[v.buffer] = context.variable(plan_.string(v.name));
    arena_bytes_[buffer.device] += buffer.bytes;
    if (role_.devices[buffer.device].kind == DeviceKind::cpu) host_variables_.emplace_back(own[v.buffer], buffer.bytes);
  }
  // Variables have their own memory, so the state arena is packed without the space that the plan reserves for them.
  std::vector<std::uint64_t> offsets(role_.buffers.size(), 0), ends(role_.devices.size(), 0);
  for (std::uint32_t b = 0; b < role_.buffers.size(); ++b) {
    const Buffer& buffer = role_.buffers[b];
    offsets[b] = buffer.offset;
    if (buffer.space != Buffer::Space::state || storage_of(role_, b) != b || own[b] != nullptr) continue;
    const std::uint64_t header = buffer.bounded ? kBufferAlign : 0;
    offsets[b] = ends[buffer.device] + header;
    ends[buffer.device] = offsets[b] + (buffer.bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
  }
  for (std::size_t d = 0; d < role_.devices.size(); ++d) {
    const PlanDevice& device = role_.devices[d];
    const std::string where = "task " + std::to_string(task_) + " on " + std::string(name_of(device.kind)) + ":" +
                              std::to_string(device.index);
    const auto arena = [&](std::uint64_t bytes, const std::string& what) -> Arena {
      if (bytes == 0) return {0, std::shared_ptr<std::byte>()};
      try {
        return {bytes, context.devices->memory(static_cast<int>(device.index), bytes, what)};
      } catch (Error& error) {
        if (error.code() == Code::resource) note_largest_values(plan_, role_, static_cast<std::uint32_t>(d), error);
        throw;
      }
    };
    if (device.kind == DeviceKind::cpu) {
      step_arenas_.push_back(step_arena(device.step_bytes, "a step of " + where, context.transport));
      state_arenas_.emplace_back(ends[d], "the state of " + where);
    } else {
      step_arenas_.push_back(arena(device.step_bytes, "a step of " + where));
      state_arenas_.push_back(arena(ends[d], "the state of " + where));
    }
    arena_bytes_[d] += device.step_bytes + ends[d];
  }
  addresses_.resize(role_.buffers.size(), nullptr);
  for (std::uint32_t b = 0; b < role_.buffers.size(); ++b) {
    const std::uint32_t root = storage_of(role_, b);
    const Buffer& buffer = role_.buffers[root];
    if (buffer.space != Buffer::Space::step && buffer.space != Buffer::Space::state) continue;
    const auto& arenas = buffer.space == Buffer::Space::state ? state_arenas_ : step_arenas_;
    addresses_[b] = (own[root] != nullptr ? own[root] : arenas[buffer.device].data() + offsets[root]) +
                    (role_.buffers[b].offset - buffer.offset);
  }
}

/// If the plan has messages, the arena is memory that other tasks can write to, if the transport has such memory.
Arena ResolvedPlan::step_arena(std::uint64_t bytes, const std::string& what, Transport& transport) const {
  const bool receives = !plan_.channels.empty() || !plan_.collectives.empty();
  if (receives && bytes > 0)
    if (auto memory = transport.memory(bytes, what)) return {bytes, std::move(memory)};
  return {bytes, what};
}

std::vector<std::span<const std::byte>> ResolvedPlan::host_memory() const {
  std::vector<std::span<const std::byte>> all = host_variables_;
  all.push_back(numbers());
  for (const auto* arenas : {&step_arenas_, &state_arenas_})
    for (std::size_t d = 0; d < role_.devices.size(); ++d)
      if (role_.devices[d].kind == DeviceKind::cpu) all.emplace_back((*arenas)[d].data(), (*arenas)[d].bytes());
  std::erase_if(all, [](std::span<const std::byte> memory) { return memory.empty(); });
  return all;
}

std::span<const std::byte> ResolvedPlan::bytes_of(BufferId b) const {
  if (addresses_[b] == nullptr) return {};
  const std::uint64_t header = role_.buffers[b].bounded ? kExtentBytes : 0;
  return {addresses_[b] - header, role_.buffers[b].bytes + header};
}

void ResolvedPlan::describe_buffers() {
  std::map<std::uint32_t, Membership> places;  // the task's membership, by grouping
  const auto place = [&](std::uint32_t grouping) {
    const auto [at, fresh] = places.try_emplace(grouping);
    if (fresh) at->second = membership(plan_.groupings[grouping], task_);
    return at->second;
  };
  for (const Buffer& buffer : role_.buffers) {
    sizes_.push_back(buffer.sizes);
    part_indices_.emplace_back();
    if (buffer.window == kNone) {
      whole_.push_back(buffer.sizes);
      begin_.emplace_back(buffer.sizes.size(), 0);
    } else {
      whole_.push_back(plan_.windows[buffer.window].sizes);
      begin_.push_back(begin_at(plan_.windows[buffer.window], place));
      part_indices_.back().resize(buffer.sizes.size());
      for (const SplitDim& split : plan_.windows[buffer.window].splits)
        part_indices_.back()[split.dim] = place(split.grouping).member;
    }
  }
}

void ResolvedPlan::set_depths(RegionId region, std::uint32_t depth) {
  depth_[region] = depth;
  const Range range = role_.regions[region].instructions;
  for (const std::uint32_t i : range) {
    const Instruction& instruction = role_.instructions[i];
    if (instruction.what != Opcode::loop && instruction.what != Opcode::branch) continue;
    const std::uint32_t inside = depth + (instruction.what == Opcode::loop ? 1 : 0);
    set_depths(instruction.region(), inside);
    set_depths(instruction.other_region(), inside);
  }
}

void ResolvedPlan::resolve_region(RegionId region, std::uint32_t number, const ResolveContext& context) {
  const Range range = role_.regions[region].instructions;
  // Thread 0 fills the queues in the order of its list, so their instructions are in that list.
  const auto walker_of = [this](const Instruction& i) { return role_.on_queue(i) ? 0U : i.strand; };
  std::vector<std::uint32_t> counts(threads_, 0);
  for (const std::uint32_t i : range) ++counts[walker_of(role_.instructions[i])];
  for (std::size_t thread = 0; thread < threads_; ++thread) {
    lists_[number * threads_ + thread].reserve(counts[thread]);
    if (thread > 0 && counts[thread] > 0) single_ = false;
  }
  for (const std::uint32_t i : range) {
    const Instruction& instruction = role_.instructions[i];
    auto& list = lists_[number * threads_ + walker_of(instruction)];
    Resolved& resolved = list.emplace_back();
    resolved.count = static_cast<std::uint32_t>(list.size());
    resolve(resolved, instruction, context, depth_[region]);
  }
}

void ResolvedPlan::resolve_swaps(const ResolveContext& context) {
  swapped_ = true;
  for (std::size_t l = 0; l < regions_ * threads_; ++l)
    for (std::size_t i = 0; i < lists_[l].size(); ++i) {
      if (lists_[l][i].what != Opcode::loop) continue;
      const Instruction& loop = *lists_[l][i].plan;
      std::vector<const Instruction*> swaps;
      for (const Instruction& instruction : role_.instructions_of(role_.regions[loop.other_region()]))
        if (instruction.swaps()) swaps.push_back(&instruction);
      if (swaps.empty()) continue;
      const auto first = static_cast<std::uint32_t>(lists_.size() / threads_);
      LoopSwaps& made = swaps_.emplace_back(LoopSwaps{.condition = first, .body = first + 1, .pairs = {}});
      lists_[l][i].swaps = &made;
      for (const Instruction* const swap : swaps) {
        const std::uint32_t next = role_.inputs(*swap)[0], carried = role_.outputs(*swap)[0];
        made.pairs.push_back({addresses_[carried], addresses_[next], role_.buffers[carried].bytes});
        swap_addresses(*swap);
      }
      lists_.resize(lists_.size() + 2 * threads_);
      resolve_region(loop.region(), made.condition, context);
      resolve_region(loop.other_region(), made.body, context);
      for (const Instruction* const swap : swaps) swap_addresses(*swap);
    }
}

void ResolvedPlan::swap_addresses(const Instruction& swap) {
  const std::uint32_t next = role_.inputs(swap)[0], carried = role_.outputs(swap)[0];
  std::byte* const next_at = addresses_[next];
  std::byte* const carried_at = addresses_[carried];
  for (std::uint32_t b = 0; b < role_.buffers.size(); ++b) {
    const std::uint32_t root = storage_of(role_, b);
    if (root == next) addresses_[b] = carried_at + (role_.buffers[b].offset - role_.buffers[next].offset);
    if (root == carried) addresses_[b] = next_at + (role_.buffers[b].offset - role_.buffers[carried].offset);
  }
}

/// Sets the link of a put's send in the kernel or tile region that computes the value of the put.
void ResolvedPlan::link_puts() {
  struct Maker {
    Resolved* resolved;
    std::uint32_t member;
  };
  for (std::uint32_t number = 0; number < lists_.size() / threads_; ++number) {
    std::unordered_map<std::uint32_t, Maker> makers;
    const auto puts = [&](const Resolved& r) {
      return r.what == Opcode::send && plan_.channels[r.plan->channel()].put;
    };
    if (std::ranges::none_of(list(number, 0), puts)) continue;
    for (Resolved& resolved : list(number, 0)) {
      if (resolved.what == Opcode::kernel && resolved.plan->outputs.count == 1)
        makers[role_.outputs(*resolved.plan)[0]] = {&resolved, 0};
      for (std::uint32_t m = 0; resolved.tiles != nullptr && m < resolved.tiles->members.size(); ++m)
        makers[role_.outputs(*resolved.tiles->members[m].plan)[0]] = {&resolved, m};
      if (!puts(resolved)) continue;
      const auto maker = makers.find(role_.inputs(*resolved.plan)[0]);
      FERRY_ASSERT(maker != makers.end() && maker->second.resolved->link == nullptr, "a put without a kernel");
      maker->second.resolved->link = resolved.link;
      maker->second.resolved->member = maker->second.member;
    }
  }
}

/// Marks the instructions that another thread waits for, since only they publish progress; then makes the short forms.
void ResolvedPlan::mark_waits() {
  for (RegionId region : {0U, 1U}) {
    if (queued()) break;  // Queues does all waits, with events
    for (std::size_t thread = 0; thread < threads_; ++thread) {
      for (const Resolved& resolved : list(region, thread)) {
        for (const Wait& wait : resolved.waits)
          if (wait.count > 0) list(region, wait.strand)[wait.count - 1].flags |= Resolved::kPublish;
      }
    }
  }
  for (const auto& list : lists_) {
    std::vector<ShortForm>& short_form = short_forms_.emplace_back();
    short_form.reserve(list.size());
    for (const Resolved& resolved : list) {
      const bool plain = resolved.what == Opcode::kernel && resolved.flags == 0 && resolved.extents.empty() &&
                         resolved.link == nullptr;
      const bool nothing = (resolved.what == Opcode::receive && resolved.flags == Resolved::kTaken) ||
                           (resolved.plan->swaps() && resolved.flags == 0);
      short_form.push_back(plain     ? ShortForm{resolved.kernel, resolved.run}
                           : nothing ? ShortForm{[](KernelRun&) {}, &nothing_}
                                     : ShortForm{});
    }
  }
}

void ResolvedPlan::resolve(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                           std::uint32_t depth) {
  resolved.what = instruction.what;
  resolved.region = instruction.region();
  resolved.other_region = instruction.other_region();
  resolved.plan = &instruction;
  resolved.waits = role_.waits_of(instruction);
  if (!resolved.waits.empty() && !queued()) resolved.flags |= Resolved::kWaits;
  std::uint64_t touched = 0;
  for (const Range range : {instruction.inputs, instruction.outputs})
    for (const BufferId b : role_.operands_of(range)) touched += role_.buffers[b].bytes;
  if (touched >= kPollBytes && !instruction.swaps() && instruction.strand == 0 && !links_.empty())
    resolved.flags |= Resolved::kPoll;

  const auto message = [&](Range range) -> std::byte* {
    if (range.count == 0) return nullptr;
    const std::uint32_t b = role_.operands_of(range)[0];
    return role_.buffers[b].bounded ? addresses_[b] - kExtentBytes : addresses_[b];
  };
  resolved.input = message(instruction.inputs);
  resolved.output = message(instruction.outputs);
  for (const Range range : {instruction.inputs, instruction.outputs}) {
    if (range.count == 0) continue;
    const Buffer& buffer = role_.buffers[role_.operands_of(range)[0]];
    resolved.bytes = buffer.bytes + (buffer.bounded ? kExtentBytes : 0);
  }
  switch (instruction.what) {
    case Opcode::kernel:
      return resolve_kernel(resolved, instruction, context, depth);
    case Opcode::tiles:
      return resolve_tiles(resolved, instruction, context, depth);
    case Opcode::stencil_begin:
    case Opcode::stencil:
      return resolve_stencil(resolved, instruction, context, depth);
    case Opcode::collective:
      if (!role_.on_queue(instruction)) resolve_collective(resolved, instruction, context);
      return;
    case Opcode::collective_wait:
      if (role_.on_queue(instruction)) return;
      resolved.link = &links_[plan_.channels.size() + instruction.collective()];
      return;
    case Opcode::send:
    case Opcode::send_wait:
    case Opcode::receive:
    case Opcode::receive_wait: {
      const Channel& channel = plan_.channels[instruction.channel()];
      resolved.link = &links_[instruction.channel()];
      resolved.link->channel = instruction.channel();
      resolved.link->peer = channel.from == task_ ? channel.to : channel.from;
      if (const auto* shared = context.transport.shared_memory();
          shared != nullptr && channel.to == task_ && shared->takes(channel.from, resolved.bytes))
        resolved.flags |= Resolved::kTaken;
      return;
    }
    case Opcode::feed:
    case Opcode::fetch:
      return find_extents(resolved, instruction);
    default:
      return;
  }
}

bool ResolvedPlan::runs_first(const Instruction& instruction) const {
  const auto same = [&](const Instruction& other) {
    return other.what == Opcode::kernel && other.op == instruction.op && other.name == instruction.name;
  };
  for (int task = 0; task < task_; ++task)
    if (std::ranges::any_of(plan_.class_for(task).instructions, same)) return false;
  return true;
}

const KernelTable& ResolvedPlan::table_for(const Instruction& instruction, const ResolveContext& context) const {
  return role_.on_queue(instruction) ? *context.device_kernels : context.kernels;
}

const Kernel& ResolvedPlan::kernel_of(const Instruction& instruction, const ResolveContext& context) const {
  const std::string_view op = plan_.string(instruction.op);
  if (const Kernel* kernel = table_for(instruction, context).find(op)) return *kernel;
  Error error(Code::plan, "there is no kernel for " + std::string(op));
  error.at(plan_.line(instruction.line));
  if (default_ops().find(op) == nullptr)
    error.hint("load the library that has it: --ops LIB.so, or ExecutionOptions::kernels (docs/guide/user_ops.md)");
  throw error;
}

void ResolvedPlan::resolve_kernel(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                                  std::uint32_t depth) {
  const Kernel& kernel = kernel_of(instruction, context);
  find_extents(resolved, instruction);
  const std::size_t first = arrays_.size();
  std::vector<Type> inputs, outputs;
  for (const BufferId b : role_.inputs(instruction)) {
    arrays_.push_back(array(b));
    inputs.push_back(type(b));
  }
  for (const BufferId b : role_.outputs(instruction)) {
    arrays_.push_back(array(b));
    outputs.push_back(type(b));
  }
  const std::vector<PlacedPart> parts = parts_of(instruction);
  const KernelSetup setup{.name = plan_.string(instruction.name),
                          .attrs = attrs_of(instruction),
                          .inputs = inputs,
                          .outputs = outputs,
                          .files = context.files,
                          .data_folder = context.run.data_folder,
                          .seed = context.run.seed,
                          .first = kernel.effect && context.effects && runs_first(instruction),
                          .parts = parts};
  const auto [code, state] = bound(kernel, setup, instruction, context);
  std::span<std::byte> scratch;
  if (instruction.scratch != kNone)
    scratch = {addresses_[instruction.scratch], role_.buffers[instruction.scratch].bytes};
  if (const std::int64_t needed = scratch_of(kernel, setup); static_cast<std::int64_t>(scratch.size()) < needed)
    throw Error(Code::plan, "{}: the plan gives it {} bytes of scratch, it needs {}: it was made for other kernels",
                as_is(kernel.op), scratch.size(), needed)
        .at(plan_.line(instruction.line))
        .hint("make the plan again, where it is to run, or choose the devices that it was made for (--device sim)");
  const std::span<Array> all = std::span(arrays_.data() + first, arrays_.size() - first);
  runs_.push_back(KernelRun{.inputs = all.first(inputs.size()),
                            .outputs = all.subspan(inputs.size()),
                            .state = state,
                            .scratch = scratch,
                            .parallel = context.parallel,
                            .step = numbers_[0],
                            .iterations = {iterations(), depth}});
  resolved.run = &runs_.back();
  resolved.kernel = code;
}

std::vector<PlacedPart> ResolvedPlan::parts_of(const Instruction& instruction) const {
  std::vector<PlacedPart> parts;
  bool any = false;
  for (const Range range : {instruction.inputs, instruction.outputs})
    for (const BufferId b : role_.operands_of(range)) {
      any = any || role_.buffers[b].window != kNone;
      parts.push_back({whole_[b], begin_[b]});
    }
  if (!any) parts.clear();
  return parts;
}

const Attrs& ResolvedPlan::attrs_of(const Instruction& instruction) const {
  static const Attrs kNoAttrs;
  return instruction.attrs == kNone ? kNoAttrs : plan_.attrs[instruction.attrs];
}

ResolvedPlan::Bound ResolvedPlan::bound(const Kernel& kernel, const KernelSetup& setup, const Instruction& instruction,
                                        const ResolveContext& context) {
  if (swapped_) return bound_.at(&instruction);
  try {
    BoundKernel made = bind(table_for(instruction, context), kernel, setup);
    const Bound bound{made.run, made.state.get()};
    if (bound.state != nullptr) states_.push_back(std::move(made.state));
    if (has_swaps_) bound_.emplace(&instruction, bound);
    return bound;
  } catch (...) {
    throw located(error_of_kernel(std::current_exception(), kernel.op, context.kernels), plan_, instruction, task_);
  }
}

void ResolvedPlan::resolve_collective(Resolved& resolved, const Instruction& instruction,
                                      const ResolveContext& context) {
  resolved.link = &links_[plan_.channels.size() + instruction.collective()];
  if (swapped_) return;  // it touches no swapped buffer
  const Collective& collective = plan_.collectives[instruction.collective()];
  const Membership place = membership(plan_.groupings[collective.grouping], task_);
  std::span<std::byte> staging;
  if (instruction.scratch != kNone)
    staging = {addresses_[instruction.scratch], role_.buffers[instruction.scratch].bytes};
  const GroupSpec spec{
      .schedule = plan_.schedules[collective.schedule],
      .parts = collective.parts,
      .tasks = *place.group,
      .member = place.member,
      .channel = static_cast<std::uint32_t>(plan_.channels.size()) + instruction.collective(),
      .dtype = collective.dtype,
      .input = resolved.input,
      .output = resolved.output,
      .staging = staging,
      .fold = [fold = context.kernels.fold(), reduce = collective.reduce, dtype = collective.dtype](
                  std::byte* output, const std::byte* left, const std::byte* right,
                  std::int64_t count) { fold(reduce, dtype, output, left, right, count); },
      .split = [&parallel = context.parallel](std::int64_t n, std::int64_t grain,
                                              const Parallel::Body& body) { parallel.for_each(n, grain, body); }};
  calls_[instruction.collective()] = prepare_call(context.transport, spec);
  resolved.link->call = calls_[instruction.collective()].get();
}

void ResolvedPlan::find_extents(Resolved& resolved, const Instruction& instruction) {
  const std::size_t first = extents_.size();
  const auto find = [&](Range range, bool output) {
    for (const BufferId b : role_.operands_of(range)) {
      if (!role_.buffers[b].bounded || addresses_[b] == nullptr) continue;
      auto* header = reinterpret_cast<std::int64_t*>(addresses_[b] - kExtentBytes);
      extents_.push_back({sizes_[b].data(), header, role_.buffers[b].sizes[0], output});
    }
  };
  find(instruction.inputs, false);
  find(instruction.outputs, true);
  resolved.extents = std::span(extents_.data() + first, extents_.size() - first);
}

Array ResolvedPlan::array(BufferId b) {
  return {addresses_[b], role_.buffers[b].dtype,   sizes_[b],       whole_[b],
          begin_[b],     role_.buffers[b].bounded, part_indices_[b]};
}

Type ResolvedPlan::type(BufferId b) const {
  const Buffer& buffer = role_.buffers[b];
  Shape shape{std::span<const std::int64_t>(buffer.sizes)};
  if (buffer.bounded) shape[0] = Dim::at_most(buffer.sizes[0]);
  return {buffer.dtype, std::move(shape)};
}

void ResolvedPlan::throw_bad_extent(const Extent& extent, const Resolved& r) const {
  throw Error(Code::bug, "the extent {} of an input of '{}' is out of its bound {}", *extent.header,
              as_is(plan_.string(r.plan->name)), extent.bound);
}

}  // namespace ferry
