#include "placement/choose/find_annotations.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "placement/choose/judge.hpp"

namespace ferry {
namespace {

/// Each round plans the graph once. Where layouts depart one after another, more rounds would find more annotations.
constexpr int kMostRounds = 20;

bool has_partial_axis(const Layout& layout) {
  return std::ranges::any_of(layout, [](const AxisLayout& axis) { return axis.kind == AxisLayout::Kind::partial; });
}

using OpKey = std::pair<const Graph*, OpId>;

class AnnotationFinder {
 public:
  AnnotationFinder(const Program& program, const std::function<Program(TriedAnnotations)>& placed)
      : program_(program), placed_(placed) {
    tried_.axes = program.auto_mesh->axes;
  }

  std::optional<LayoutAnnotations> run() {
    annotate_leaves();
    for (int round = 0; round < kMostRounds; ++round) try {
        const Program annotated = placed_(tried_);
        consider(judge(annotated).step);
        if (!annotate_departures(annotated) && !annotate_partial_departures(annotated)) break;
      } catch (const Error& error) {
        if (error.code() != Code::plan) throw;
        break;
      }
    if (best_ < 0) return std::nullopt;
    return result();
  }

 private:
  static OpKey key_of(const Node& node) { return {node.graph, node.op}; }

  /// Calls f for each node with chosen layouts and an op without annotated layouts.
  template <class F>
  void each_free_node(const F& f) const {
    for (NodeId id = 0; id < program_.nodes.size(); ++id) {
      const Node& node = program_.nodes[id];
      const bool is_leaf = node.kind == NodeKind::variable || node.kind == NodeKind::feed;
      const bool is_chosen =
          is_leaf ? program_.chosen.laid.contains(node.outputs[0]) : program_.chosen.ways.contains(id);
      if (is_chosen && node.graph->op(node.op).annotation().layouts.empty()) f(id);
    }
  }

  void annotate_leaves() {
    each_free_node([&](NodeId id) {
      const Node& node = program_.nodes[id];
      const bool is_leaf = node.kind != NodeKind::compute || node.graph->op(node.op).inputs().empty();
      if (is_leaf) annotate(key_of(node), layouts_of(id));
    });
  }

  /// The chosen layouts of a node's outputs. At first, a partial sum has the layout to which it is converted for all
  /// readers, or none: each reader converts it.
  [[nodiscard]] std::vector<Layout> layouts_of(NodeId id) const {
    const Node& node = program_.nodes[id];
    if (node.kind != NodeKind::compute) return {program_.chosen.laid.at(node.outputs[0])};
    std::vector<Layout> layouts = program_.chosen.ways.at(id).outputs;
    for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
      if (with_partial_sums_ || !has_partial_axis(layouts[o])) continue;
      const auto converted = program_.chosen.converted.find(node.outputs[o]);
      layouts[o] = converted == program_.chosen.converted.end() ? Layout() : converted->second;
    }
    return layouts;
  }

  /// Annotates the ops that have other layouts than the chosen ones although their inputs come from ops that have
  /// theirs. Returns false if there are none.
  bool annotate_departures(const Program& annotated) {
    std::set<OpKey> departed;
    changed_ = false;
    each_free_node([&](NodeId id) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::compute || !departs(id, annotated)) return;
      std::vector<Layout> layouts = layouts_of(id);
      if (std::ranges::all_of(layouts, &Layout::empty)) return;
      const auto tried = tried_.layouts.find(key_of(node));
      if (tried != tried_.layouts.end() && tried->second == layouts) return annotate_inputs(id);
      const std::span<const ValueId> inputs = node.graph->op(node.op).inputs();
      const bool follows = std::ranges::any_of(inputs, [&](ValueId input) {
        return departed.contains({node.graph, node.graph->producer(input)});
      });
      departed.insert(key_of(node));
      if (!follows) annotate(key_of(node), std::move(layouts));
    });
    return changed_;
  }

  void annotate(OpKey op, std::vector<Layout> layouts) {
    std::vector<Layout>& tried = tried_.layouts[op];
    changed_ = changed_ || tried != layouts;
    tried = std::move(layouts);
  }

  /// The same with annotations of partial sums, which not all ops can make.
  bool annotate_partial_departures(const Program& annotated) {
    return !std::exchange(with_partial_sums_, true) && annotate_departures(annotated);
  }

  /// The annotation of the op did not suffice: annotates the ops that make its inputs with the layouts in which it
  /// reads them.
  void annotate_inputs(NodeId id) {
    const Node& node = program_.nodes[id];
    const Op op = node.graph->op(node.op);
    const std::vector<Layout>& read = program_.chosen.ways.at(id).inputs;
    for (std::size_t i = 0; i < read.size(); ++i) {
      const Op maker = node.graph->op(node.graph->producer(op.inputs()[i]));
      const bool may_have_it =
          maker.def().role == OpRole::function && maker.outputs() == 1 && !has_partial_axis(read[i]);
      const OpKey key{node.graph, maker.id()};
      if (may_have_it && maker.annotation().empty() && !tried_.layouts.contains(key)) annotate(key, {read[i]});
    }
  }

  [[nodiscard]] bool departs(NodeId id, const Program& annotated) const {
    const Node &node = program_.nodes[id], &other = annotated.nodes[id];
    if (key_of(node) != key_of(other)) return false;
    for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
      const PValue &value = program_.values[node.outputs[o]], &made = annotated.values[other.outputs[o]];
      if (!(made.layout == static_cast<const Layout&>(value.layout))) return true;
    }
    return false;
  }

  void consider(std::int64_t step) {
    if (best_ >= 0 && step >= best_) return;
    best_ = step;
    found_ = tried_;
  }

  [[nodiscard]] LayoutAnnotations result() const {
    LayoutAnnotations annotations{found_.axes, {}, seconds_of(static_cast<double>(best_))};
    each_free_node([&](NodeId id) {
      const Node& node = program_.nodes[id];
      if (const auto found = found_.layouts.find(key_of(node)); found != found_.layouts.end())
        annotations.ops.push_back({std::string(node.graph->op(node.op).name()), program_.line(node), found->second,
                                   node.graph != program_.graph});
    });
    return annotations;
  }

  const Program& program_;
  const std::function<Program(TriedAnnotations)>& placed_;
  TriedAnnotations tried_, found_;
  std::int64_t best_ = -1;
  bool with_partial_sums_ = false;
  bool changed_ = false;  // annotations in tried_
};

}  // namespace

std::optional<LayoutAnnotations> find_annotations(const Program& program,
                                                  const std::function<Program(TriedAnnotations)>& placed) {
  if (!program.auto_mesh || (program.chosen.ways.empty() && program.chosen.laid.empty())) return std::nullopt;
  return AnnotationFinder(program, placed).run();
}

}  // namespace ferry
