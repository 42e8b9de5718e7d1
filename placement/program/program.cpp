#include "placement/program/program.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/may_fail.hpp"

namespace ferry {
namespace {

std::uint64_t hash_of(const Where& where) {
  const auto bytes_of = [](const auto& list) { return std::as_bytes(std::span(list)); };
  const std::uint64_t what = static_cast<std::uint64_t>(where.kind) << 32 | static_cast<std::uint32_t>(where.index);
  return hash64(bytes_of(where.axes), hash64(bytes_of(where.tasks), what));
}

}  // namespace

std::size_t Where::position(std::int32_t task) const {
  const auto guess = static_cast<std::size_t>(task - tasks[0]);
  if (guess < tasks.size() && tasks[guess] == task) return guess;
  return static_cast<std::size_t>(std::find(tasks.begin(), tasks.end(), task) - tasks.begin());
}

Layout Where::laid_out(Layout layout) const {
  for (std::size_t axis = 0; axis < layout.size(); ++axis)
    if (axes[axis] == 1) layout[axis] = replicated();
  return layout;
}

std::string Where::str() const {
  const std::string device = "/" + std::string(ferry::name_of(kind)) + ":" + std::to_string(index);
  if (single()) return "/task:" + std::to_string(tasks[0]) + device;
  std::string sizes;
  for (std::int64_t axis : axes) sizes.append(sizes.empty() ? "" : ",").append(std::to_string(axis));
  return "mesh[" + sizes + "]" + device;
}

std::uint32_t Program::argument(const Node& owner, ProgramRegionId body, std::size_t parameter) const {
  const std::size_t carried = owner.kind == NodeKind::loop ? owner.outputs.count : 0;
  if (parameter < carried) return static_cast<std::uint32_t>(parameter);
  const std::size_t before = owner.kind == NodeKind::loop ? carried : 1;
  const std::size_t of_first = body == owner.detail ? 0 : regions[owner.detail].parameters.size() - carried;
  return static_cast<std::uint32_t>(before + of_first + parameter - carried);
}

std::string Program::name(const Node& node) const {
  if (node.kind == NodeKind::transfer || node.kind == NodeKind::copy || node.kind == NodeKind::collective ||
      node.kind == NodeKind::fetch)
    return name(inputs(node)[0]) + (node.inputs > 1 ? " and " + std::to_string(node.inputs - 1) + " more" : "");
  return std::string(node.graph->op(node.op).name());
}

std::string Program::name(PValueId value) const {
  return values[value].graph->value_name(values[value].value);
}

std::string Program::text(const Annotation& annotation) const {
  return annotation.mesh != kNoMesh ? "mesh " + graph->meshes()[annotation.mesh].str() : annotation.device.str();
}

bool Program::runs_on_host(const Node& node) const {
  if (node.kind != NodeKind::compute) return false;
  if (node.def->is(kStateful) || node.def->is(kEffect) || node.def->is(kLocal) || node.def->is(kOnHost)) return true;
  const auto bounded = [this](PValueId value) { return values[value].type.shape.bounded(); };
  for (const PValueId output : node.outputs)
    if (bounded(output)) return true;
  return std::ranges::any_of(inputs(node), bounded);
}

bool Program::is_member(const Node& node) const {
  if (node.kind != NodeKind::copy || node.inputs != 1) return false;
  const Where &from = wheres[values[inputs(node)[0]].where], &to = where(node);
  return to.single() && !from.single() && from.kind == to.kind && from.index == to.index;
}

PValueId Program::stored(PValueId value) const {
  for (;;) {
    const Node& maker = nodes[values[value].producer];
    if (maker.kind != NodeKind::compute || !maker.def->is(kView)) return value;
    value = inputs(maker)[0];
  }
}

const std::vector<Layout>& Program::annotation_layouts(const Node& node) const {
  if (tried)
    if (const auto found = tried->layouts.find({node.graph, node.op}); found != tried->layouts.end())
      return found->second;
  return node.graph->op(node.op).annotation().layouts;
}

SourceLine Program::line(const Node& node) const {
  return node.graph->op(node.op).line();
}

NodeId Program::add(Node node, std::span<const PValueId> node_inputs, std::span<const Type> outputs) {
  const auto id = static_cast<NodeId>(nodes.size());
  node.first_input = static_cast<std::uint32_t>(operands.size());
  node.inputs = static_cast<std::uint32_t>(node_inputs.size());
  operands.insert(operands.end(), node_inputs.begin(), node_inputs.end());
  node.outputs.first = static_cast<PValueId>(values.size());
  node.outputs.count = static_cast<std::uint32_t>(outputs.size());
  for (const Type& type : outputs) values.push_back({type, id, kNone, {}, node.graph, 0});
  nodes.push_back(node);
  return id;
}

bool Program::crosses_hosts(const Grouping& grouping) const {
  return std::any_of(grouping.begin(), grouping.end(),
                     [&](const std::vector<std::int32_t>& group) { return !topology->on_one_host(group); });
}

WhereId Program::intern(Where where) {
  const std::uint64_t hash = hash_of(where);
  const auto [first, last] = where_index_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (wheres[it->second] == where) return it->second;
  if (where.whole == kNone) group_axes(where);
  const auto id = static_cast<WhereId>(wheres.size());
  wheres.push_back(std::move(where));
  where_index_.emplace(hash, id);
  return id;
}

void Program::group_axes(Where& where) {
  std::int64_t inner = 1;
  where.groupings.resize(where.axes.size());
  for (std::size_t axis = where.axes.size(); axis > 0; --axis) {
    const std::int64_t size = where.axes[axis - 1];
    Grouping grouping;
    grouping.reserve(where.tasks.size() / static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
    for (std::size_t i = 0; i < where.tasks.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (at / inner % size != 0) continue;
      std::vector<std::int32_t>& group = grouping.emplace_back();
      group.reserve(static_cast<std::size_t>(size));
      for (std::int64_t k = 0; k < size; ++k) group.push_back(where.tasks[at + k * inner]);
    }
    where.groupings[axis - 1] = intern(std::move(grouping));
    inner *= size;
  }
  for (std::uint32_t grouping : where.groupings) where.between_hosts.push_back(crosses_hosts(groupings[grouping]));
}

WhereId Program::single(std::int32_t task, DeviceKind kind, std::int32_t index) {
  return intern(Where{{task}, {}, kind, index, kNone, {}, {}});
}

std::uint32_t Program::intern(Grouping grouping) {
  const auto found = std::find(groupings.begin(), groupings.end(), grouping);
  if (found != groupings.end()) return static_cast<std::uint32_t>(found - groupings.begin());
  groupings.push_back(std::move(grouping));
  return static_cast<std::uint32_t>(groupings.size() - 1);
}

LayoutRef Program::intern(Layout layout) {
  if (layout.empty()) return {};
  const auto found = std::find(layouts.begin(), layouts.end(), layout);
  if (found != layouts.end()) return LayoutRef(*found);
  layouts.push_back(std::move(layout));
  return LayoutRef(layouts.back());
}

const Tensor* ProgramFacts::constant(int i) const {
  const Node& node = program_.nodes[program_.values[inputs_[i]].producer];
  return node.role() == OpRole::constant ? &node.attrs->get<Tensor>("value") : nullptr;
}

std::vector<Type> ProgramFacts::results(std::string_view name) const {
  assertion_failed("ProgramFacts::results", "the types of " + std::string(name) + " are read from its region");
}

std::vector<std::uint32_t> first_uses(const Program& program) {
  std::vector<std::uint32_t> first(program.values.size(), kNone);
  for (const ProgramRegion& region : program.regions) {
    const auto end = static_cast<std::uint32_t>(region.order.size());
    for (const PValueId result : region.results) first[result] = end;
    for (std::uint32_t at = end; at > 0; --at) {
      const Node& node = program.nodes[region.order[at - 1]];
      const bool is_view = node.kind == NodeKind::compute && node.def->is(kView);
      const std::uint32_t use = is_view ? first[node.outputs[0]] : at - 1;
      for (const PValueId input : program.inputs(node)) first[input] = std::min(first[input], use);
    }
  }
  return first;
}

bool may_fail(const Program& program, const Node& node) {
  std::vector<const Type*> types;
  for (const PValueId input : program.inputs(node)) types.push_back(&program.values[input].type);
  return may_fail(*node.def, types);
}

bool is_unread(const Program& program, const Node& node, std::size_t input) {
  return node.kind == NodeKind::compute && input < 32 && (node.def->unread >> input & 1U) != 0 &&
         !program.values[program.inputs(node)[input]].type.shape.bounded();
}

}  // namespace ferry
