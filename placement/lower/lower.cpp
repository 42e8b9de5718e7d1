#include "placement/lower/lower.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "graph/op/core_ops.hpp"
#include "placement/class/class_plan.hpp"
#include "placement/class/place_strands.hpp"
#include "placement/class/plan_memory.hpp"
#include "placement/class/update_variables.hpp"
#include "placement/layout/joined_parts.hpp"
#include "placement/layout/strategy.hpp"
#include "placement/lower/class_kernels.hpp"
#include "placement/lower/pending_messages.hpp"
#include "placement/lower/turn_sorter.hpp"
#include "placement/messages/number_messages.hpp"
#include "placement/program/parts.hpp"
#include "placement/program/program.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {
namespace {

/// Makes one class's part of the plan.
class ClassBuilder {
 public:
  ClassBuilder(Lowering& shared, const ClassNodes& nodes, std::uint32_t plan_class, std::int32_t task)
      : shared_(shared),
        nodes_(nodes),
        class_(plan_class),
        program_(shared.program),
        tables_(shared.tables),
        task_(task),
        plan_(shared.tables),
        role_(plan_.role),
        buffers_(program_, tables_, task, nodes.wheres(plan_class), role_),
        kernels_(shared, plan_, buffers_),
        pending_messages_(plan_, program_, shared.plan, shared.messages) {}

  ClassPlan build() {
    role_.threads = static_cast<std::uint32_t>(program_.topology->tasks[task_].threads);
    const auto serving = std::ranges::find(program_.servings, task_, &ProgramServing::task);
    if (serving != program_.servings.end()) turns_.emplace(*serving, program_, shared_.messages, plan_);
    reserve();
    place_joined();
    emit_region(0, 1);
    for (const RegionId region : {1U, 0U}) in_region(region, [&] { pending_messages_.wait_for_all(); });
    if (turns_) turns_->arrange();
    return std::move(plan_);
  }

 private:
  /// Reserves room for the step's instructions, so that the lists grow without moving.
  void reserve() {
    std::size_t nodes = 0, operands = 0;
    for (const NodeId id : nodes_.of(class_)) {
      const Node& node = program_.nodes[id];
      if (node.where == kNone || !buffers_.is_task_in(node.where)) continue;
      ++nodes;
      operands += node.inputs + node.outputs.count;
    }
    role_.buffers.reserve(nodes + nodes / 8);
    plan_.reserve(nodes + nodes / 8, operands + operands / 8);
  }

  /// Puts values that share a message side by side in one buffer. It runs before any of these values is defined, so
  /// that kernels write them there.
  void place_joined() {
    std::vector<PValueId> stored;
    for (const NodeId id : nodes_.of(class_)) {
      const Node& node = program_.nodes[id];
      if (!is_joined(node)) continue;
      stored.clear();
      for (PValueId given : program_.inputs(node)) stored.push_back(program_.stored(given));
      if (buffers_.holds(stored[0])) buffers_.join(stored, name_of(node));
    }
  }

  // ---- Regions ----

  template <class F>
  void in_region(RegionId region, F f) {
    const std::uint32_t outer = plan_.enter(region);
    f();
    plan_.enter(outer);
  }

  void emit_region(ProgramRegionId from, std::uint32_t to) {
    const std::uint32_t outer = plan_.enter(to);
    for (const NodeId id : nodes_.of(class_, from)) emit(id);
    plan_.enter(outer);
  }

  void emit(NodeId id) {
    const Node& node = program_.nodes[id];
    const std::uint32_t outer = plan_.region();
    if (node.once) plan_.enter(0);
    switch (node.kind) {
      case NodeKind::compute:
        if (here(node)) compute(node);
        break;
      case NodeKind::feed:
        if (here(node)) port(node, Opcode::feed);
        break;
      case NodeKind::fetch:
        if (here(node)) port(node, Opcode::fetch);
        break;
      case NodeKind::variable:
        if (here(node)) variable(node);
        break;
      case NodeKind::assign:
        if (here(node)) assign(node);
        break;
      case NodeKind::transfer:
        transfer(id);
        break;
      case NodeKind::copy:
        if (here(node)) copy(node);
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
        break;
    }
    plan_.enter(outer);
    if (turns_) turns_->assign_turn(id);
  }

  [[nodiscard]] bool here(const Node& node) const { return buffers_.is_task_in(node.where); }
  [[nodiscard]] bool in_turn(const Node& node) const {
    return turns_ && program_.turns.contains(static_cast<NodeId>(&node - program_.nodes.data()));
  }

  // ---- Nodes ----

