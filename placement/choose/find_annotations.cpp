#include "placement/choose/find_annotations.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "ops/train/stages/place_stages.hpp"
#include "placement/choose/judge.hpp"
#include "placement/layout/conversion.hpp"

namespace ferry {
namespace {

/// The most rounds. Each round plans the graph once. If layouts depart from the chosen ones one after another, more
/// rounds would find more annotations.
constexpr int kMostRounds = 20;

using OpKey = std::pair<const Graph*, OpId>;

class AnnotationFinder {
 public:
  AnnotationFinder(const Program& program, const AnnotationPlanning& planning)
      : program_(program), planning_(planning) {
    tried_.axes = program.auto_mesh->axes;
  }

  std::optional<LayoutAnnotations> run() {
    annotate_leaves();
    for (int round = 0; round < kMostRounds; ++round) try {
        const Program annotated = planning_.placed(tried_);
        consider(annotated);
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
      if (std::vector<Layout> layouts = layouts_of(id); is_leaf && !layouts.empty())
        annotate(key_of(node), std::move(layouts));
    });
  }

  /// The layouts with which to annotate the node's op. They are the same for all outputs, because a rules file has one
  /// layout for an op. Empty if the chosen layouts do not allow this.
  [[nodiscard]] std::vector<Layout> layouts_of(NodeId id) const {
    const Node& node = program_.nodes[id];
    if (node.kind != NodeKind::compute) return {program_.chosen.laid.at(node.outputs[0])};
    if (node.outputs.count == 0) return {};
    const std::vector<Layout>& made = program_.chosen.ways.at(id).outputs;
    std::vector<Layout> converted = made;
    for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
      const auto found = program_.chosen.converted.find(node.outputs[o]);
      if (found != program_.chosen.converted.end()) converted[o] = found->second;
    }
    for (const std::vector<Layout>* const layouts : {with_partial_sums_ ? &made : &converted, &made}) {
      const bool alike = std::ranges::count(*layouts, layouts->front()) == std::ssize(*layouts);
      if (alike && (with_partial_sums_ || !is_partial(layouts->front()))) return *layouts;
    }
    return {};
  }

  /// Annotates the ops with other layouts than the chosen ones, if the ops that make their inputs have the chosen
  /// layouts. Returns false if there are no such ops.
  bool annotate_departures(const Program& annotated) {
    std::set<OpKey> departed;
    changed_ = false;
    annotate_arguments(annotated);
    if (changed_) return true;
    each_free_node([&](NodeId id) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::compute || !departs(id, annotated)) return;
      std::vector<Layout> layouts = layouts_of(id);
      if (layouts.empty()) return;
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

  /// The parameters of a body have the layouts of the values that the owner reads. If a parameter has another layout
  /// than the chosen one, annotates the op that makes the owner's input.
  void annotate_arguments(const Program& annotated) {
    for (const Node& node : program_.nodes)
      if (node.kind == NodeKind::loop || node.kind == NodeKind::branch)
        for (const ProgramRegionId body : {node.detail, node.detail + 1}) annotate_arguments(node, body, annotated);
  }

  void annotate_arguments(const Node& owner, ProgramRegionId body, const Program& annotated) {
    const std::vector<PValueId>& parameters = program_.regions[body].parameters;
    const std::span<const ValueId> arguments = owner.graph->op(owner.op).inputs();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto chosen = program_.chosen.laid.find(parameters[i]);
      const Layout& made = annotated.values[parameters[i]].layout;
      if (chosen == program_.chosen.laid.end() || made == chosen->second) continue;
      annotate_maker(*owner.graph, arguments[program_.argument(owner, body, i)], chosen->second);
    }
  }

  /// Annotates the op that makes a value, if the op has no annotation and no other output.
  void annotate_maker(const Graph& graph, ValueId value, const Layout& layout) {
    const Op maker = graph.op(graph.producer(value));
    const OpKey key{&graph, maker.id()};
    const bool is_free = maker.annotation().empty() && !tried_.layouts.contains(key);
    const bool may_have_it = maker.def().role == OpRole::function || maker.def().role == OpRole::constant;
    if (is_free && may_have_it && maker.outputs() == 1 && !is_partial(layout)) annotate(key, {layout});
  }

