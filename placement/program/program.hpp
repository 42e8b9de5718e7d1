// Program: the form of a plan that the first passes work on. It has the ops of a graph that one run needs, with
// concrete types and devices, and the transfers that placement adds. It describes whole values and all tasks at once;
// `lower` makes each role's instructions from it.
//
// Nodes have a global order: every input is made by an earlier node of the same region. A pass that adds nodes must
// keep this order valid.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.hpp"
#include "graph/graph.hpp"
#include "graph/types/halo.hpp"
#include "kernels/traits.hpp"
#include "placement/planner.hpp"
#include "placement/program/layout_frontier.hpp"
#include "plan/plan.hpp"
#include "plan/schedule/schedule.hpp"

namespace ferry {

struct Node;
struct PValue;
struct ProgramRegion;
struct Where;
using NodeId = Id<Node>;
using PValueId = Id<PValue>;
using WhereId = Id<Where>;
using ProgramRegionId = Id<ProgramRegion>;

/// A set of devices: one device, or a mesh of devices.
struct Where {
  std::vector<std::int32_t> tasks;  ///< in mesh order (row-major)
  std::vector<std::int64_t> axes;   ///< sizes; empty for one device
  DeviceKind kind = DeviceKind::cpu;
  std::int32_t index = 0;
  WhereId whole = kNone;                 ///< the mesh that has this part (mesh_parts.hpp); both share groupings
  std::vector<std::uint32_t> groupings;  ///< for each axis: groups of the tasks that differ only along it
  std::vector<bool> between_hosts;       ///< for each axis: some group has tasks on different hosts

  [[nodiscard]] bool single() const { return axes.empty(); }
  /// The layout of a value that is whole on each task.
  [[nodiscard]] Layout all_replicated() const { return Layout(axes.size()); }
  /// `layout` in the form that values have on this mesh: along an axis of one task they are always replicated.
  [[nodiscard]] Layout laid_out(Layout layout) const;
  [[nodiscard]] bool has(std::int32_t task) const { return position(task) < tasks.size(); }
  /// The task's index in `tasks`; tasks.size() if the task is missing. Takes constant time if the tasks are
  /// consecutive.
  [[nodiscard]] std::size_t position(std::int32_t task) const;
  /// "/task:1/cpu:0", or "mesh[2,2]/cpu:0".
  [[nodiscard]] std::string str() const;
  bool operator==(const Where& other) const {
    return tasks == other.tasks && axes == other.axes && kind == other.kind && index == other.index &&
           whole == other.whole;
  }
};

/// The kinds of nodes. Placement adds transfers, collectives, fetches and some compute nodes; the others come from the
/// graph.
enum class NodeKind : std::uint8_t {
  compute,    ///< an op with a kernel
  feed,       ///< a value that the caller gives
  variable,   ///< reads a variable
  assign,     ///< sets a variable: inputs variable, value
  parameter,  ///< a parameter of a region
  loop,       ///< inputs: carried values and captures; outputs: the carried values
  branch,     ///< inputs: predicate and captures; outputs: the results
  transfer,   ///< sends a value from one task to another
  /// Copies a value to other devices of the same tasks, or of some of them; or to a mesh from the devices of its tasks.
  /// Each of them then has the whole value, or its part of the value (layout/joined_parts.hpp). In a server's turn it
  /// makes a separate value with the same bytes.
  copy,
  collective,  ///< over the groups of a mesh axis, or between a device and a mesh; several values form a bucket
  fetch        ///< a value that the caller receives
};

[[nodiscard]] std::string_view name_of(NodeKind kind);

struct Node {
  NodeKind kind = NodeKind::compute;
  bool once = false;  ///< computed in the setup region
  OpId op = 0;
  const OpDef* def = nullptr;    ///< null for transfers, collectives and fetches
  const Graph* graph = nullptr;  ///< the graph of `op`; for added nodes `op` made the value that they move or change
  const Attrs* attrs = nullptr;
  std::uint32_t first_input = 0, inputs = 0;  ///< inputs are a range of Program::operands
  Range outputs;                              ///< a range of Program::values: a PValueId for each output
  WhereId where = kNone;
  std::uint32_t detail = kNone;  ///< index of its collective, region (the first of two), feed or fetch