  void compute(const Node& node) {
    const auto inputs = program_.inputs(node);
    if (node.def->is(kView)) {
      buffers_.view(node.outputs[0], buffers_.of(inputs[0]));
      if (pending_messages_.brings(inputs[0])) pending_messages_.add_view(node.outputs[0], inputs[0]);
      return;
    }
    in_.clear();
    for (std::uint32_t i = 0; i < node.inputs; ++i)
      in_.push_back(is_unread(program_, node, i) ? buffers_.sizes_only(inputs[i], node.where) : use(inputs[i]));
    kernels_.add(node, make_instruction(Opcode::kernel, node), in_);
  }

  /// Makes the output an alias of the input; copy_between_devices later adds copies where the value is needed. A copy
  /// in a turn is an instruction of its own.
  void copy(const Node& node) {
    const auto inputs = program_.inputs(node);
    if (in_turn(node)) {
      plan_.push(make_instruction(Opcode::copy, node), {use(inputs[0])}, {buffers_.define(node.outputs[0])});
      return;
    }
    const auto held = std::ranges::find_if(inputs, [&](PValueId input) { return buffers_.holds(input); });
    if (joins_parts(program_, node))
      buffers_.view(node.outputs[0], buffers_.of(*held));
    else
      buffers_.alias(node.outputs[0], buffers_.of(*held));
    if (pending_messages_.brings(*held)) pending_messages_.add_view(node.outputs[0], *held);
  }

  void port(const Node& node, Opcode what) {
    Instruction instruction = make_instruction(what, node);
    instruction.target = node.detail;
    if (what == Opcode::feed)
      plan_.push(instruction, {}, {buffers_.define_on_host(node.outputs[0])});
    else
      plan_.push(instruction, {use(program_.inputs(node)[0])}, {});
  }

  void variable(const Node& node) {
    const BufferId buffer = buffers_.define(node.outputs[0]);
    role_.buffers[buffer].space = Buffer::Space::state;
    role_.variables.push_back({name_of(node), buffer});
    if (shared_.packable[node.op] && role_.devices[role_.buffers[buffer].device].kind == DeviceKind::cpu)
      kernels_.add_kept(buffer);
  }

  void assign(const Node& node) {
    const auto inputs = program_.inputs(node);
    const BufferId value = use(inputs[1]);
    buffers_.alias(node.outputs[0], value);
    Instruction copy = make_instruction(Opcode::copy, node);
    if (!in_turn(node)) {
      plan_.updates.push_back({buffers_.of(inputs[0]), value, copy});
      return;
    }
    BufferId from = value;
    if (role_.buffers[storage_of(role_, from)].space == Buffer::Space::state) {  // another assignment may change it
      from = buffers_.add_copy_of(value);
      plan_.push(copy, {value}, {from});
    }
    copy.attrs = tables_.attrs(node.attrs);
    plan_.push(copy, {from}, {buffers_.of(inputs[0])});
  }

  // ---- Messages ----

  void transfer(NodeId id) {
    const Node& node = program_.nodes[id];
    const Range channels = shared_.messages.channels.at(id);
    if (sender_of(program_, node) == task_) {
      std::vector<PendingMessages::Start> sends;
      const std::vector<BufferId> sent = chunks_to_send(given(node), channels, make_instruction(Opcode::copy, node));
      for (std::uint32_t k = 0; k < channels.count; ++k) sends.push_back({message(Opcode::send, id, k), {sent[k]}, {}});
      pending_messages_.start(std::move(sends), {});
    }
    if (program_.where(node).tasks[0] == task_) {
      std::vector<PendingMessages::Start> receives;
      const std::vector<PValueId> brought = results(node);
      const auto got = chunks_of(define_received(node, brought), channels);
      FERRY_ASSERT(got.has_value(), "a value that is received cannot be cut into chunks");
      for (std::uint32_t k = 0; k < channels.count; ++k)
        receives.push_back({message(Opcode::receive, id, k), {}, {(*got)[k]}});
      pending_messages_.start(std::move(receives), brought);
    }
  }

  /// The k-th message of a transfer.
  Instruction message(Opcode what, NodeId id, std::uint32_t k) {
    Instruction instruction = make_instruction(what, program_.nodes[id]);
    instruction.target = shared_.messages.channels.at(id)[k];
    return instruction;
  }

  /// The parts of the buffer that these channels send or receive, or nullopt if the buffer cannot be cut into them.
  std::optional<std::vector<BufferId>> chunks_of(BufferId buffer, Range channels) {
    if (channels.count == 1) return std::vector{buffer};
    std::vector<std::int64_t> elements;
    for (const std::uint32_t c : channels)
      elements.push_back(
          static_cast<std::int64_t>(shared_.plan.channels[c].bytes / size_of(shared_.plan.channels[c].dtype)));
    const std::vector<BufferId>* const chunks = buffers_.cut_into_chunks(buffer, elements);
    return chunks == nullptr ? std::nullopt : std::optional(*chunks);
  }

