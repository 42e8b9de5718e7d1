// reshard: gives every value its layout, and inserts what brings values to the devices and layouts where they are used.
// After this pass the inputs of a node are where it needs them; a replicated value of a mesh may be read by one device
// of that mesh.
//
// Along one axis: partial -> replicated all-reduce, partial -> split reduce-scatter, split -> replicated all-gather,
// split -> split all-to-all, replicated -> split a local cut. Between device sets: device -> device a transfer, device
// -> mesh broadcast or scatter, mesh -> device gather or reduce. A value goes to each device set and layout once,
// however many use it there.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "graph/core_ops.hpp"
#include "ops/comm.hpp"
#include "placement/conversion.hpp"
#include "placement/program.hpp"
#include "placement/strategy.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

class Resharder {
 public:
  explicit Resharder(Program& program) : program_(program) {}

  void run() { region(0); }

 private:
  // ---- Walking ----

  void region(RegionId id) {
    const std::vector<NodeId> order = std::move(program_.regions[id].order);
    program_.regions[id].order.clear();
    const RegionId outer = std::exchange(region_, id);
    for (NodeId node : order) visit(node);
    region_ = outer;
  }

  void visit(NodeId id) {
    switch (program_.nodes[id].kind) {
      case NodeKind::compute:
        return compute(id);
      case NodeKind::feed:
        return leaf(id, true);
      case NodeKind::variable:
        return leaf(id, false);
      case NodeKind::assign:
        return assign(id);
      case NodeKind::loop:
        return loop(id);
      case NodeKind::branch:
        return branch(id);
      case NodeKind::fetch:
        return fetch(id);
      default:
        emit(id);
    }
  }

  void emit(NodeId id) { program_.regions[region_].order.push_back(id); }

  void compute(NodeId id) {
    const Node node = program_.nodes[id];
    if (node.where == kNone) return;  // a constant that is copied to each of its users
    const Where where = program_.where(node);
    std::vector<Layout> given;
    for (PValueId input : program_.inputs(node)) {
      const PValue& value = program_.values[current(input)];
      given.push_back(value.where == node.where ? value.layout : Layout(where.axes.size()));
    }
    const std::vector<Layout> wanted = annotated(node, where);
    const Strategy strategy = where.single() ? Strategy{given, std::vector<Layout>(node.outputs)}
                                             : choose_strategy(program_, node, given, wanted);
    for (std::uint32_t i = 0; i < node.inputs; ++i)
      if (!is_unread(program_, node, i)) set_input(id, i, node.where, strategy.inputs[i]);
    program_.nodes[id].once = node.once && inputs_once(id);
    for (std::uint32_t o = 0; o < node.outputs; ++o) set_value(node.first_output + o, node.where, strategy.outputs[o]);
    emit(id);
    for (std::uint32_t o = 0; o < node.outputs; ++o)
      if (!wanted[o].empty()) replace(node.first_output + o, node.where, wanted[o], id);
  }