  [[nodiscard]] OpRole role() const { return def == nullptr ? OpRole::function : def->role; }
};

/// A reference to a layout in Program::layouts, which many values share. The default is the empty layout, which values
/// on one device have.
class LayoutRef {
 public:
  LayoutRef() = default;
  explicit LayoutRef(const Layout& shared) : layout_(&shared) {}
  operator const Layout&() const {  // NOLINT: it is that layout
    static const Layout kNone;
    return layout_ == nullptr ? kNone : *layout_;
  }
  [[nodiscard]] std::size_t size() const { return layout_ == nullptr ? 0 : layout_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const AxisLayout& operator[](std::size_t axis) const { return (*layout_)[axis]; }
  bool operator==(const Layout& other) const { return static_cast<const Layout&>(*this) == other; }

 private:
  const Layout* layout_ = nullptr;
};

/// Rows of a split value that other tasks read. A task gives its rows to other tasks, or gets rows from them, in
/// blocks, one block for each other task in order (kCutHalo).
struct ProgramHalo {
  std::size_t axis = 0;  ///< axis of the mesh
  std::size_t dim = 0;   ///< the dim that the axis splits
  Halo halo;
  bool got = false;

  [[nodiscard]] std::int64_t rows(std::int64_t task) const { return got ? halo.rows_got(task) : halo.rows_given(task); }
};

/// Along this axis, which splits a dim, a task holds the rows that it reads instead of its own part of the dim.
struct ProgramRows {
  std::size_t axis = 0, dim = 0;
  Halo halo;  ///< has one Reads
};

/// A value of the program.
struct PValue {
  Type type;  ///< of the whole value; all dims known or bounded
  NodeId producer = 0;
  WhereId where = kNone;
  LayoutRef layout;              ///< one entry for each axis of `where`
  const Graph* graph = nullptr;  ///< with `value`: the value of the graph that it represents, for names and lines
  ValueId value = 0;
  /// Index into Program::halos: the value is rows for other tasks instead of a part of a value.
  std::uint32_t halo = kNone;
  /// Index into Program::rows: along these axes a task holds the rows that it reads (Window::Has::read).
  std::uint32_t rows = kNone;
};

/// The tasks that take part in a collective.
struct Members {
  std::uint32_t grouping = 0;
  std::int32_t root = 0;    ///< member index
  bool guest_root = false;  ///< the root is outside the value's mesh, and is the last member
};

/// A collective that placement has added.
struct ProgramCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Reduce reduce = Reduce::none;
  Members members;
  std::int16_t dim = 0;  ///< the dim that gathers join and scatters cut; also for all-to-all
};

/// A region of the program: the step, or a body of control flow.
struct ProgramRegion {
  Region::Kind kind = Region::Kind::step;
  std::vector<NodeId> order;  ///< the nodes, in global order
  std::vector<PValueId> parameters;
  std::vector<PValueId> results;
};

/// A task that serves workers, each in its turn (serving/serve_workers.hpp). Workers are other tasks.
struct ProgramServing {
  std::int32_t task = 0;
  std::int64_t staleness = 0;         ///< the number of steps that a worker may be ahead of another
  std::vector<std::int32_t> workers;  ///< ascending
};

/// A turn of a server: it gives values to a worker, or takes values from the worker.
struct ProgramTurn {
  std::uint32_t serving = kNone;  ///< index into Program::servings
  std::uint32_t worker = 0;       ///< index into ProgramServing::workers
  bool take = false;
};

/// The nodes with the annotations that decided places and layouts, for `ferry explain`. Filled only with
/// PlanOptions::reasons.
struct Causes {
  std::vector<NodeId> of_place;  ///< for each node: the node that decided its devices; kNone: no annotation
  /// For each value, and each axis of its mesh: the node that decided its layout; kNone, or no entry: no annotation.
  std::map<PValueId, std::vector<NodeId>> of_layout;
};

/// A layout that all users of a value want but that does not follow from the inputs of the value's op. `causes` are,
/// for each axis, the nodes with the annotations that ask for it.
struct LayoutHint {
  Layout layout;
  std::vector<NodeId> causes;
};

/// A mesh of all tasks for ops without an annotation. The planner chooses their layouts by cost.
struct AutoMesh {
  std::vector<std::int64_t> axes;           ///< sizes of the axes; their product is the number of tasks
  bool replicates_variables = false;        ///< variables without an annotation are whole on each task
  std::map<OpId, Layout> variables = {};    ///< layouts that are already decided, by the variable's op
  std::vector<std::uint32_t> choices = {};  ///< choices for choose_layouts to use; empty: it solves its problem
  std::int64_t choices_bound = 0;           ///< with `choices`: a lower bound of all choices, in Program::cost_unit
  bool finds_frontier = false;              ///< choose_layouts fills Program::frontier
  bool of_request = false;                  ///< the planned request itself has decided the variables
  /// The most bytes, by the model, that choices may take so that the plan has enough memory; none: there is no limit.
  std::optional<std::int64_t> most_bytes = {};
  /// choose_layouts solves its problem within `most_bytes`; it may begin with `choices`.
  bool solves_within_memory = false;
};

/// Stages for ops without an annotation: stage s is on task s.
struct AutoStages {
  int count = 0;
  /// The stage of each op of the graph (ops/train/stages/place_stages.hpp); ops of bodies are in the stage of the op
  /// that owns the body.
  std::vector<int> of_ops;
  bool operator==(const AutoStages&) const = default;
};

/// A placement of the ops without an annotation: on a mesh, in stages or, with neither, where their inputs are.
struct AutoPlace {
  std::optional<AutoMesh> mesh = {};
  std::optional<AutoStages> stages = {};
};

/// Annotations that are tried instead of AutoMesh (placement/choose/find_annotations.hpp): the layouts of the outputs
/// of ops, on a mesh of all tasks. A graph and an op's id name an op.
struct TriedAnnotations {
  std::vector<std::int64_t> axes;  ///< sizes of the axes
  std::map<std::pair<const Graph*, OpId>, std::vector<Layout>> layouts;
};

/// The layouts of the inputs and outputs of one op on a mesh.
struct Way {
  std::vector<Layout> inputs, outputs;
  /// For each axis, the index in sliding_dims() of the dim that is split; kNone: none. The op slides windows along
  /// these dims.
  std::vector<std::uint32_t> slides;
};

/// Layouts that choose_layouts chose for a mesh (placement/choose/choose_layouts.hpp). reshard applies them.
struct ChosenLayouts {
  std::unordered_map<NodeId, Way> ways;  ///< for compute nodes
  /// For variables, feeds, parameters of regions and results of branches.
  std::unordered_map<PValueId, Layout> laid;
  /// For values that several nodes read: the value is converted once to this layout, and from it for each reader.
  std::unordered_map<PValueId, Layout> converted;
};

/// The problem that choose_layouts solved, as text (placement/choose/problem_text.hpp).
struct ProblemText {
  std::string problem;  ///< "nodes": {…}, "edges": {…}
  std::string choices;  ///< [0, 2, 1, …]
};

struct Program {
  const Graph* graph = nullptr;
  const Signature* signature = nullptr;
  const Topology* topology = nullptr;
  const KernelLookup* kernels = nullptr;
  PlanOptions options;