  /// The same for sending. If the buffer cannot be cut, adds `copy` to a new buffer, which can.
  std::vector<BufferId> chunks_to_send(BufferId buffer, Range channels, const Instruction& copy) {
    if (auto chunks = chunks_of(buffer, channels)) return *std::move(chunks);
    const BufferId apart = buffers_.add_copy_of(buffer);
    plan_.push(copy, {buffer}, {apart});
    return *chunks_of(apart, channels);
  }

  void collective(NodeId id) {
    const Node& node = program_.nodes[id];
    for (std::uint32_t number : shared_.messages.collectives.at(id)) {
      const Collective& collective = shared_.plan.collectives[number];
      const Membership& place = membership_in(collective.grouping);
      if (place.group == nullptr) continue;
      const Schedule& schedule = shared_.plan.schedules[collective.schedule];
      Instruction instruction = make_instruction(Opcode::collective, node);
      instruction.target = number;
      instruction.in_place = schedule.in_place ? 1 : 0;
      std::vector<BufferId> in, out;
      std::vector<PValueId> brought;
      if (schedule.has_input(place.member) && buffers_.holds(program_.inputs(node)[0])) in.push_back(given(node));
      if (schedule.has_output(place.member) && buffers_.holds(node.outputs[0])) {
        brought = results(node);
        out.push_back(define_received(node, brought));
      }
      const std::int64_t staging = staging_of(schedule, collective, place.member);
      if (staging > 0)
        instruction.scratch = collective.gpu == kNone ? buffers_.scratch_on_host(staging)
                                                      : buffers_.scratch_on_gpu(collective.gpu, staging);
      pending_messages_.start({{instruction, std::move(in), std::move(out)}}, brought);
    }
  }

  const Membership& membership_in(std::uint32_t grouping) {
    const auto [at, fresh] = places_.try_emplace(grouping);
    if (fresh) at->second = membership(shared_.plan.groupings[grouping], task_);
    return at->second;
  }

  static bool is_joined(const Node& node) {
    return (node.kind == NodeKind::collective || node.kind == NodeKind::transfer) && node.inputs > 1;
  }

  static std::vector<PValueId> results(const Node& node) {
    std::vector<PValueId> values(node.outputs.count);
    std::iota(values.begin(), values.end(), node.outputs[0]);
    return values;
  }

  /// The buffer that a message sends. It holds one value, or several values side by side.
  BufferId given(const Node& node) {
    const PValueId first = program_.inputs(node)[0];
    return node.inputs == 1 ? use(first) : storage_of(role_, buffers_.of(first));
  }

  /// Defines the buffer for the values that a message brings.
  BufferId define_received(const Node& node, const std::vector<PValueId>& brought) {
    if (brought.size() == 1) return buffers_.define(brought[0]);
    buffers_.join(brought, name_of(node));
    for (PValueId value : brought) buffers_.define(value);
    return storage_of(role_, buffers_.of(brought[0]));
  }

  /// Bytes of staging that suffice for every member of this class. (Roots share their class with roots only.)
  static std::int64_t staging_of(const Schedule& schedule, const Collective& collective, int member) {
    const bool at_root = member == schedule.root && is_rooted(schedule.kind);
    const bool staged = at_root ? schedule.slots_of(member) > 0 : schedule.non_root_uses_slots();
    return staged ? schedule.slots * slot_bytes(schedule, collective.parts, collective.dtype) : 0;
  }

  // ---- Control flow ----

  void loop(const Node& node) {
    const auto inputs = program_.inputs(node);
    const ProgramRegion& condition = program_.regions[node.detail];
    const ProgramRegion& body = program_.regions[node.detail + 1];
    const std::size_t captures = condition.parameters.size() - node.outputs.count;
    std::vector<BufferId> carried;
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
      const PValueId output = node.outputs[i];
      if (!buffers_.holds(output)) continue;
      const BufferId from = use(inputs[i]);
      const BufferId buffer = buffers_.define(output);
      plan_.push(make_instruction(Opcode::copy, node), {from}, {buffer});
      carried.push_back(buffer);
      buffers_.alias(condition.parameters[i], buffer);
      buffers_.alias(body.parameters[i], buffer);
    }
    alias_captures(condition, node.outputs.count, inputs.subspan(node.outputs.count, captures));
    alias_captures(body, node.outputs.count, inputs.subspan(node.outputs.count + captures));
    const auto [first, second] = plan_.add(Region::Kind::condition, Region::Kind::body);
    emit_region(node.detail, first);
    BufferId predicate = kNone;
    in_region(first, [&] {
      predicate = use(condition.results[0]);
      pending_messages_.wait_for_all();
    });
    emit_region(node.detail + 1, second);
    in_region(second, [&] { carry_over(node, body); });
    Instruction instruction = make_instruction(Opcode::loop, node);
    instruction.target = first;
    instruction.other = second;
    plan_.push(instruction, {predicate}, carried);
  }