  /// What a collective gives, it gives in every step.
  bool inputs_once(NodeId id) const {
    const auto inputs = program_.inputs(program_.nodes[id]);
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](PValueId input) { return program_.nodes[program_.values[input].producer].once; });
  }

  /// A feed lies where its giver is and goes on to where the input is annotated; a variable lies as annotated.
  void leaf(NodeId id, bool moves) {
    const Node node = program_.nodes[id];
    const std::vector<Layout> wanted = annotated(node, program_.where(node));
    const bool lies = !moves && !wanted[0].empty();
    set_value(node.first_output, node.where, lies ? wanted[0] : Layout(program_.where(node).axes.size()));
    emit(id);
    if (moves && program_.feed_homes[node.detail] != kNone) {
      const WhereId home = program_.feed_homes[node.detail];
      const std::vector<Layout> at_home = annotated(node, program_.wheres[home]);
      replace(node.first_output, home, at_home[0].empty() ? Layout(program_.wheres[home].axes.size()) : at_home[0], id);
    }
  }

  void assign(NodeId id) {
    const Node node = program_.nodes[id];
    const PValue variable = program_.values[program_.inputs(node)[0]];
    set_input(id, 1, variable.where, variable.layout);
    set_value(node.first_output, variable.where, variable.layout);
    emit(id);
  }

  void fetch(NodeId id) {
    const WhereId at = program_.nodes[id].where;
    set_input(id, 0, at, {});
    emit(id);
  }

  // ---- Control flow ----

  void loop(NodeId id) {
    const Node node = program_.nodes[id];
    const RegionId condition = node.detail, body = node.detail + 1;
    bind_parameters(id, condition, node.outputs, node.outputs);
    const std::size_t captures = program_.regions[condition].parameters.size() - node.outputs;
    bind_parameters(id, body, node.outputs, node.outputs + captures);
    region(condition);
    region(body);
    const std::vector<PValueId> carried(program_.regions[body].parameters.begin(),
                                        program_.regions[body].parameters.begin() + node.outputs);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const PValue parameter = program_.values[carried[i]];
      PValueId& result = program_.regions[body].results[i];
      result = in_region(body, [&, r = result] { return need(r, parameter.where, parameter.layout, id); });
      set_value(node.first_output + static_cast<PValueId>(i), parameter.where, parameter.layout);
    }
    const WhereId all = participants(node);
    program_.nodes[id].where = all;
    PValueId& predicate = program_.regions[condition].results[0];
    predicate =
        in_region(condition, [&, p = predicate] { return need(p, all, Layout(program_.wheres[all].axes.size()), id); });
    emit(id);
  }

  void branch(NodeId id) {
    const Node node = program_.nodes[id];
    const RegionId first = node.detail;
    bind_parameters(id, first, 0, 1);
    bind_parameters(id, first + 1, 0, 1 + program_.regions[first].parameters.size());
    region(first);
    region(first + 1);
    for (std::uint32_t i = 0; i < node.outputs; ++i) {
      PValueId& then_result = program_.regions[first].results[i];
      PValueId& else_result = program_.regions[first + 1].results[i];
      const WhereId at = place_of(then_result, else_result, node.where);
      const Layout layout = whole_layout(then_result, at);
      then_result = in_region(first, [&, r = then_result] { return need(r, at, layout, id); });
      else_result = in_region(first + 1, [&, r = else_result] { return need(r, at, layout, id); });
      set_value(node.first_output + i, at, layout);
    }
    const WhereId all = participants(node);
    program_.nodes[id].where = all;
    set_input(id, 0, all, Layout(program_.wheres[all].axes.size()));
    emit(id);
  }

  /// Parameters lie as the owner's inputs lie; partial values are joined first.
  void bind_parameters(NodeId owner, RegionId region_id, std::size_t carried, std::size_t next_capture) {
    const std::vector<PValueId> parameters = program_.regions[region_id].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::size_t input = i < carried ? i : next_capture++;
      const WhereId at = program_.nodes[program_.values[parameters[i]].producer].where;
      const PValueId argument = current(program_.inputs(program_.nodes[owner])[input]);
      set_input(owner, static_cast<std::uint32_t>(input), at, whole_layout(argument, at));
      const PValue bound = program_.values[program_.inputs(program_.nodes[owner])[input]];
      const bool here = bound.where == at;
      set_value(parameters[i], at, here ? bound.layout : Layout(program_.wheres[at].axes.size()));
    }
  }

  WhereId place_of(PValueId a, PValueId b, WhereId fallback) const {
    if (program_.values[a].where != kNone) return program_.values[a].where;
    return program_.values[b].where != kNone ? program_.values[b].where : fallback;
  }

  /// The layout of a value if it is on `at`, with partial axes replicated; else replicated.
  Layout whole_layout(PValueId value, WhereId at) const {
    Layout layout(program_.wheres[at].axes.size());
    const PValue& v = program_.values[value];
    if (v.where != at) return layout;
    layout = v.layout;
    for (AxisLayout& axis : layout)
      if (axis.kind == Kind::partial) axis = replicated();
    return layout;
  }

  /// All tasks that take part in the bodies or hold an input or output of the owner.
  WhereId participants(const Node& owner) {
    std::set<std::int32_t> tasks;
    const auto add = [&](WhereId where) {
      if (where != kNone) tasks.insert(program_.wheres[where].tasks.begin(), program_.wheres[where].tasks.end());
    };
    for (std::uint32_t i = 0; i < owner.outputs; ++i) add(program_.values[owner.first_output + i].where);
    std::vector<RegionId> regions{owner.detail, owner.detail + 1};
    while (!regions.empty()) {
      const ProgramRegion& region = program_.regions[regions.back()];
      regions.pop_back();
      for (NodeId id : region.order) {
        const Node& node = program_.nodes[id];
        if (!node.once) add(node.where);
        for (PValueId input : program_.inputs(node)) add(program_.values[input].where);
        if (node.kind == NodeKind::loop || node.kind == NodeKind::branch)
          regions.insert(regions.end(), {node.detail, node.detail + 1});
      }
    }
    Where where;
    where.tasks.assign(tasks.begin(), tasks.end());
    if (where.tasks.size() > 1) where.axes = {static_cast<std::int64_t>(where.tasks.size())};
    return program_.intern(std::move(where));
  }

  template <class F>
  PValueId in_region(RegionId id, F f) {
    const RegionId outer = std::exchange(region_, id);
    const PValueId value = f();
    region_ = outer;
    return value;
  }

  // ---- Bringing values where they are needed ----

  /// What now stands for `value` (a laid value after its conversion).
  PValueId current(PValueId value) const {
    const auto found = replaced_.find(value);
    return found == replaced_.end() ? value : found->second;
  }

  void replace(PValueId value, WhereId where, const Layout& layout, NodeId why) {
    const PValueId now = need(value, where, layout, why);
    if (now != value) replaced_[value] = now;
  }

  void set_input(NodeId id, std::uint32_t i, WhereId where, const Layout& layout) {
    const PValueId value = need(program_.inputs(program_.nodes[id])[i], where, layout, id);
    program_.inputs(program_.nodes[id])[i] = value;
  }

  void set_value(PValueId value, WhereId where, Layout layout) {
    const std::vector<std::int64_t>& axes = program_.wheres[where].axes;
    for (std::size_t axis = 0; axis < layout.size(); ++axis)
      if (axes[axis] == 1) layout[axis] = replicated();
    program_.values[value].where = where;
    program_.values[value].layout = std::move(layout);
  }

  PValueId need(PValueId original, WhereId where, const Layout& wanted, NodeId why) {
    const PValueId value = current(original);
    Layout layout = wanted;
    for (std::size_t axis = 0; axis < layout.size(); ++axis)
      if (program_.wheres[where].axes[axis] == 1) layout[axis] = replicated();
    const PValue& v = program_.values[value];
    if (v.where == where && v.layout == layout) return value;
    const auto key = std::make_tuple(value, where, str(layout));
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    const PValueId result =
        v.where == kNone ? copy_constant(value, where, layout, why) : convert(value, where, layout, why);
    return made_[key] = result;
  }

  PValueId convert(PValueId value, WhereId where, const Layout& layout, NodeId why) {
    const PValue from = program_.values[value];
    if (from.where == where) return convert_axes(value, layout, why);
    const Where source = program_.wheres[from.where];
    const Where target = program_.wheres[where];
    if (!source.single()) {
      if (target.tasks.size() == 1) {
        if (const PValueId joined = to_root(value, target.tasks[0], where, why); joined != kNone) return joined;
        if (has_device(source, target))
          return need(value, from.where, Layout(source.axes.size()), why);  // its own copy
      }
      const Layout all(source.axes.size());
      if (!target.single() && covers(source, target))
        return cut_after_moving(need(value, from.where, all, why), where, layout);
      const std::int32_t task = source.tasks[0];  // it has the whole value, or gets it
      const PValueId joined = to_root(value, task, program_.single(task, source.kind, source.index), why);
      return from_device(joined != kNone ? joined : need(value, from.where, all, why), task, where, layout, why);
    }
    return from_device(value, source.tasks[0], where, layout, why);
  }

  static bool has_device(const Where& mesh, const Where& device) {
    return mesh.has(device.tasks[0]) && mesh.kind == device.kind && mesh.index == device.index;
  }

  static bool covers(const Where& source, const Where& target) {
    return source.kind == target.kind && source.index == target.index &&
           std::all_of(target.tasks.begin(), target.tasks.end(), [&](std::int32_t t) { return source.has(t); });
  }

  /// A value that `task` holds whole goes to a device or mesh.
  PValueId from_device(PValueId value, std::int32_t task, WhereId where, const Layout& layout, NodeId why) {
    const Where target = program_.wheres[where];
    const Where& source = program_.wheres[program_.values[value].where];
    if (target.single()) {
      const PValueId moved = finish(added(NodeKind::transfer, value), value, where, {});
      explain(moved, "transfer from /task:" + std::to_string(task) + " to " + target.str(), why);
      return moved;
    }
    if (target.tasks.size() == 1 && target.tasks[0] == task && source.kind == target.kind &&
        source.index == target.index)
      return value;
    const Layout all(target.axes.size());
    const bool scatters = target.axes.size() == 1 && layout[0].kind == Kind::split && !made(value, where, all);
    if (layout != all && !scatters) return need(need(value, where, all, why), where, layout, why);
    Members members = with_root(target.tasks, task);
    if (!scatters) return collective(value, {CollectiveKind::broadcast, Reduce::none, members}, where, all, why);
    const WhereId at = program_.values[value].where;
    const PValueId cut = parts_op(kCutParts, value, layout[0].dim, target.axes[0], at, program_.values[value].layout);
    return collective(cut, {CollectiveKind::scatter, Reduce::none, members, layout[0].dim}, where, layout, why);
  }

  /// On the same tasks but another mesh: a replicated value is read as it lies, then cut.
  PValueId cut_after_moving(PValueId whole, WhereId where, const Layout& layout) {
    const Layout all(layout.size());
    if (layout == all) return whole;
    return take_part(whole, where, layout);
  }

  /// Gathers or reduces to one device along the first axis that needs it, the later ones joined before, when nobody
  /// made the whole value on the mesh yet.
  PValueId to_root(PValueId original, std::int32_t task, WhereId where, NodeId why) {
    const WhereId at = program_.values[original].where;
    const Where source = program_.wheres[at];
    Layout layout = program_.values[original].layout;
    const auto first =
        std::find_if(layout.begin(), layout.end(), [](const AxisLayout& a) { return a != replicated(); });
    if (first == layout.end() || made(original, at, Layout(layout.size()))) return kNone;
    std::fill(first + 1, layout.end(), replicated());
    const PValueId value = need(original, at, layout, why);
    const Grouping& groups = program_.groupings[source.groupings[static_cast<std::size_t>(first - layout.begin())]];
    const auto with_task = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::int32_t>& group) {
      return std::find(group.begin(), group.end(), task) != group.end();
    });
    const std::vector<std::int32_t>& group = with_task == groups.end() ? groups[0] : *with_task;
    const auto parts = static_cast<std::int64_t>(group.size());
    const Members members = with_root(group, task);
    const Layout all(program_.wheres[where].axes.size());
    if (first->kind == Kind::partial)
      return collective(value, {CollectiveKind::reduce, first->reduce, members}, where, all, why);
    const PValueId joined =
        collective(value, {CollectiveKind::gather, Reduce::none, members, first->dim}, where, all, why);
    return parts_op(kJoinParts, joined, first->dim, parts, where, all);
  }

  PValueId convert_axes(PValueId value, const Layout& layout, NodeId why) {
    for (const ConversionStep& step : conversion(program_.values[value].layout, layout))
      value = convert_axis(value, step, why);
    return value;
  }

  PValueId convert_axis(PValueId value, const ConversionStep& step, NodeId why) {
    const PValue from = program_.values[value];
    const std::uint32_t grouping = program_.wheres[from.where].groupings[step.axis];
    const std::int64_t members = program_.wheres[from.where].axes[step.axis];
    Layout layout = from.layout;
    layout[step.axis] = step.after;
    const bool to_parts = step.after.kind == Kind::split;
    if (step.before.kind == Kind::replicated) return take_part(value, from.where, layout);
    if (step.before.kind == Kind::partial && !to_parts)
      return collective(value, {CollectiveKind::all_reduce, step.before.reduce, {grouping}}, from.where, layout, why);
    if (step.before.kind == Kind::partial) {
      const PValueId cut = parts_op(kCutParts, value, step.after.dim, members, from.where, from.layout);
      return collective(cut, {CollectiveKind::reduce_scatter, step.before.reduce, {grouping}, step.after.dim},
                        from.where, layout, why);
    }
    if (to_parts) return exchange(value, step, layout, why);
    const PValueId parts = collective(value, {CollectiveKind::all_gather, Reduce::none, {grouping}, step.before.dim},
                                      from.where, layout, why);
    return parts_op(kJoinParts, parts, step.before.dim, members, from.where, layout);
  }

  /// From parts along one dim to parts along another: each member gives each other one a block.
  PValueId exchange(PValueId value, const ConversionStep& step, const Layout& layout, NodeId why) {
    const PValue from = program_.values[value];
    const std::uint32_t grouping = program_.wheres[from.where].groupings[step.axis];
    const std::int64_t members = program_.wheres[from.where].axes[step.axis];
    const PValueId cut = parts_op(kCutParts, value, step.after.dim, members, from.where, from.layout);
    const PValueId blocks = collective(cut, {CollectiveKind::all_to_all, Reduce::none, {grouping}, step.after.dim},
                                       from.where, layout, why);
    return parts_op(kJoinParts, blocks, step.before.dim, members, from.where, layout);
  }

  // ---- Adding nodes ----

  Node added(NodeKind kind, PValueId value) const {
    const PValue& v = program_.values[value];
    Node node;
    node.kind = kind;
    node.once = kind == NodeKind::compute && program_.nodes[v.producer].once;
    node.graph = v.graph;
    node.op = v.graph->producer(v.value);
    return node;
  }

  PValueId finish(Node node, PValueId value, WhereId where, const Layout& layout) {
    node.where = where;
    const PValue from = program_.values[value];
    const NodeId id = program_.add(node, {&value, 1}, {&from.type, 1});
    const PValueId result = program_.nodes[id].first_output;
    program_.values[result].value = from.value;
    set_value(result, where, layout);
    emit(id);
    return result;
  }

  PValueId collective(PValueId value, const ProgramCollective& what, WhereId where, const Layout& layout, NodeId why) {
    Node node = added(NodeKind::collective, value);
    node.detail = static_cast<std::uint32_t>(program_.collectives.size());
    program_.collectives.push_back(what);
    const PValueId result = finish(node, value, where, layout);
    explain(result,
            std::string(name_of(what.kind)) + " over " +
                std::to_string(program_.groupings[what.members.grouping][0].size()) + " tasks",
            why);
    return result;
  }

  /// A group of tasks and `root`, which comes last when it is none of them.
  Members with_root(std::vector<std::int32_t> group, std::int32_t root) {
    const auto at = std::find(group.begin(), group.end(), root);
    Members members{.root = static_cast<std::int32_t>(at - group.begin()), .guest_root = at == group.end()};
    if (members.guest_root) group.push_back(root);
    members.grouping = program_.intern(Grouping{std::move(group)});
    return members;
  }

  [[nodiscard]] bool made(PValueId value, WhereId where, const Layout& layout) const {
    return made_.contains(std::make_tuple(value, where, str(layout)));
  }

  PValueId take_part(PValueId value, WhereId where, const Layout& layout) {
    Node node = added(NodeKind::compute, value);
    node.def = &kTakePart;
    node.attrs = &no_attrs();
    return finish(node, value, where, layout);
  }

  /// Joins or cuts parts; nothing is to be done along dim 0, where parts lie one after another anyway.
  PValueId parts_op(const OpDef& def, PValueId value, int dim, std::int64_t parts, WhereId where,
                    const Layout& layout) {
    const Shape& shape = program_.values[value].type.shape;
    bool contiguous = true;
    for (int d = 0; d < dim; ++d) contiguous = contiguous && shape[d].size() == 1;
    if (contiguous) return value;
    Node node = added(NodeKind::compute, value);
    node.def = &def;
    program_.added_attrs.push_back({{"dim", static_cast<std::int64_t>(dim)}, {"parts", parts}});
    node.attrs = &program_.added_attrs.back();
    return finish(node, value, where, layout);
  }

  const Attrs& no_attrs() {
    if (program_.added_attrs.empty()) program_.added_attrs.emplace_back();
    return program_.added_attrs.front();
  }

  /// A constant without an annotation is made wherever it is used.
  PValueId copy_constant(PValueId value, WhereId where, const Layout& layout, NodeId why) {
    const PValue from = program_.values[value];
    const Layout whole(program_.wheres[where].axes.size());
    if (layout != whole) return need(need(value, where, whole, why), where, layout, why);
    Node node = program_.nodes[from.producer];
    node.where = where;
    const NodeId id = program_.add(node, {}, {&from.type, 1});
    const PValueId result = program_.nodes[id].first_output;
    program_.values[result].value = from.value;
    set_value(result, where, whole);
    emit(id);
    return result;
  }

  void explain(PValueId value, const std::string& what, NodeId why) {
    if (!program_.options.reasons) return;
    const Node& user = program_.nodes[why];
    const PValue& v = program_.values[value];
    program_.reasons.push_back({program_.name(value),
                                what + ", " + std::to_string(v.type.bytes()) + " bytes: used by " +
                                    program_.name(user) + " on " + program_.where(user).str(),
                                program_.line(user)});
  }

  std::vector<Layout> annotated(const Node& node, const Where& where) const {
    std::vector<Layout> wanted(node.outputs);
    const Annotation& annotation = node.graph->op(node.op).annotation();
    if (annotation.mesh == kNoMesh || annotation.layouts.empty() || where.single()) return wanted;
    if (node.def == nullptr || node.def == &kTakePart) return wanted;
    for (std::size_t o = 0; o < wanted.size(); ++o) wanted[o] = annotation.layouts[o];
    return wanted;
  }

  Program& program_;
  RegionId region_ = 0;
  std::map<PValueId, PValueId> replaced_;
  std::map<std::tuple<PValueId, WhereId, std::string>, PValueId> made_;
};

}  // namespace

void reshard(Program& program) {
  Resharder(program).run();
}

}  // namespace ferry
