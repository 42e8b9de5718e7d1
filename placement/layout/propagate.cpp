#include "placement/layout/propagate.hpp"

#include <algorithm>
#include <optional>

#include "placement/layout/strategy.hpp"
#include "placement/program/parts.hpp"
#include "placement/program/users.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

class Propagator {
 public:
  explicit Propagator(Program& program)
      : program_(program),
        users_(program),
        laid_(program.values.size()),
        is_result_(region_results(program)),
        strategies_(program.nodes.size()) {}

  void run() {
    forwards(0);
    backwards(0);
  }

 private:
  /// The device set and layout that a value would get, and for each axis the node with the annotation that caused the
  /// layout.
  struct ValueLayout {
    WhereId where = kNone;
    Layout layout;
    std::vector<NodeId> causes;
  };

  // ---- Forwards: the layouts that reshard would choose ----

  void forwards(ProgramRegionId region) {
    for (NodeId id : program_.regions[region].order) {
      const Node& node = program_.nodes[id];
      switch (node.kind) {
        case NodeKind::compute:
          if (on_mesh(node)) choose_node_layouts(id);
          break;
        case NodeKind::variable:
          leaf(id, node.where);
          break;
        case NodeKind::feed:
          leaf(id, home(node));
          break;
        case NodeKind::loop:
          loop(node);
          break;
        case NodeKind::branch:
          branch(node);
          break;
        default:
          break;
      }
    }
  }

  bool on_mesh(const Node& node) const { return node.where != kNone && !program_.where(node).single(); }

  WhereId home(const Node& feed) const {
    const WhereId annotated = program_.feed_homes[feed.detail];
    return annotated == kNone ? feed.where : annotated;
  }

  void leaf(NodeId id, WhereId where) {
    const Node& node = program_.nodes[id];
    const Layout annotated = annotated_layouts(program_, node, program_.wheres[where])[0];
    const bool free = annotated.empty();
    const bool as_fed = node.kind == NodeKind::feed && where == node.where;
    const Layout given = as_fed ? fed_layout(program_, node) : whole(where);
    set_layout(node.outputs[0], where, free ? given : annotated, free ? NodeId(kNone) : id);
  }