  std::vector<Node> nodes;
  std::vector<PValueId> operands;
  std::vector<PValue> values;
  std::deque<Where> wheres;    ///< references to them stay valid
  std::deque<Layout> layouts;  ///< each distinct layout of values once
  std::vector<Grouping> groupings;
  std::vector<ProgramCollective> collectives;
  std::vector<ProgramHalo> halos;
  std::vector<std::vector<ProgramRows>> rows;
  std::vector<ProgramRegion> regions;  ///< region 0 is the step
  std::vector<ProgramServing> servings;
  std::unordered_map<NodeId, ProgramTurn> turns;  ///< nodes that run in a server's turns
  std::deque<Attrs> added_attrs;                  ///< attributes of nodes that placement adds
  /// For each feed: the devices that its annotation names; kNone: it stays where it is given.
  std::vector<WhereId> feed_homes;
  std::unordered_map<PValueId, LayoutHint> hints;
  std::optional<AutoMesh> auto_mesh;      ///< placement by itself (placement/choose)
  WhereId auto_where = kNone;             ///< the device set of `auto_mesh`; kNone: no node is on it
  std::optional<AutoStages> auto_stages;  ///< placement by itself in stages
  std::optional<TriedAnnotations> tried;
  ChosenLayouts chosen;
  std::vector<std::uint32_t> choices;              ///< Solution::choices, for AutoMesh::choices
  std::int64_t chosen_cost = 0, chosen_bound = 0;  ///< Solution::value and bound of the chosen layouts, in picoseconds
  std::int64_t chosen_bytes = 0;                   ///< memory of a task by the cost model, in bytes
  std::int64_t cost_unit = 1;                      ///< the picoseconds of a cost of 1 in `frontier` and `problem`
  LayoutFrontier frontier;                         ///< filled if AutoMesh::finds_frontier
  ProblemText problem;                             ///< filled if PlanOptions::dumps_problem
  std::vector<Alternative> alternatives;           ///< for the ops that PlanOptions::compared names
  Causes causes;
  std::vector<Reason> reasons;
  std::unordered_map<NodeId, std::size_t> reason_of;  ///< index into `reasons`
  std::vector<PipelineChart> pipelines;               ///< as PlanResult::pipelines
  std::vector<std::string> warnings;                  ///< as PlanResult::warnings
  bool placed = false;                                ///< assign_devices has run: nodes have devices
  /// Updates are asynchronous: the tasks of a mesh should exchange as few messages as possible.
  bool apart = false;

