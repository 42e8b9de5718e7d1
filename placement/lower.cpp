// lower: from the program, which speaks of all tasks, to the instructions of each plan class.
//
// Every class's list is a projection of one global order. A transfer's send and receive stand where its value is made,
// the receive_wait where the value is first used, the send_wait a few sends later or at the region's end; a collective
// stands where its result is first used. So the least unfinished instruction of the job can always run, also when
// nothing is buffered.
#include <algorithm>
#include <deque>
#include <initializer_list>
#include <map>
#include <span>
#include <unordered_map>

#include "graph/core_ops.hpp"
#include "placement/classes.hpp"
#include "placement/memory.hpp"
#include "placement/messages.hpp"
#include "placement/plan_tables.hpp"
#include "placement/program.hpp"
#include "placement/strands.hpp"
#include "placement/strategy.hpp"
#include "placement/variable_updates.hpp"

namespace ferry {
namespace {

/// What the classes share.
struct Shared {
  const Program& program;
  const Plan& plan;
  PlanTables& tables;
  const MessageNumbers& messages;
  std::vector<bool> ordered;  ///< of the graph's ops: others are to run after it
};

/// Makes one class's part of the plan.
class ClassBuilder {
 public:
  ClassBuilder(const Shared& shared, std::int32_t task)
      : shared_(shared),
        program_(shared.program),
        tables_(shared.tables),
        task_(task),
        buffer_of_(program_.values.size(), kNone),
        device_of_(program_.wheres.size(), kNone),
        arriving_(program_.values.size()) {
    for (const Where& where : program_.wheres) on_where_.push_back(where.has(task));
  }

  PlanClass build() {
    plan().threads = static_cast<std::uint32_t>(program_.topology->tasks[static_cast<std::size_t>(task_)].threads);
    plan().regions.resize(2);
    plan().regions[0].kind = Region::Kind::setup;
    plan().regions[1].kind = Region::Kind::step;
    lists_.resize(2);
    reserve();
    emit_region(0, 1);
    finish_step();
    finish_region(0);
    join_lists();
    place_strands(plan_class_, work_);
    plan_memory(plan_class_);
    return std::move(plan_class_);
  }

 private:
  /// Buffers as an argument: {a, b} or a vector.
  struct List {
    List(std::initializer_list<std::uint32_t> list) : items(list.begin(), list.size()) {}
    List(const std::vector<std::uint32_t>& list) : items(list) {}  // NOLINT
    std::span<const std::uint32_t> items;
  };
  struct LocalSizes {
    Sizes sizes;
    std::int64_t count = 0;
  };
  /// What is the same for all kernels of an op on a kind of device.
  struct KernelFacts {
    const OpDef* def = nullptr;
    DeviceKind kind = DeviceKind::cpu;
    std::uint32_t op = kNone;
    std::uint32_t in_place = 0;
    bool scratch = false;
  };

  struct Pending {
    std::uint32_t channel;
    std::uint32_t buffer;
    NodeId node;
  };

  PlanClass& plan() { return plan_class_; }

  /// Room for what the step will have, so that nothing is moved while the lists grow.
  void reserve() {
    std::size_t nodes = 0, operands = 0;
    for (const Node& node : program_.nodes) {
      if (node.where == kNone || !on_where_[node.where]) continue;
      ++nodes;
      operands += node.inputs + node.outputs;
    }
    lists_[1].reserve(nodes + nodes / 8);
    plan().buffers.reserve(nodes + nodes / 8);
    plan().operands.reserve(operands + operands / 8);
  }

  // ---- Regions ----

  template <class F>
  auto in_region(std::uint32_t region, F f) {
    const std::uint32_t outer = std::exchange(region_, region);
    const auto result = f();
    region_ = outer;
    return result;
  }

  void emit_region(RegionId from, std::uint32_t to) {
    const std::uint32_t outer = std::exchange(region_, to);
    for (NodeId id : program_.regions[from].order) {
      if (program_.nodes[id].kind == NodeKind::transfer) continue;  // stands where its value is made
      emit(id);
      start_transfers(id);
    }
    region_ = outer;
  }

  void start_transfers(NodeId id) {
    if (!shared_.messages.sent_on[id]) return;
    const auto found = shared_.messages.transfers_after.find(id);
    for (NodeId transfer : found->second) {
      start_transfer(transfer);
      start_transfers(transfer);
    }
  }