  void choose_node_layouts(NodeId id) {
    const Node& node = program_.nodes[id];
    const std::vector<Layout> annotated = annotated_layouts(program_, node, program_.where(node));
    strategies_[id] = choose_strategy(program_, node, given(node), annotated);
    for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
      const PValueId output = node.outputs[o];
      if (!annotated[o].empty()) {
        set_layout(output, node.where, annotated[o], id);
        continue;
      }
      set_layout(output, node.where, strategies_[id].outputs[o], kNone);
      for (std::size_t axis = 0; axis < laid_[output].causes.size(); ++axis)
        laid_[output].causes[axis] = cause(id, axis);
    }
  }

  void loop(const Node& node) {
    bodies(node);
    for (std::uint32_t i = 0; i < node.outputs.count; ++i)
      laid_[node.outputs[i]] = laid_[program_.regions[node.detail].parameters[i]];
  }

  void branch(const Node& node) {
    bodies(node);
    for (std::uint32_t i = 0; i < node.outputs.count; ++i)
      laid_[node.outputs[i]] = reduced_value(program_.regions[node.detail].results[i]);
  }

  void bodies(const Node& owner) {
    for (ProgramRegionId body : {owner.detail, owner.detail + 1}) {
      const std::vector<PValueId>& parameters = program_.regions[body].parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const WhereId where = program_.nodes[program_.values[parameters[i]].producer].where;
        laid_[parameters[i]] = reduced_value(program_.inputs(owner)[program_.argument(owner, body, i)]);
        if (laid_[parameters[i]].where != where) set_layout(parameters[i], where, whole(where), kNone);
      }
      forwards(body);
    }
  }

  Layout whole(WhereId where) const { return program_.wheres[where].all_replicated(); }

  ValueLayout reduced_value(PValueId value) const {
    ValueLayout laid = laid_[value];
    laid.layout = reduced_layout(std::move(laid.layout));
    return laid;
  }

  void set_layout(PValueId value, WhereId where, Layout layout, NodeId cause) {
    const std::size_t axes = layout.size();
    laid_[value] = {where, program_.wheres[where].laid_out(std::move(layout)), std::vector<NodeId>(axes, cause)};
  }

  std::vector<Layout> given(const Node& node) const {
    std::vector<Layout> layouts;
    for (PValueId input : program_.inputs(node))
      layouts.push_back(laid_[input].where == node.where ? laid_[input].layout : whole(node.where));
    return layouts;
  }

  // ---- Backwards ----

  void backwards(ProgramRegionId region) {
    const std::vector<NodeId>& order = program_.regions[region].order;
    for (std::size_t i = order.size(); i > 0; --i) {
      const NodeId id = order[i - 1];
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) {
        backwards(node.detail);
        backwards(node.detail + 1);
      } else if (node.kind == NodeKind::feed && !program_.wheres[home(node)].single()) {
        if (annotated_layouts(program_, node, program_.wheres[home(node)])[0].empty())
          if (auto hint = hint_for(node.outputs[0])) program_.hints[node.outputs[0]] = std::move(*hint);
      } else if (node.kind == NodeKind::compute && on_mesh(node)) {
        compute(id);
      }
    }
  }

  /// Gives the outputs hints for the layouts that their users take, if the op can make all outputs in these layouts.
  void compute(NodeId id) {
    const Node& node = program_.nodes[id];
    std::vector<Layout> wanted = annotated_layouts(program_, node, program_.where(node));
    std::vector<std::optional<LayoutHint>> hints(node.outputs.count);
    for (std::uint32_t o = 0; o < node.outputs.count; ++o)
      if (wanted[o].empty() && (hints[o] = hint_for(node.outputs[o]))) wanted[o] = hints[o]->layout;
    if (std::none_of(hints.begin(), hints.end(), [](const auto& hint) { return hint.has_value(); })) return;
    Strategy strategy = choose_strategy(program_, node, given(node), wanted);
    for (std::uint32_t o = 0; o < node.outputs.count; ++o)
      if (hints[o] && strategy.outputs[o] != hints[o]->layout) return;
    strategies_[id] = std::move(strategy);
    for (std::uint32_t o = 0; o < node.outputs.count; ++o)
      if (hints[o]) program_.hints[node.outputs[o]] = std::move(*hints[o]);
  }

  /// The value's layout, split along each axis along which all users take the same part. Nothing if there is no such
  /// axis.
  std::optional<LayoutHint> hint_for(PValueId value) const {
    if (is_result_[value]) return std::nullopt;
    LayoutHint hint{laid_[value].layout, std::vector<NodeId>(laid_[value].layout.size(), kNone)};
    bool any = false;
    for (std::size_t axis = 0; axis < hint.layout.size(); ++axis) {
      if (hint.layout[axis] != replicated()) continue;
      const Taken taken = taken_by_all(value, axis);
      if (taken.part.kind != Kind::split) continue;
      hint.layout[axis] = taken.part;
      hint.causes[axis] = taken.cause;
      any = true;
    }
    return any ? std::optional(std::move(hint)) : std::nullopt;
  }

  /// The part of a value that a user takes along an axis, and the node with the annotation that caused this.
  struct Taken {
    AxisLayout part;
    NodeId cause = kNone;
  };

  /// The part that all users take along the axis; replicated if they differ.
  Taken taken_by_all(PValueId value, std::size_t axis) const {
    Taken all;
    for (NodeId user : users_[value]) {
      const Node& node = program_.nodes[user];
      for (std::uint32_t i = 0; i < node.inputs; ++i) {
        if (program_.inputs(node)[i] != value || is_unread(program_, node, i)) continue;
        const Taken taken = take(user, i, laid_[value].where, axis);
        if (taken.part.kind != Kind::split || (all.part.kind == Kind::split && taken.part != all.part)) return {};
        if (all.part.kind != Kind::split) all = taken;
      }
    }
    return all;
  }

  Taken take(NodeId user, std::uint32_t input, WhereId where, std::size_t axis) const {
    const Node& node = program_.nodes[user];
    if (node.where != where) return {};
    if (node.kind == NodeKind::compute) return {strategies_[user].inputs[input][axis], cause(user, axis)};
    if (node.kind != NodeKind::assign || input != 1) return {};
    const ValueLayout& variable = laid_[program_.inputs(node)[0]];
    return {variable.layout[axis], variable.causes[axis]};
  }

  /// The node with the annotation that caused the op's layouts along the axis.
  NodeId cause(NodeId id, std::size_t axis) const {
    return cause_of(program_, id, strategies_[id], axis, [&](PValueId input) { return laid_[input].causes[axis]; });
  }

  Program& program_;
  const Users users_;
  std::vector<ValueLayout> laid_;
  std::vector<bool> is_result_;  ///< for each value, whether it is a result of a region
  std::vector<Strategy> strategies_;
};

}  // namespace

void propagate(Program& program) {
  const auto single = [](const Where& where) { return where.single(); };
  if (!std::all_of(program.wheres.begin(), program.wheres.end(), single)) Propagator(program).run();
}

}  // namespace ferry
