#include "placement/layout/reasons.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "placement/layout/conversion.hpp"
#include "placement/layout/windows.hpp"
#include "placement/program/parts.hpp"

namespace ferry {

NodeId Reasons::cause(PValueId value, std::size_t axis) const {
  const auto found = program_.causes.of_layout.find(value);
  return found == program_.causes.of_layout.end() ? NodeId(kNone) : found->second[axis];
}

std::vector<NodeId> Reasons::causes(PValueId value, WhereId where) const {
  const auto found = program_.causes.of_layout.find(value);
  const bool known = found != program_.causes.of_layout.end() && program_.values[value].where == where;
  return known ? found->second : std::vector<NodeId>();
}

void Reasons::laid(PValueId value, std::vector<NodeId> causes) {
  if (!program_.options.reasons || causes.empty()) return;
  for (std::size_t axis = 0; axis < causes.size(); ++axis)
    if (program_.values[value].layout[axis] == replicated()) causes[axis] = kNone;
  program_.causes.of_layout[value] = std::move(causes);
}

void Reasons::copy_causes(PValueId value, PValueId other) {
  laid(value, causes(other, program_.values[other].where));
}

Reasons::Why Reasons::along(std::span<const std::uint32_t> axes) const {
  Why why{why_.user, why_.place};
  if (!why_.axes.empty())
    for (const std::uint32_t axis : axes) why.axes.push_back(axis == kNone ? NodeId(kNone) : why_.axes[axis]);
  return why;
}

void Reasons::added(NodeId id, std::size_t axis) {
  warn_of_gather(id);
  if (!program_.options.reasons) return;
  const Node& message = program_.nodes[id];
  const Node& user = program_.nodes[why_.user];
  const std::string use = user.kind == NodeKind::fetch ? "fetched" : "used by " + program_.name(user);
  const Citation cites = cited(message, axis);
  Reason reason{program_.name(message.outputs[0]),
                text(message) + ", " + std::to_string(bytes_of(message)) +
                    (is_halo(message) ? " bytes to a task: " : " bytes: ") + use + " on " + program_.where(user).str() +
                    text(cites) + why_no_halos(message, axis),
                program_.line(user), true};
  if (cites.node != kNone) {
    reason.constraint = program_.name(program_.nodes[cites.node]);
    reason.of_layout = cites.layout;
  }
  program_.reason_of[id] = program_.reasons.size();
  program_.reasons.push_back(std::move(reason));
}

/// Warns because after a gather each task has the whole value, and computes everything that depends on it.
void Reasons::warn_of_gather(NodeId id) {
  constexpr std::int64_t kMuch = 1 << 20;  // in bytes; a smaller gather takes too little time to matter
  const Node& message = program_.nodes[id];
  const Node& user = program_.nodes[why_.user];
  if (message.kind != NodeKind::collective || user.kind != NodeKind::compute || !user.def->is(kView) ||
      program_.collectives[message.detail].kind != CollectiveKind::all_gather || bytes_of(message) <= kMuch)
    return;
  const SourceLine line = program_.line(user);
  program_.warnings.push_back(program_.name(user) + (line.known() ? formatted(" at {}", line.str()) : "") +
                              " gathers " + human_bytes(static_cast<std::uint64_t>(bytes_of(message))) +
                              " in each step, because a part of " + program_.name(program_.inputs(message)[0]) +
                              " is no part of its result (docs/guide/layouts.md, Reshapes)");
}

void Reasons::brought(PValueId result) {
  if (!program_.options.reasons) return;
  const PValue& before = program_.values[brought_];
  const PValue& after = program_.values[result];
  std::vector<NodeId> causes(after.layout.size(), kNone);
  for (std::size_t axis = 0; axis < causes.size(); ++axis) {
    if (after.layout[axis] == replicated()) continue;
    const bool kept = before.where == after.where && before.layout[axis] == after.layout[axis];
    causes[axis] = kept ? cause(brought_, axis) : of_axis(axis).node;
  }
  program_.causes.of_layout[result] = std::move(causes);
}

Reasons::Citation Reasons::cited(const Node& message, std::size_t axis) const {
  if (message.kind == NodeKind::transfer) return of_place();
  switch (program_.collectives[message.detail].kind) {
    case CollectiveKind::broadcast:
      return of_place();
    case CollectiveKind::scatter:
      return cause_of_new_layout(axis) != kNone ? of_axis(axis) : of_place();
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      return why_.place == kNone && cause(brought_, axis) != kNone ? Citation{cause(brought_, axis), true} : of_place();
    default:
      return of_axis(axis);
  }
}

Reasons::Citation Reasons::of_place() const {
  const std::vector<NodeId>& causes = program_.causes.of_place;
  if (why_.place != kNone || causes.empty()) return {why_.place, false};
  NodeId producer = program_.values[brought_].producer;
  while (producer >= causes.size()) producer = program_.values[program_.inputs(program_.nodes[producer])[0]].producer;
  return {causes[producer], false};
}

Reasons::Citation Reasons::of_axis(std::size_t axis) const {
  return {cause_of_new_layout(axis) != kNone ? cause_of_new_layout(axis) : cause(brought_, axis), true};
}

bool Reasons::is_halo(const Node& message) const {
  return program_.values[program_.inputs(message)[0]].halo != kNone;
}

std::int64_t Reasons::bytes_of(const Node& message) const {
  if (!is_halo(message)) return program_.values[message.outputs[0]].type.bytes();
  const PValue& given = program_.values[program_.inputs(message)[0]];
  const ProgramHalo& halo = program_.halos[given.halo];
  const Where& where = program_.wheres[given.where];
  std::int64_t most = 0;
  for (std::size_t position = 0; position < where.tasks.size(); ++position) {
    std::vector<std::int64_t> sizes = local_sizes(program_, given, where.tasks[position]);
    sizes[halo.dim] = halo.halo.rows_got(coordinate(where, position, halo.axis));
    most = std::max(most, checked_count(sizes));
  }
  return most * static_cast<std::int64_t>(size_of(given.type.dtype));
}

std::string Reasons::text(const Node& message) const {
  if (message.kind == NodeKind::transfer) {
    const PValue& from = program_.values[program_.inputs(message)[0]];
    return "transfer from /task:" + std::to_string(program_.wheres[from.where].tasks[0]) + " to " +
           program_.where(message).str();
  }
  const ProgramCollective& what = program_.collectives[message.detail];
  return (is_halo(message) ? "halos" : std::string(name_of(what.kind))) + " over " +
         std::to_string(program_.groupings[what.members.grouping][0].size()) + " tasks";
}

std::string Reasons::why_no_halos(const Node& message, std::size_t axis) const {
  const Node& user = program_.nodes[why_.user];
  const PValue& value = program_.values[program_.inputs(message)[0]];
  if (message.kind != NodeKind::collective || axis >= value.layout.size() || user.kind != NodeKind::compute ||
      program_.collectives[message.detail].kind != CollectiveKind::all_gather)
    return "";
  if (user.def->window == nullptr && user.def->slides == nullptr) return "";
  const auto bounded = [&](PValueId input) { return program_.values[input].type.shape.bounded(); };
  if (bounded(user.outputs[0]) || std::ranges::any_of(program_.inputs(user), bounded))
    return "; no halos, for a size is bounded";
  const AxisLayout split = value.layout[axis];
  const auto window = window_of(program_, user);
  bool reads = window && window->cuts(static_cast<std::size_t>(split.dim), value.type.shape[split.dim].size());
  for (const SlidingDim& slides : sliding_dims(program_, user))
    reads = reads || std::ranges::any_of(slides.inputs, [&](const auto& input) { return input.dim == split.dim; });
  if (!reads) return "";
  const PValue& whole = program_.values[brought_];
  const auto& layout = static_cast<const Layout&>(whole.layout);
  if (std::ranges::count(layout, split) > 1) return "; no halos, for two axes split dim " + std::to_string(split.dim);
  return "; halos would take longer";
}

std::string Reasons::text(Citation cited) const {
  if (cited.node == kNone) return "";
  const Node& node = program_.nodes[cited.node];
  const Annotation& annotation = node.graph->op(node.op).annotation();
  if (cited.node == why_.user && !cited.layout) return ", as annotated";
  std::string how = cited.layout ? "laid" : "annotated " + program_.text(annotation);
  for (std::size_t i = 0; cited.layout && i < annotation.layouts.size(); ++i)
    how += (i == 0 ? " " : ", ") + str(annotation.layouts[i]);
  if (cited.node == why_.user) return ", which is " + how;
  const SourceLine line = program_.line(node);
  return ", because " + program_.name(node) + " is " + how + (line.known() ? formatted(" at {}", line.str()) : "");
}

}  // namespace ferry