  /// Waits for what is still under way in a region, so that it may be repeated or left.
  void finish_region(std::uint32_t region) {
    const std::uint32_t outer = std::exchange(region_, region);
    auto& receives = receiving_[region];
    while (!receives.empty()) wait_receive(receives.begin()->first);
    auto& sends = sending_[region];
    while (!sends.empty()) wait_send();
    region_ = outer;
  }

  void emit(NodeId id) {
    const Node& node = program_.nodes[id];
    const std::uint32_t outer = region_;
    if (node.once) region_ = 0;
    switch (node.kind) {
      case NodeKind::compute:
        if (here(node)) compute(node);
        break;
      case NodeKind::feed:
        if (here(node)) port(node, Do::feed);
        break;
      case NodeKind::fetch:
        if (here(node)) port(node, Do::fetch);
        break;
      case NodeKind::variable:
        if (here(node)) variable(node);
        break;
      case NodeKind::assign:
        if (here(node)) assign(node);
        break;
      case NodeKind::collective:
        collective(id);
        break;
      case NodeKind::loop:
        if (here(node)) loop(node);
        break;
      case NodeKind::branch:
        if (here(node)) branch(node);
        break;
      case NodeKind::parameter:
      case NodeKind::transfer:
        break;
    }
    region_ = outer;
  }

  [[nodiscard]] bool here(const Node& node) const { return on_where_[node.where]; }
  [[nodiscard]] bool holds(PValueId value) const {
    const WhereId where = program_.values[value].where;
    return where != kNone && on_where_[where];
  }

  // ---- Nodes ----

  void compute(const Node& node) {
    Instruction instruction = named(Do::kernel, node);
    const auto inputs = program_.inputs(node);
    if (node.def->is(kView)) {
      buffer_of_[node.first_output] = view(node.first_output, use(inputs[0]));
      return;
    }
    const DeviceKind kind = program_.where(node).kind;
    if (facts_.def != node.def || facts_.kind != kind) facts_ = facts_of(*node.def, kind);
    instruction.op = facts_.op;
    instruction.attrs = tables_.attrs(node.attrs);
    if (region_ == 1 && plan().threads > 1 && is_free(node)) instruction.thread = kAnyThread;
    in_.clear();
    out_.clear();
    for (std::uint32_t i = 0; i < node.inputs; ++i)
      in_.push_back(is_unread(program_, node, i) ? sizes_only(inputs[i], node) : use(inputs[i]));
    for (std::uint32_t o = 0; o < node.outputs; ++o) out_.push_back(define(node.first_output + o));
    if (facts_.scratch) {
      const std::int64_t scratch =
          program_.capabilities->scratch_bytes(*node.def, kind, *node.attrs, types_of(in_), types_of(out_));
      if (scratch > 0) instruction.scratch = scratch_buffer(node, scratch);
    }
    push(instruction, in_, out_, facts_.in_place);
  }

  /// Any thread may run it: it has no effect, and the user did not order it among others.
  bool is_free(const Node& node) const {
    const Op op = node.graph->op(node.op);
    const bool ordered = &op.graph() == program_.graph && shared_.ordered[op.id()];
    return !ordered && op.after().empty() && !node.def->is(kEffect) && !node.def->is(kStateful);
  }

  KernelFacts facts_of(const OpDef& def, DeviceKind kind) {
    if (def.flops > 0) work_[tables_.string(def.name)] = def.flops * kNanosecondsPerFlop;
    const Capabilities& kernels = *program_.capabilities;
    return {&def, kind, tables_.string(def.name), kernels.in_place(def.name, kind),
            kernels.has_scratch(def.name, kind)};
  }

  std::vector<Type> types_of(const std::vector<std::uint32_t>& buffers) {
    std::vector<Type> types;
    for (std::uint32_t b : buffers) types.push_back(type_of(b));
    return types;
  }

  void port(const Node& node, Do what) {
    Instruction instruction = named(what, node);
    instruction.target = node.detail;
    if (what == Do::feed)
      push(instruction, {}, {define(node.first_output)});
    else
      push(instruction, {use(program_.inputs(node)[0])}, {});
  }

  void variable(const Node& node) {
    const std::uint32_t buffer = define(node.first_output);
    plan().buffers[buffer].space = Buffer::Space::state;
    plan().variables.push_back({name_of(node), buffer});
  }

  void assign(const Node& node) {
    const auto inputs = program_.inputs(node);
    const std::uint32_t value = use(inputs[1]);
    buffer_of_[node.first_output] = value;
    assigns_.push_back({buffer(inputs[0]), value, named(Do::copy, node)});
  }

