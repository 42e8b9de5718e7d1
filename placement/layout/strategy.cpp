#include "placement/layout/strategy.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/planned_time.hpp"
#include "base/text.hpp"
#include "graph/op/op_time.hpp"
#include "ops/control/comm.hpp"
#include "placement/layout/conversion.hpp"
#include "placement/layout/ways.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

/// A way along one axis, with the cause of its choice.
struct Choice {
  AxisWay way;
  std::uint32_t asked = kNone;  ///< as Strategy::asked
};

/// The extra cost of converting an input if Program::apart, because asynchronous workers exchange as little as
/// possible. It exceeds all other costs.
constexpr std::int64_t kApart = 1'000'000'000'000'000;

class Chooser {
 public:
  Chooser(const Program& program, const Node& node, const std::vector<Layout>& given, const std::vector<Layout>& wanted)
      : program_(program),
        node_(node),
        where_(program.where(node)),
        ways_(program, node),
        given_(given),
        wanted_(wanted),
        tried_{std::vector<Layout>(node.inputs, Layout(where_.axes.size())),
               std::vector<Layout>(node.outputs.count, Layout(where_.axes.size())),
               std::vector<std::uint32_t>(where_.axes.size(), kNone)},
        asked_(where_.axes.size(), kNone),
        parallel_(where_.axes.size(), false),
        letters_(where_.axes.size(), -1) {}

  Strategy best() {
    for (std::size_t axis = 0; axis < where_.axes.size(); ++axis) choices_.push_back(choices(axis));
    try_from(0);
    if (!best_) fail();
    return *best_;
  }

 private:
  /// Throws an error: an annotation asks for partial sums that the op cannot make.
  [[noreturn]] void fail() const {
    std::vector<std::string> asked, inputs;
    for (const Layout& layout : wanted_) asked.push_back(str(layout));
    for (const Layout& layout : given_) inputs.push_back(str(layout));
    throw Error(Code::plan, "no layouts of " + node_.graph->op(node_.op).str() + " give " + join(asked, ", "))
        .note("its inputs have " + join(inputs, " "))
        .hint("partial sums come from a sum over a dim that is split: annotate another layout, or lay the inputs so");
  }

  /// The candidates for an axis; at a tie the first wins. A candidate needs a cause, except the replicated way.
  std::vector<Choice> choices(std::size_t axis) const {
    std::vector<Choice> found;
    for (AxisWay& way : ways_.along(axis)) {
      const std::uint32_t asked = cause_input(axis, way);
      const bool replicates = !way.parallel && is_replicated(way);
      if (asked != kNone || replicates) found.push_back({std::move(way), asked});
    }
    return found;
  }

  static bool is_replicated(const AxisWay& way) {
    const auto is_whole = [](const AxisLayout& layout) { return layout == replicated(); };
    return std::ranges::all_of(way.inputs, is_whole) && std::ranges::all_of(way.outputs, is_whole);
  }

  /// The first input that already has the way's layout, or kOutput if only a wanted output has it; else kNone. Also
  /// kNone if the way needs a partial input, and that input is not partial yet: no conversion makes a value partial.
  std::uint32_t cause_input(std::size_t axis, const AxisWay& way) const {
    std::uint32_t asked = kNone;
    for (std::uint32_t i = 0; i < node_.inputs; ++i) {
      if (way.inputs[i] == replicated()) continue;
      if (given_[i][axis] == way.inputs[i]) {
        if (asked == kNone) asked = i;
      } else if (way.inputs[i].kind == Kind::partial) {
        return kNone;
      }
    }
    if (asked != kNone || !way.parallel) return asked;
    for (std::size_t o = 0; o < node_.outputs.count; ++o)
      if (!wanted_[o].empty() && wanted_[o][axis] == way.outputs[o] && way.outputs[o] != replicated())
        return Strategy::kOutput;
    return kNone;
  }

  /// Tries every combination of choices for the axes from `axis` on.
  void try_from(std::size_t axis) {
    if (axis == where_.axes.size()) return consider();
    for (const Choice& choice : choices_[axis]) {
      for (std::size_t i = 0; i < node_.inputs; ++i) tried_.inputs[i][axis] = choice.way.inputs[i];
      for (std::size_t o = 0; o < node_.outputs.count; ++o) tried_.outputs[o][axis] = choice.way.outputs[o];
      tried_.slides[axis] = choice.way.slides;
      parallel_[axis] = choice.way.parallel;
      letters_[axis] = choice.way.letter;
      asked_[axis] = choice.asked;
      try_from(axis + 1);
    }
  }

