#include "placement/layout/reshard.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "graph/op/core_ops.hpp"
#include "placement/layout/converter.hpp"
#include "placement/layout/joined_parts.hpp"
#include "placement/layout/reasons.hpp"
#include "placement/layout/strategy.hpp"
#include "placement/layout/sums.hpp"
#include "placement/layout/window_reader.hpp"
#include "placement/layout/windows.hpp"
#include "placement/program/parts.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

class Resharder {
 public:
  explicit Resharder(Program& program)
      : program_(program),
        reasons_(program),
        to_(program, reasons_),
        sums_(program),
        windows_(program, reasons_, to_) {}

  void run() { region(0); }

 private:
  // ---- Walking ----

  void region(ProgramRegionId id) {
    const std::vector<NodeId> order = std::move(program_.regions[id].order);
    program_.regions[id].order.clear();
    const ProgramRegionId outer = to_.enter(id);
    for (NodeId node : order) visit(node);
    to_.enter(outer);
  }

  void visit(NodeId id) {
    switch (program_.nodes[id].kind) {
      case NodeKind::compute:
        return compute(id);
      case NodeKind::feed:
        return feed(id);
      case NodeKind::variable:
        return variable(id);
      case NodeKind::assign:
        return assign(id);
      case NodeKind::loop:
        return loop(id);
      case NodeKind::branch:
        return branch(id);
      case NodeKind::fetch:
        return fetch(id);
      default:
        to_.emit(id);
    }
  }

  void compute(NodeId id) {
    const Node& node = program_.nodes[id];
    if (node.where == kNone) return;  // a constant that is copied to each of its users
    if (program_.where(node).single() || program_.chosen.ways.contains(id)) return lay_out_node(id);
    if (join_parts(id)) return;
    sums_.is_addition(node) ? add_up(id) : lay_out_node(id);
  }

  /// Makes the node a copy if it joins one part of each task, in the order of the mesh. Returns whether it did.
  bool join_parts(NodeId id) {
    const Node node = program_.nodes[id];
    std::vector<PValueId> parts;
    for (const PValueId input : program_.inputs(node)) parts.push_back(to_.current(input));
    Layout layout = layout_of_joined_parts(program_, node, parts);
    if (layout.empty()) return false;
    const std::vector<Layout> wanted = annotated_layouts(program_, node, program_.where(node));
    std::ranges::copy(parts, program_.inputs(program_.nodes[id]).begin());
    Node& copy = program_.nodes[id];
    copy.kind = NodeKind::copy;
    copy.def = nullptr;
    copy.attrs = nullptr;
    copy.once = node.once && inputs_once(program_, copy);
    const std::size_t axes = layout.size();
    place(node.outputs[0], node.where, std::move(layout), std::vector<NodeId>(axes, kNone));
    finish(id, wanted);
    return true;
  }

  /// Adds the terms of a sum that can be added without a message. The other terms wait until the sum ends, so that
  /// partial sums are all-reduced only once. Then the terms that are partial along the most axes come first.
  void add_up(NodeId id) {
    OpenSum sum = sums_.take_sum(id);
    const WhereId where = program_.nodes[id].where;
    const bool ends = !sums_.is_continued(id);
    if (ends && sum.nodes.size() > 1) sort_partial_first(sum.terms, where);
    std::vector<PValueId> kept;
    std::size_t added = 0;
    for (const PValueId term : sum.terms) {
      const auto other = std::ranges::find_if(
          kept, [&](PValueId value) { return ends || partial_axes(value, where) == partial_axes(term, where); });
      if (other == kept.end()) {
        kept.push_back(term);
        continue;
      }
      const NodeId node = sum.nodes[added++];
      program_.inputs(program_.nodes[node])[0] = *other;
      program_.inputs(program_.nodes[node])[1] = term;
      lay_out_node(node);
      *other = program_.nodes[node].outputs[0];
    }
    sum.nodes.erase(sum.nodes.begin(), sum.nodes.begin() + static_cast<std::ptrdiff_t>(added));
    if (!sum.nodes.empty()) sums_.leave_open(id, {std::move(kept), std::move(sum.nodes)});
  }

  /// Sorts the terms by the number of axes along which they are partial, the most first.
  void sort_partial_first(std::vector<PValueId>& terms, WhereId where) const {
    const auto rank = [&](PValueId term) {
      const std::uint32_t axes = partial_axes(term, where);
      return std::pair(std::popcount(axes), axes);
    };
    std::stable_sort(terms.begin(), terms.end(), [&](PValueId a, PValueId b) { return rank(a) > rank(b); });
  }