  void finish_step() {
    const std::uint32_t outer = std::exchange(region_, 1);
    finish_region(1);
    update_variables(plan_class_, lists_[1], std::move(assigns_));
    region_ = outer;
  }

  // ---- Messages ----

  void start_transfer(NodeId id) {
    const Node& node = program_.nodes[id];
    const std::uint32_t outer = region_;
    if (node.once) region_ = 0;
    const std::uint32_t channel = shared_.messages.channels.at(id);
    if (sender_of(program_, node) == task_) {
      Instruction send = named(Do::send, node);
      send.target = channel;
      const std::uint32_t buffer = use(program_.inputs(node)[0]);
      push(send, {buffer}, {});
      sending_[region_].push_back({channel, buffer, id});
      if (sending_[region_].size() > kSendsUnderWay) wait_send();
    }
    if (program_.where(node).tasks[0] == task_) {
      Instruction receive = named(Do::receive, node);
      receive.target = channel;
      const std::uint32_t buffer = define(node.first_output);
      push(receive, {}, {buffer});
      receiving_[region_][node.first_output] = {channel, buffer, id};
      arriving_[node.first_output] = true;
    }
    region_ = outer;
  }

  void wait_send() {
    const Pending pending = sending_[region_].front();
    sending_[region_].pop_front();
    Instruction wait = named(Do::send_wait, program_.nodes[pending.node]);
    wait.target = pending.channel;
    push(wait, {pending.buffer}, {});
  }

  void wait_receive(PValueId value) {
    const auto at = receiving_[region_].find(value);
    const Pending pending = at->second;
    receiving_[region_].erase(at);
    arriving_[value] = false;
    Instruction wait = named(Do::receive_wait, program_.nodes[pending.node]);
    wait.target = pending.channel;
    push(wait, {}, {pending.buffer});
  }

  void collective(NodeId id) {
    const Node& node = program_.nodes[id];
    for (std::uint32_t number : shared_.messages.collectives.at(id)) {
      const Collective& collective = shared_.plan.collectives[number];
      const Membership place = membership(shared_.plan.groupings[collective.grouping], task_);
      if (place.group == nullptr) continue;
      const Schedule& schedule = shared_.plan.schedules[collective.schedule];
      const bool is_root = place.member == schedule.root;
      Instruction instruction = named(Do::collective, node);
      instruction.target = number;
      std::vector<std::uint32_t> in, out;
      const bool from_root = schedule.kind == CollectiveKind::broadcast || schedule.kind == CollectiveKind::scatter;
      const bool to_root = schedule.kind == CollectiveKind::gather || schedule.kind == CollectiveKind::reduce;
      const PValueId given = program_.inputs(node)[0];
      if ((!from_root || is_root) && holds(given)) in.push_back(use(given));
      if (!(to_root && !is_root) && holds(node.first_output)) out.push_back(define(node.first_output));
      const std::int64_t staging = staging_of(schedule, collective, place.member);
      if (staging > 0) instruction.scratch = scratch_buffer(node, staging);
      push(instruction, in, out);
    }
  }

  /// What every member needs that may be of the class: only roots are of classes of their own.
  static std::int64_t staging_of(const Schedule& schedule, const Collective& collective, int member) {
    std::int64_t most = staging_bytes(schedule, collective.parts, collective.dtype, member);
    if (member == schedule.root && is_rooted(schedule.kind)) return most;
    for (int other = 0; other < schedule.members && schedule.slots > 0; ++other)
      if (other != schedule.root || !is_rooted(schedule.kind))
        most = std::max(most, staging_bytes(schedule, collective.parts, collective.dtype, other));
    return most;
  }

  // ---- Control flow ----

  std::pair<std::uint32_t, std::uint32_t> add_regions(Region::Kind first, Region::Kind second) {
    const auto at = static_cast<std::uint32_t>(plan().regions.size());
    plan().regions.push_back({first, {}});
    plan().regions.push_back({second, {}});
    lists_.resize(plan().regions.size());
    return {at, at + 1};
  }