  [[nodiscard]] std::span<const PValueId> inputs(const Node& node) const {
    return {operands.data() + node.first_input, node.inputs};
  }
  [[nodiscard]] std::span<PValueId> inputs(const Node& node) {
    return {operands.data() + node.first_input, node.inputs};
  }
  /// The index of the input of a loop or branch from which a parameter of its body gets its value.
  [[nodiscard]] std::uint32_t argument(const Node& owner, ProgramRegionId body, std::size_t parameter) const;
  [[nodiscard]] const Where& where(const Node& node) const { return wheres[node.where]; }
  /// The number of threads of the first task of `where`.
  [[nodiscard]] int threads(const Where& where) const { return topology->tasks[where.tasks[0]].threads; }
  /// The op's name, or the name of the value that an added node moves.
  [[nodiscard]] std::string name(const Node& node) const;
  [[nodiscard]] std::string name(PValueId value) const;
  [[nodiscard]] SourceLine line(const Node& node) const;
  /// The layouts from the op's annotation, or the layouts that are tried as its annotation; empty: none.
  [[nodiscard]] const std::vector<Layout>& annotation_layouts(const Node& node) const;
  /// True for a compute node that runs on the host wherever it is placed. Such a node has state, an effect or a value
  /// of its task, or has sizes that depend on data, which the host must know.
  [[nodiscard]] bool runs_on_host(const Node& node) const;
  /// True for a copy that moves no data: it takes one task's part of a mesh value, on the same device.
  [[nodiscard]] bool is_member(const Node& node) const;
  /// The value that owns a value's bytes: itself, or the value that it is a view of.
  [[nodiscard]] PValueId stored(PValueId value) const;
  /// "mesh dp=* on /task:*", "/task:2".
  [[nodiscard]] std::string text(const Annotation& annotation) const;

  /// Appends a node with new outputs of these types. The node is not yet in any region's order.
  NodeId add(Node node, std::span<const PValueId> inputs, std::span<const Type> outputs);
  /// The index of the device set; equal sets have equal indices.
  WhereId intern(Where where);
  WhereId single(std::int32_t task, DeviceKind kind = DeviceKind::cpu, std::int32_t index = 0);
  std::uint32_t intern(Grouping grouping);
  LayoutRef intern(Layout layout);
  /// Whether members of one group are on different hosts.
  [[nodiscard]] bool crosses_hosts(const Grouping& grouping) const;
  /// The program as text, a line for each node in order. Together with the graph it has all facts that passes read,
  /// except reasons, trials and stages. tests/plans parses it.
  [[nodiscard]] std::string str() const;

 private:
  /// Sets the groups of each axis, which are the tasks that differ only along it.
  void group_axes(Where& where);

  std::unordered_multimap<std::uint64_t, WhereId> where_index_;  // by hash
};

/// An op of the program, with the concrete types of its inputs.
class ProgramFacts final : public OpFacts {
 public:
  ProgramFacts(const Program& program, std::span<const PValueId> inputs, const Attrs& attrs)
      : program_(program), inputs_(inputs), attrs_(attrs) {}
  [[nodiscard]] int inputs() const override { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] const Type& input(int i) const override { return program_.values[inputs_[i]].type; }
  [[nodiscard]] const Attrs& attrs() const override { return attrs_; }
  [[nodiscard]] const Tensor* constant(int i) const override;
  /// Never called: the types of bodies are read from their regions.
  [[nodiscard]] std::vector<Type> results(std::string_view name) const override;

 private:
  const Program& program_;
  std::span<const PValueId> inputs_;
  const Attrs& attrs_;
};

/// For each value, the position in its region's order of the first use of the value or of a view of it. If the value is
/// used only as a result of the region, this is the order's size; kNone if it is not used.
[[nodiscard]] std::vector<std::uint32_t> first_uses(const Program& program);

/// Whether the node is an op that uses only the sizes of this input. Such an input may be on any devices, and nothing
/// is moved for it.
[[nodiscard]] bool is_unread(const Program& program, const Node& node, std::size_t input);
/// Whether the op of the node can fail for some values of its inputs (ops/may_fail.hpp).
[[nodiscard]] bool may_fail(const Program& program, const Node& node);

}  // namespace ferry