  /// A bit for each axis of `where` along which the value is a partial sum.
  std::uint32_t partial_axes(PValueId id, WhereId where) const {
    const Layout layout = layout_on(id, where);
    std::uint32_t axes = 0;
    for (std::size_t axis = 0; axis < layout.size(); ++axis)
      if (layout[axis] == partial(Reduce::sum)) axes |= 1U << axis;
    return axes;
  }

  /// The value's layout if it is on `where`; else replicated, because it will be brought there whole.
  Layout layout_on(PValueId id, WhereId where) const {
    const PValue& value = program_.values[to_.current(id)];
    return value.where == where ? value.layout : program_.wheres[where].all_replicated();
  }

  /// Chooses the node's layouts, and emits the node after the conversions that it needs.
  void lay_out_node(NodeId id) {
    const Node node = program_.nodes[id];
    const Where& where = program_.where(node);
    std::vector<Layout> given;
    for (PValueId input : program_.inputs(node)) given.push_back(layout_on(input, node.where));
    const std::vector<Layout> wanted = annotated_layouts(program_, node, where);
    const Strategy strategy = strategy_of(id, given, wanted);
    const std::vector<NodeId> causes = causes_of(id, strategy);
    const PValueId source = where.single() || !window_of(program_, node) ? PValueId(kNone) : program_.inputs(node)[0];
    if (source != kNone) windows_.record_windows(source);
    const WindowReader::SlidingCuts cuts = windows_.sliding_cuts(node, strategy.slides, given);
    std::vector<Layout> needed = strategy.inputs;
    for (std::size_t i = 0; i < cuts.size(); ++i)
      for (const WindowReader::SlidingCut& one : cuts[i])
        if (one.here) needed[i][one.cut.axis] = replicated();
    {
      const auto asking = reasons_.asking(id, causes);
      for (std::uint32_t i = 0; i < node.inputs; ++i)
        if (!is_unread(program_, node, i)) set_input(id, i, node.where, needed[i]);
    }
    program_.nodes[id].once = node.once && inputs_once(program_, program_.nodes[id]);
    if (source != kNone) windows_.cut(id, source, strategy.inputs[0], causes);
    windows_.read_rows(id, cuts, causes);
    for (std::uint32_t o = 0; o < node.outputs.count; ++o)
      place(node.outputs[o], node.where, strategy.outputs[o], causes);
    finish(id, wanted);
  }