  void loop(const Node& node) {
    const auto inputs = program_.inputs(node);
    const ProgramRegion& condition = program_.regions[node.detail];
    const ProgramRegion& body = program_.regions[node.detail + 1];
    const std::size_t captures = condition.parameters.size() - node.outputs;
    std::vector<std::uint32_t> carried;
    for (std::uint32_t i = 0; i < node.outputs; ++i) {
      const PValueId output = node.first_output + i;
      if (!holds(output)) continue;
      const std::uint32_t from = use(inputs[i]);
      const std::uint32_t buffer = define(output);
      push(named(Do::copy, node), {from}, {buffer});
      carried.push_back(buffer);
      buffer_of_[condition.parameters[i]] = buffer_of_[body.parameters[i]] = buffer;
    }
    alias_captures(condition, node.outputs, inputs.subspan(node.outputs, captures));
    alias_captures(body, node.outputs, inputs.subspan(node.outputs + captures));
    const auto [first, second] = add_regions(Region::Kind::condition, Region::Kind::body);
    emit_region(node.detail, first);
    const std::uint32_t predicate = in_region(first, [&] { return use(condition.results[0]); });
    finish_region(first);
    emit_region(node.detail + 1, second);
    carry_over(node, body, second);
    finish_region(second);
    Instruction instruction = named(Do::loop, node);
    instruction.target = first;
    instruction.other = second;
    push(instruction, {predicate}, carried);
  }

  /// The body's results become the carried values, all at once.
  void carry_over(const Node& node, const ProgramRegion& body, std::uint32_t region) {
    in_region(region, [&] {
      std::vector<std::pair<std::uint32_t, std::uint32_t>> copies;
      for (std::uint32_t i = 0; i < node.outputs; ++i) {
        if (!holds(node.first_output + i)) continue;
        std::uint32_t from = use(body.results[i]);
        const std::uint32_t to = buffer(body.parameters[i]);
        if (from == to) continue;
        const bool is_parameter =
            std::any_of(body.parameters.begin(), body.parameters.begin() + node.outputs, [&](PValueId p) {
              return buffer_of_[p] != kNone && storage_of(plan_class_, buffer_of_[p]) == storage_of(plan_class_, from);
            });
        if (is_parameter) {
          const std::uint32_t kept = copy_of(from);
          push(named(Do::copy, node), {from}, {kept});
          from = kept;
        }
        copies.emplace_back(from, to);
      }
      while (!sending_[region].empty()) wait_send();  // a carried value may still be on its way to others
      for (const auto& [from, to] : copies) push(named(Do::copy, node), {from}, {to});
      return 0;
    });
  }

  void branch(const Node& node) {
    const auto inputs = program_.inputs(node);
    const ProgramRegion& then_branch = program_.regions[node.detail];
    const ProgramRegion& else_branch = program_.regions[node.detail + 1];
    const std::uint32_t predicate = use(inputs[0]);
    alias_captures(then_branch, 0, inputs.subspan(1, then_branch.parameters.size()));
    alias_captures(else_branch, 0, inputs.subspan(1 + then_branch.parameters.size()));
    std::vector<std::uint32_t> outputs;
    for (std::uint32_t i = 0; i < node.outputs; ++i)
      if (holds(node.first_output + i)) outputs.push_back(define(node.first_output + i));
    const auto [first, second] = add_regions(Region::Kind::branch, Region::Kind::branch);
    for (std::uint32_t k = 0; k < 2; ++k) {
      const ProgramRegion& from = program_.regions[node.detail + k];
      const std::uint32_t to = k == 0 ? first : second;
      emit_region(node.detail + k, to);
      in_region(to, [&] {
        for (std::uint32_t i = 0; i < node.outputs; ++i)
          if (holds(node.first_output + i))
            push(named(Do::copy, node), {use(from.results[i])}, {buffer(node.first_output + i)});
        return 0;
      });
      finish_region(to);
    }
    Instruction instruction = named(Do::branch, node);
    instruction.target = first;
    instruction.other = second;
    push(instruction, {predicate}, outputs);
  }

  void alias_captures(const ProgramRegion& region, std::size_t carried, std::span<const PValueId> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (holds(region.parameters[carried + i])) buffer_of_[region.parameters[carried + i]] = use(arguments[i]);
  }

  // ---- Buffers ----

  /// The buffer of a value that is about to be read: a receive under way is waited for, in the region that started it.
  std::uint32_t use(PValueId value) {
    if (arriving_[value])
      for (auto& [region, receives] : receiving_) {
        if (!receives.contains(value)) continue;
        in_region(region, [&] {
          wait_receive(value);
          return 0;
        });
        break;
      }
    return buffer(value);
  }

  std::uint32_t buffer(PValueId value) const {
    FERRY_ASSERT(buffer_of_[value] != kNone,
                 "a value is used on a task that does not have it: " + program_.name(value));
    return buffer_of_[value];
  }