  void annotate(OpKey op, std::vector<Layout> layouts) {
    std::vector<Layout>& tried = tried_.layouts[op];
    changed_ = changed_ || tried != layouts;
    tried = std::move(layouts);
  }

  /// Does the same with annotations of partial sums also, which not all ops can have.
  bool annotate_partial_departures(const Program& annotated) {
    return !std::exchange(with_partial_sums_, true) && annotate_departures(annotated);
  }

  /// Called if the annotation of an op did not suffice. Annotates the ops that make its inputs with the layouts in
  /// which it reads them.
  void annotate_inputs(NodeId id) {
    const Node& node = program_.nodes[id];
    const std::span<const ValueId> inputs = node.graph->op(node.op).inputs();
    const std::vector<Layout>& read = program_.chosen.ways.at(id).inputs;
    for (std::size_t i = 0; i < read.size(); ++i) annotate_maker(*node.graph, inputs[i], read[i]);
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

  void consider(const Program& annotated) {
    const std::int64_t step = judge(annotated).step;
    if ((best_ >= 0 && step >= best_) || !planning_.fits(annotated)) return;
    best_ = step;
    found_ = tried_;
  }

  [[nodiscard]] LayoutAnnotations result() const {
    LayoutAnnotations annotations{found_.axes, {}, seconds_of(static_cast<double>(best_))};
    std::set<OpKey> listed;
    for (NodeId id = 0; id < program_.nodes.size(); ++id) {
      const OpKey key = key_of(program_.nodes[id]);
      const auto found = found_.layouts.find(key);
      if (found == found_.layouts.end() || !listed.insert(key).second) continue;
      const Op op = key.first->op(key.second);
      annotations.ops.push_back({std::string(op.name()), op.line(), found->second, key.first != program_.graph});
    }
    return annotations;
  }

  const Program& program_;
  const AnnotationPlanning& planning_;
  TriedAnnotations tried_, found_;
  std::int64_t best_ = -1;
  bool with_partial_sums_ = false;
  bool changed_ = false;  // whether annotations in tried_ changed
};

/// The task of the stage in which placement put the node; nothing if the node may be anywhere.
std::optional<int> task_of_stage(const Program& program, const Node& node) {
  const bool is_op = node.kind == NodeKind::compute || node.kind == NodeKind::feed || node.kind == NodeKind::variable ||
                     node.kind == NodeKind::loop || node.kind == NodeKind::branch;
  if (!is_op || node.def == nullptr || node.role() == OpRole::constant) return std::nullopt;
  if (!node.graph->op(node.op).annotation().empty()) return std::nullopt;
  if (node.graph == program.graph) {
    const int stage = program.auto_stages->of_ops[node.op];
    return stage == kNoStage ? std::nullopt : std::optional(stage);
  }
  return node.where == kNone || !program.where(node).single() ? std::nullopt
                                                              : std::optional(program.where(node).tasks[0]);
}

/// The stages of all ops, as annotations.
LayoutAnnotations stage_annotations(const Program& program) {
  LayoutAnnotations annotations;
  annotations.step_seconds = seconds_of(static_cast<double>(judge(program).step));
  std::set<OpKey> listed;
  for (const Node& node : program.nodes)
    if (const std::optional<int> task = task_of_stage(program, node);
        task && listed.insert({node.graph, node.op}).second) {
      const Op op = node.graph->op(node.op);
      annotations.ops.push_back({std::string(op.name()), op.line(), {}, node.graph != program.graph, task});
    }
  return annotations;
}

}  // namespace

std::optional<LayoutAnnotations> find_annotations(const Program& program, const AnnotationPlanning& planning) {
  if (program.auto_stages) return stage_annotations(program);
  if (!program.auto_mesh || (program.chosen.ways.empty() && program.chosen.laid.empty())) return std::nullopt;
  return AnnotationFinder(program, planning).run();
}

}  // namespace ferry