  /// Copies the body's results to the carried values. All copies come together, after the waits for all messages that
  /// use the old values.
  void carry_over(const Node& node, const ProgramRegion& body) {
    std::vector<std::pair<BufferId, BufferId>> copies;
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
      if (!buffers_.holds(node.outputs[i])) continue;
      BufferId from = use(body.results[i]);
      const BufferId to = buffers_.of(body.parameters[i]);
      if (from == to) continue;
      const bool is_parameter =
          std::any_of(body.parameters.begin(), body.parameters.begin() + node.outputs.count, [&](PValueId p) {
            return buffers_.known(p) && storage_of(role_, buffers_.of(p)) == storage_of(role_, from);
          });
      if (is_parameter) {
        const BufferId kept = buffers_.add_copy_of(from);
        plan_.push(make_instruction(Opcode::copy, node), {from}, {kept});
        from = kept;
      }
      copies.emplace_back(from, to);
    }
    pending_messages_.wait_for_all();
    for (const auto& [from, to] : copies) plan_.push(make_instruction(Opcode::copy, node), {from}, {to});
  }

  void branch(const Node& node) {
    const auto inputs = program_.inputs(node);
    const ProgramRegion& then_branch = program_.regions[node.detail];
    const ProgramRegion& else_branch = program_.regions[node.detail + 1];
    const BufferId predicate = use(inputs[0]);
    alias_captures(then_branch, 0, inputs.subspan(1, then_branch.parameters.size()));
    alias_captures(else_branch, 0, inputs.subspan(1 + then_branch.parameters.size()));
    std::vector<BufferId> outputs;
    for (const PValueId output : node.outputs)
      if (buffers_.holds(output)) outputs.push_back(buffers_.define(output));
    const auto [first, second] = plan_.add(Region::Kind::branch, Region::Kind::branch);
    for (std::uint32_t k = 0; k < 2; ++k) {
      const ProgramRegion& from = program_.regions[node.detail + k];
      const std::uint32_t to = k == 0 ? first : second;
      emit_region(node.detail + k, to);
      in_region(to, [&] {
        for (std::uint32_t i = 0; i < node.outputs.count; ++i)
          if (buffers_.holds(node.outputs[i]))
            plan_.push(make_instruction(Opcode::copy, node), {use(from.results[i])}, {buffers_.of(node.outputs[i])});
        pending_messages_.wait_for_all();
      });
    }
    Instruction instruction = make_instruction(Opcode::branch, node);
    instruction.target = first;
    instruction.other = second;
    plan_.push(instruction, {predicate}, outputs);
  }

  void alias_captures(const ProgramRegion& region, std::size_t carried, std::span<const PValueId> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (buffers_.holds(region.parameters[carried + i]))
        buffers_.alias(region.parameters[carried + i], use(arguments[i]));
  }

  /// The buffer of a value that is about to be read. Waits for the message that brings it, if there is one.
  BufferId use(PValueId value) {
    if (pending_messages_.brings(value)) pending_messages_.wait_for(value);
    return buffers_.of(value);
  }

  // ---- Instructions ----

  Instruction make_instruction(Opcode what, const Node& node) {
    Instruction instruction;
    instruction.what = what;
    instruction.name = name_of(node);
    instruction.line = tables_.line(program_.line(node));
    return instruction;
  }

  std::uint32_t name_of(const Node& node) {
    if (is_joined(node)) return tables_.string(program_.name(node));
    if (node.kind == NodeKind::transfer || node.kind == NodeKind::copy || node.kind == NodeKind::collective ||
        node.kind == NodeKind::fetch)
      return buffers_.name_of(program_.inputs(node)[0]);
    return tables_.op_name(*node.graph, node.op);
  }

  const Lowering& shared_;
  const ClassNodes& nodes_;
  const std::uint32_t class_;
  const Program& program_;
  PlanTables& tables_;
  std::int32_t task_;
  ClassPlan plan_;
  PlanClass& role_;  // plan_.role
  ClassBuffers buffers_;
  ClassKernels kernels_;
  PendingMessages pending_messages_;
  std::optional<TurnSorter> turns_;             // only if the task serves workers
  std::vector<BufferId> in_;                    // scratch of compute()
  std::map<std::uint32_t, Membership> places_;  // the task's place in each grouping of the plan
};

}  // namespace

ClassPlan lower(Lowering& shared, const ClassNodes& nodes, std::int32_t task) {
  return ClassBuilder(shared, nodes, shared.plan.class_of[task], task).build();
}

}  // namespace ferry