  std::uint32_t define(PValueId value) {
    const PValue& v = program_.values[value];
    const LocalSizes sizes = local(v);
    Buffer buffer;
    buffer.dtype = v.type.dtype;
    buffer.sizes = sizes.sizes;
    buffer.bytes = static_cast<std::uint64_t>(sizes.count) * size_of(buffer.dtype);
    buffer.bounded = v.type.shape.bounded();
    buffer.device = device(v.where);
    buffer.window = window(v);
    buffer.name = name_of(value);
    return buffer_of_[value] = add_buffer(std::move(buffer));
  }

  LocalSizes local(const PValue& value) {
    const bool whole = value.layout.empty();
    if (whole)
      if (const auto known = sizes_of_.find(value.type.shape.dims().data()); known != sizes_of_.end())
        return known->second;
    LocalSizes sizes;
    sizes.sizes = local_sizes(program_, value, task_);
    sizes.count = checked_count(sizes.sizes);
    if (whole) sizes_of_.emplace(value.type.shape.dims().data(), sizes);
    return sizes;
  }

  std::uint32_t add_buffer(Buffer buffer) {
    const auto id = static_cast<std::uint32_t>(plan().buffers.size());
    plan().buffers.push_back(std::move(buffer));
    return id;
  }

  /// A buffer like `other`, with bytes of its own.
  std::uint32_t copy_of(std::uint32_t other) {
    Buffer buffer = plan().buffers[other];
    buffer.space = Buffer::Space::step;
    buffer.view_of = kNone;
    return add_buffer(std::move(buffer));
  }

  /// The same bytes under another shape.
  std::uint32_t view(PValueId value, std::uint32_t of) {
    const std::uint32_t id = define(value);
    plan().buffers[id].view_of = storage_of(plan_class_, of);
    plan().buffers[id].device = plan().buffers[of].device;
    return id;
  }

  /// What stands for an input of which only the whole value's sizes are used.
  std::uint32_t sizes_only(PValueId value, const Node& node) {
    const Type& type = program_.values[value].type;
    Buffer buffer;
    buffer.space = Buffer::Space::none;
    buffer.dtype = type.dtype;
    buffer.sizes = type.shape.sizes();
    buffer.bytes = static_cast<std::uint64_t>(type.bytes());
    buffer.device = device(node.where);
    buffer.name = name_of(value);
    return add_buffer(std::move(buffer));
  }

  std::uint32_t scratch_buffer(const Node& node, std::int64_t bytes) {
    Buffer buffer;
    buffer.dtype = DType::uint8;
    buffer.sizes = {bytes};
    buffer.bytes = static_cast<std::uint64_t>(bytes);
    buffer.device = device(node.where);
    return add_buffer(std::move(buffer));
  }

  std::uint32_t device(WhereId id) {
    if (device_of_[id] != kNone) return device_of_[id];
    const Where& where = program_.wheres[id];
    const auto index = static_cast<std::uint32_t>(where.index);
    std::uint32_t d = 0;
    while (d < plan().devices.size() && (plan().devices[d].kind != where.kind || plan().devices[d].index != index)) ++d;
    if (d == plan().devices.size()) plan().devices.push_back({where.kind, index, 0, 0});
    return device_of_[id] = d;
  }

  std::uint32_t window(const PValue& value) {
    const Where& where = program_.wheres[value.where];
    Window window;
    for (std::size_t axis = 0; axis < value.layout.size(); ++axis)
      if (value.layout[axis].kind == AxisLayout::Kind::split)
        window.splits.push_back({static_cast<std::uint32_t>(value.layout[axis].dim),
                                 tables_.grouping(program_.groupings[where.groupings[axis]])});
    if (window.splits.empty()) return kNone;
    window.sizes = value.type.shape.sizes();
    return tables_.window(std::move(window));
  }

  Type type_of(std::uint32_t id) {
    const Buffer& buffer = plan().buffers[id];
    Shape shape{std::span<const std::int64_t>(buffer.sizes)};
    if (buffer.bounded) shape[0] = Dim::at_most(buffer.sizes[0]);
    return {buffer.dtype, std::move(shape)};
  }

  // ---- Instructions ----

  Instruction named(Do what, const Node& node) {
    Instruction instruction;
    instruction.what = what;
    instruction.name = name_of(node);
    instruction.line = tables_.line(program_.line(node));
    return instruction;
  }