  /// Whether two axes split the same letter, and the sizes of its dims differ (IndexSpace::divisor).
  bool splits_regrouped_twice() const {
    return std::ranges::any_of(letters_, [&](int l) { return l >= 0 && std::ranges::count(letters_, l) > 1; });
  }

  void consider() {
    const std::optional<std::int64_t> of_halos = ways_.halo_cost(tried_, given_);
    if (!of_halos || splits_regrouped_twice()) return;
    std::int64_t cost = add_times(computing(), *of_halos);
    for (std::size_t i = 0; i < node_.inputs; ++i) {
      if (is_unread(program_, node_, i)) continue;
      const std::int64_t before = cost;
      if (!add_cost(cost, program_.inputs(node_)[i], given_[i], tried_.inputs[i])) return;
      if (program_.apart && cost > before) cost = add_times(cost, kApart);
    }
    bool matches = true;
    for (std::uint32_t o = 0; o < node_.outputs.count; ++o) {
      const Layout& to = wanted_[o].empty() ? reduced_layout(node_.outputs[o], tried_.outputs[o]) : wanted_[o];
      if (!add_cost(cost, node_.outputs[o], tried_.outputs[o], to)) return;
      matches = matches && (wanted_[o].empty() || tried_.outputs[o] == wanted_[o]);
    }
    if (best_ && (cost > cost_ || (cost == cost_ && matches <= matches_))) return;
    best_ = {tried_, asked_};
    cost_ = cost;
    matches_ = matches;
  }

  /// The time of the kernel on one task, by the slower of arithmetic and memory. It is a CPU's time for all kinds of
  /// devices: layouts determine the order of summation, so their choice must not depend on the kind of device.
  std::int64_t computing() const {
    double parts = 1;
    for (std::size_t axis = 0; axis < parallel_.size(); ++axis)
      if (parallel_[axis]) parts *= static_cast<double>(where_.axes[axis]);
    return computing_picoseconds(DeviceKind::cpu, program_.topology->compute, ways_.work(tried_, parts),
                                 program_.threads(where_));
  }

  bool add_cost(std::int64_t& cost, PValueId value, const Layout& from, const Layout& to) const {
    const std::int64_t more = conversion_cost(program_, program_.values[value].type, where_, from, to);
    cost = add_times(cost, more);
    return more >= 0;
  }

  /// The cheapest layout to which a partial output can be reduced: parts along the first dim (a reduce-scatter).
  Layout reduced_layout(PValueId value, Layout layout) const {
    const bool scalar = program_.values[value].type.shape.rank() == 0;
    for (AxisLayout& axis : layout)
      if (axis.kind == Kind::partial) axis = scalar ? replicated() : split(0);
    return layout;
  }

  const Program& program_;
  const Node& node_;
  const Where& where_;
  const Ways ways_;
  const std::vector<Layout>&given_, &wanted_;
  std::vector<std::vector<Choice>> choices_;
  Way tried_;
  std::vector<std::uint32_t> asked_;  // by axis: Choice::asked of the choice in tried_
  std::vector<bool> parallel_;        // by axis: AxisWay::parallel of it
  std::vector<int> letters_;          // by axis: AxisWay::letter of it

  std::optional<Strategy> best_;
  std::int64_t cost_ = 0;
  bool matches_ = false;
};

}  // namespace

std::vector<Layout> annotated_layouts(const Program& program, const Node& node, const Where& where) {
  std::vector<Layout> layouts(node.outputs.count);
  const std::vector<Layout>& annotated = program.annotation_layouts(node);
  if (annotated.empty() || where.single()) return layouts;
  if (node.def == nullptr || node.role() == OpRole::take_part) return layouts;
  std::copy_n(annotated.begin(), layouts.size(), layouts.begin());
  return layouts;
}

Layout reduced_layout(Layout layout) {
  for (AxisLayout& axis : layout)
    if (axis.kind == AxisLayout::Kind::partial) axis = replicated();
  return layout;
}

NodeId output_cause(const Program& program, NodeId id, const Strategy& strategy, std::size_t axis) {
  if (strategy.asked[axis] != Strategy::kOutput) return kNone;
  const Node& node = program.nodes[id];
  const std::vector<Layout> annotated = annotated_layouts(program, node, program.where(node));
  for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
    if (!annotated[o].empty() && annotated[o][axis] == strategy.outputs[o][axis]) return id;
    const auto hint = program.hints.find(node.outputs[o]);
    if (hint != program.hints.end() && hint->second.layout[axis] == strategy.outputs[o][axis])
      return hint->second.causes[axis];
  }
  return kNone;
}

Strategy choose_strategy(const Program& program, const Node& node, const std::vector<Layout>& given,
                         const std::vector<Layout>& wanted) {
  return Chooser(program, node, given, wanted).best();
}

}  // namespace ferry