  /// Puts the node in its place, and brings its outputs to the wanted layouts.
  void finish(NodeId id, const std::vector<Layout>& wanted) {
    to_.emit(id);
    const Node node = program_.nodes[id];
    for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
      convert_once(id, node.outputs[o]);
      if (wanted[o].empty()) continue;
      const auto asking = reasons_.asking(id, std::vector<NodeId>(wanted[o].size(), id));
      to_.replace(node.outputs[o], node.where, wanted[o]);
    }
  }

  /// The strategy that was chosen for the whole program, else the cheapest one for this node.
  Strategy strategy_of(NodeId id, const std::vector<Layout>& given, const std::vector<Layout>& wanted) const {
    const Node& node = program_.nodes[id];
    if (program_.where(node).single()) return {{given, std::vector<Layout>(node.outputs.count), {}}, {}};
    const auto chosen = program_.chosen.ways.find(id);
    if (chosen == program_.chosen.ways.end()) return choose_strategy(program_, node, given, with_hints(node, wanted));
    return {chosen->second, std::vector<std::uint32_t>(chosen->second.slides.size(), kNone)};
  }

  /// The layout that was chosen for a value, else `otherwise`.
  Layout chosen_or(PValueId value, Layout otherwise) const {
    const auto chosen = program_.chosen.laid.find(value);
    return chosen == program_.chosen.laid.end() ? std::move(otherwise) : chosen->second;
  }

  /// Converts a value once for several readers, if the chosen layouts include this conversion.
  void convert_once(NodeId id, PValueId value) {
    const auto chosen = program_.chosen.converted.find(value);
    if (chosen == program_.chosen.converted.end()) return;
    const auto asking = reasons_.asking(id, std::vector<NodeId>(chosen->second.size(), kNone));
    to_.replace(value, program_.values[to_.current(value)].where, chosen->second);
  }

  /// The wanted layouts; an output with a hint gets the hint's layout.
  std::vector<Layout> with_hints(const Node& node, std::vector<Layout> wanted) const {
    for (std::uint32_t o = 0; o < node.outputs.count; ++o)
      if (const auto hint = program_.hints.find(node.outputs[o]); hint != program_.hints.end())
        wanted[o] = hint->second.layout;
    return wanted;
  }

  /// Records the place of a value, and the causes of its layout axis by axis.
  void place(PValueId value, WhereId where, Layout layout, std::vector<NodeId> causes) {
    to_.place(value, where, std::move(layout));
    reasons_.laid(value, std::move(causes));
  }

  /// The nodes with the annotations that caused the choice, axis by axis.
  std::vector<NodeId> causes_of(NodeId id, const Strategy& strategy) const {
    std::vector<NodeId> causes;
    if (!program_.options.reasons) return causes;
    for (std::size_t axis = 0; axis < strategy.asked.size(); ++axis)
      causes.push_back(cause_of(program_, id, strategy, axis,
                                [&](PValueId input) { return reasons_.cause(to_.current(input), axis); }));
    return causes;
  }

  /// Places a feed on the devices to which it is fed, then moves it to the input's annotated devices.
  void feed(NodeId id) {
    const Node node = program_.nodes[id];
    to_.place(node.outputs[0], node.where, fed_layout(program_, node));
    to_.emit(id);
    const WhereId home = program_.feed_homes[node.detail];
    if (home == kNone) return;
    const bool layout_is_free = annotated_layouts(program_, node, program_.wheres[home])[0].empty() &&
                                !program_.hints.contains(node.outputs[0]);
    const bool stays = is_fed_by_parts(program_, node) && home == node.where && layout_is_free;
    if (!stays) send_home(id, home);
    convert_once(id, node.outputs[0]);
  }

  /// Places a variable on its annotated devices, in its annotated or chosen layout.
  void variable(NodeId id) {
    const Node node = program_.nodes[id];
    const Layout wanted = annotated_layouts(program_, node, program_.where(node))[0];
    if (wanted.empty())
      to_.place(node.outputs[0], node.where, chosen_or(node.outputs[0], program_.where(node).all_replicated()));
    else
      place(node.outputs[0], node.where, wanted, std::vector<NodeId>(wanted.size(), id));
    to_.emit(id);
    convert_once(id, node.outputs[0]);
  }

  void send_home(NodeId feed, WhereId home) {
    const Node node = program_.nodes[feed];
    Layout layout = annotated_layouts(program_, node, program_.wheres[home])[0];
    std::vector<NodeId> causes(layout.size(), feed);
    if (layout.empty()) layout = chosen_or(node.outputs[0], program_.wheres[home].all_replicated());
    if (const auto hint = program_.hints.find(node.outputs[0]); hint != program_.hints.end()) {
      layout = hint->second.layout;
      causes = hint->second.causes;
    }
    const auto asking = reasons_.asking_as_placed(feed, std::move(causes));
    to_.replace(node.outputs[0], home, layout);
  }

  void assign(NodeId id) {
    const Node node = program_.nodes[id];
    const PValueId read = program_.inputs(node)[0];
    const PValue variable = program_.values[read];
    const auto asking = reasons_.asking(id, reasons_.causes(read, variable.where));
    set_input(id, 1, variable.where, variable.layout);
    to_.place(node.outputs[0], variable.where, variable.layout);
    to_.emit(id);
  }

  void fetch(NodeId id) {
    const PValueId value = to_.current(program_.inputs(program_.nodes[id])[0]);
    WhereId& at = program_.nodes[id].where;
    if (at == kNone) at = program_.values[value].where;  // each task gets its own part
    if (at == kNone) at = program_.single(program_.signature->fetch_to);
    const auto asking = reasons_.asking_anywhere(id);
    set_input(id, 0, at, program_.signature->fetch_parts ? reduced_layout_on(value, at) : Layout());
    to_.emit(id);
  }

  // ---- Control flow ----

  void loop(NodeId id) {
    const Node node = program_.nodes[id];
    const ProgramRegionId condition = node.detail, body = node.detail + 1;
    bind_parameters(id, condition);
    bind_parameters(id, body);
    region(condition);
    region(body);
    const std::vector<PValueId> carried(program_.regions[body].parameters.begin(),
                                        program_.regions[body].parameters.begin() + node.outputs.count);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const PValue parameter = program_.values[carried[i]];
      std::vector<NodeId> causes = reasons_.causes(carried[i], parameter.where);
      const auto asking = reasons_.asking(id, causes);
      PValueId& result = program_.regions[body].results[i];
      result = in_region(body, [&, r = result] { return to_.get_version(r, parameter.where, parameter.layout); });
      place(node.outputs[static_cast<PValueId>(i)], parameter.where, parameter.layout, std::move(causes));
    }
    const WhereId all = participants(node);
    program_.nodes[id].where = all;
    const auto asking = reasons_.asking_anywhere(id);
    PValueId& predicate = program_.regions[condition].results[0];
    predicate = in_region(
        condition, [&, p = predicate] { return to_.get_version(p, all, program_.wheres[all].all_replicated()); });
    to_.emit(id);
  }

  void branch(NodeId id) {
    const Node node = program_.nodes[id];
    const ProgramRegionId first = node.detail;
    bind_parameters(id, first);
    bind_parameters(id, first + 1);
    region(first);
    region(first + 1);
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
      PValueId& then_result = program_.regions[first].results[i];
      PValueId& else_result = program_.regions[first + 1].results[i];
      const PValueId made = to_.current(then_result);  // an annotation may have replaced it already
      const WhereId at = place_of(made, to_.current(else_result), node.where);
      const Layout layout = chosen_or(node.outputs[i], reduced_layout_on(made, at));
      const auto asking = reasons_.asking(id, reasons_.causes(made, at));
      then_result = in_region(first, [&, r = then_result] { return to_.get_version(r, at, layout); });
      else_result = in_region(first + 1, [&, r = else_result] { return to_.get_version(r, at, layout); });
      place(node.outputs[i], at, layout, reasons_.causes(made, at));
    }
    const WhereId all = participants(node);
    program_.nodes[id].where = all;
    const auto asking = reasons_.asking_anywhere(id);
    set_input(id, 0, all, program_.wheres[all].all_replicated());
    to_.emit(id);
  }

  /// Gives the parameters the layouts of the owner's inputs. Partial inputs are reduced first.
  void bind_parameters(NodeId owner, ProgramRegionId region_id) {
    const std::vector<PValueId> parameters = program_.regions[region_id].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::uint32_t input = program_.argument(program_.nodes[owner], region_id, i);
      const WhereId at = program_.nodes[program_.values[parameters[i]].producer].where;
      const PValueId argument = to_.current(program_.inputs(program_.nodes[owner])[input]);
      const auto asking = reasons_.asking(owner, reasons_.causes(argument, at));
      set_input(owner, input, at, chosen_or(parameters[i], reduced_layout_on(argument, at)));
      const PValueId bound = program_.inputs(program_.nodes[owner])[input];
      place(parameters[i], at, layout_on(bound, at), reasons_.causes(bound, at));
    }
  }

  WhereId place_of(PValueId a, PValueId b, WhereId fallback) const {
    if (program_.values[a].where != kNone) return program_.values[a].where;
    return program_.values[b].where != kNone ? program_.values[b].where : fallback;
  }

  /// The layout of a value if it is on `at`, with partial axes replicated; else replicated.
  Layout reduced_layout_on(PValueId value, WhereId at) const {
    const PValue& v = program_.values[value];
    return v.where == at ? reduced_layout(v.layout) : program_.wheres[at].all_replicated();
  }

  /// All tasks that take part in the bodies or hold an output of the owner.
  WhereId participants(const Node& owner) {
    std::set<std::int32_t> tasks;
    const auto add = [&](WhereId where) {
      if (where != kNone) tasks.insert(program_.wheres[where].tasks.begin(), program_.wheres[where].tasks.end());
    };
    for (const PValueId output : owner.outputs) add(program_.values[output].where);
    std::vector<ProgramRegionId> regions{owner.detail, owner.detail + 1};
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
  PValueId in_region(ProgramRegionId id, F f) {
    const ProgramRegionId outer = to_.enter(id);
    const PValueId value = f();
    to_.enter(outer);
    return value;
  }

  void set_input(NodeId user, std::uint32_t i, WhereId where, const Layout& layout) {
    const PValueId value = to_.get_version(program_.inputs(program_.nodes[user])[i], where, layout);
    program_.inputs(program_.nodes[user])[i] = value;
  }

  Program& program_;
  Reasons reasons_;
  Converter to_;
  Sums sums_;
  WindowReader windows_;
};

}  // namespace

void reshard(Program& program) {
  Resharder(program).run();
}

}  // namespace ferry