  std::uint32_t name_of(const Node& node) {
    if (node.kind == NodeKind::transfer || node.kind == NodeKind::collective || node.kind == NodeKind::fetch)
      return name_of(program_.inputs(node)[0]);
    return tables_.op_name(*node.graph, node.op);
  }
  std::uint32_t name_of(PValueId value) {
    return tables_.value_name(*program_.values[value].graph, program_.values[value].value);
  }

  Range operands(std::span<const std::uint32_t> buffers) {
    const auto begin = static_cast<std::uint32_t>(plan().operands.size());
    plan().operands.insert(plan().operands.end(), buffers.begin(), buffers.end());
    return {begin, static_cast<std::uint32_t>(buffers.size())};
  }

  void push(Instruction instruction, const List& in, const List& out, std::uint32_t in_place = 0) {
    instruction.inputs = operands(in.items);
    instruction.outputs = operands(out.items);
    instruction.in_place = in_place;
    lists_[region_].push_back(instruction);
  }

  /// The step's list is by far the longest: the others join it.
  void join_lists() {
    std::vector<Instruction>& all = lists_[1];
    const auto setup = static_cast<std::uint32_t>(lists_[0].size());
    plan().regions[0].instructions = {0, setup};
    plan().regions[1].instructions = {setup, static_cast<std::uint32_t>(all.size())};
    all.insert(all.begin(), lists_[0].begin(), lists_[0].end());
    for (std::size_t r = 2; r < lists_.size(); ++r) {
      plan().regions[r].instructions = {static_cast<std::uint32_t>(all.size()),
                                        static_cast<std::uint32_t>(lists_[r].size())};
      all.insert(all.end(), lists_[r].begin(), lists_[r].end());
    }
    plan().instructions = std::move(all);
  }

  static constexpr std::size_t kSendsUnderWay = 16;
  static constexpr double kNanosecondsPerFlop = 1.0 / 16;

  const Shared& shared_;
  const Program& program_;
  PlanTables& tables_;
  std::int32_t task_;
  PlanClass plan_class_;
  std::vector<std::vector<Instruction>> lists_;  // of each region
  std::uint32_t region_ = 1;
  std::vector<std::uint32_t> buffer_of_;                            // of each value; kNone: not here
  std::vector<bool> on_where_;                                      // of each device set: this task is in it
  std::vector<std::uint32_t> device_of_;                            // of each device set
  std::vector<bool> arriving_;                                      // of each value: a receive of it is under way
  std::unordered_map<const Dim*, LocalSizes> sizes_of_;             // of whole values, by the dims that shapes share
  std::unordered_map<std::uint32_t, double> work_;                  // nanoseconds for each output element, by op
  KernelFacts facts_;                                               // of the last kernel
  std::vector<std::uint32_t> in_, out_;                             // of the kernel at hand
  std::map<std::uint32_t, std::map<PValueId, Pending>> receiving_;  // by region
  std::map<std::uint32_t, std::deque<Pending>> sending_;
  std::vector<VariableUpdate> assigns_;
};

/// The ops after which the user wants others to run.
std::vector<bool> followed(const Graph& graph) {
  std::vector<bool> result(graph.size());
  for (OpId id = 0; id < graph.size(); ++id)
    for (OpId earlier : graph.op(id).after()) result[earlier] = true;
  return result;
}

void add_ports(const Program& program, Plan& plan, PlanTables& tables) {
  const Signature& signature = *program.signature;
  for (const Signature::Feed& feed : signature.feeds) {
    const Type& type = program.graph->type(feed.value);
    plan.feeds.push_back({tables.value_name(*program.graph, feed.value), feed.task, type.dtype, feed.sizes, false});
  }
  plan.fetches.resize(signature.fetches.size());
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::fetch) continue;
    const Type& type = program.values[program.inputs(node)[0]].type;
    plan.fetches[node.detail] = {tables.value_name(*program.graph, signature.fetches[node.detail]), signature.fetch_to,
                                 type.dtype, type.shape.sizes(), type.shape.bounded()};
  }
}

}  // namespace

Plan lower(const Program& program) {
  Plan plan;
  plan.topology = *program.topology;
  PlanTables tables(plan);
  add_ports(program, plan, tables);
  const MessageNumbers messages = number_messages(program, plan, tables);
  const Shared shared{program, plan, tables, messages, followed(*program.graph)};
  plan.class_of = task_classes(program);
  for (std::size_t task = 0; task < plan.class_of.size(); ++task)
    if (plan.class_of[task] == plan.classes.size())
      plan.classes.push_back(ClassBuilder(shared, static_cast<std::int32_t>(task)).build());
  return plan;
}

}  // namespace ferry
