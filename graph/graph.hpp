// Graph: the computation. Ops in topological order, with optional devices and layouts; entries; subgraphs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "graph/annotation.hpp"
#include "graph/budget.hpp"
#include "graph/op/attrs.hpp"
#include "graph/op/infer.hpp"
#include "graph/op/op_def.hpp"
#include "graph/op_table.hpp"
#include "graph/scopes.hpp"
#include "graph/types/device_spec.hpp"
#include "graph/types/layout.hpp"
#include "graph/types/tensor.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The device of a single op.
struct On {
  DeviceSpec device;  ///< parts that it leaves open are chosen by placement
};

/// The device of a single op, in the grammar of DeviceSpec::parse(), as an argument of Graph::constant().
///
///     g.constant({1, 2}, on("/task:1"));  // int32[2]
[[nodiscard]] inline On on(std::string_view device) {
  return {DeviceSpec::parse(device)};
}

/// A named way to run a graph: its feeds, its fetches, and the ops run for their effect. `ferry run --entry NAME`
/// runs it.
///
///     g.fetch("train", "loss", loss);
///     for (const Value& update : sgd(loss, weights, 0.1)) g.target("train", update);
///     g.entry("train").targets.size();  // 2
struct Entry {
  struct Named {
    std::string name;  ///< the name under which the value is fed or fetched
    ValueId value;     ///< its number in the graph (Graph::value)
  };
  std::vector<Named> feeds;    ///< outputs of Input ops
  std::vector<Named> fetches;  ///< the values that a run returns, with their names
  std::vector<OpId> targets;   ///< run for their effect (assigns, prints)
};

/// A setting for the ops that are added during its lifetime. Scopes end in the reverse order of their beginning.
///
///     {
///       auto here = g.device("/task:1");
///       Value y = x + 1;  // on task 1
///     }
class [[nodiscard]] Scope {
 public:
  Scope(Scope&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)), what_(other.what_) {}
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  friend class Graph;
  Scope(Graph* graph, std::optional<Scopes::Kind> what) : graph_(graph), what_(what) {}
  Graph* graph_;
  std::optional<Scopes::Kind> what_;  ///< none: made by Graph::build()
};

/// A read-only view of one op. Valid until the graph changes.
///
///     Op op = (x + 1).named("y").op();
///     op.name();           // "y"
///     op.inputs().size();  // 2
class Op {
 public:
  Op(const Graph& graph, OpId id) : graph_(&graph), id_(id) {}
  /// The graph that has the op.
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  /// The op's number in the graph.
  [[nodiscard]] OpId id() const { return id_; }
  /// The definition of the op: its types, attributes, gradient and layouts.
  [[nodiscard]] const OpDef& def() const;
  /// The op's name, which is unique in the graph.
  [[nodiscard]] std::string_view name() const;
  /// The values that the op reads, in the order of its arguments.
  [[nodiscard]] std::span<const ValueId> inputs() const;
  /// The number of the op's outputs.
  [[nodiscard]] int outputs() const;
  /// Output i, counted from 0.
  [[nodiscard]] ValueId output(int i) const;
  /// Ops that must have run before this one, in addition to the ops that make its inputs.
  [[nodiscard]] std::span<const OpId> after() const;
  /// The constant parameters of the op, by name.
  [[nodiscard]] const Attrs& attrs() const;
  /// The device or mesh that the user gave the op, and the layouts of its outputs.
  [[nodiscard]] const Annotation& annotation() const;
  /// The number of the Graph::remade() scope in which the op was added, counted from 1; 0: none.
  [[nodiscard]] std::uint32_t remade() const;
  /// Whether the op is a copy that gradients() made of an op of a remade scope: it is computed again on purpose.
  [[nodiscard]] bool recomputed() const;
  /// The line of the user's program that made the op.
  [[nodiscard]] SourceLine line() const;
  /// "matmul_1 (MatMul) at model.cpp:12".
  [[nodiscard]] std::string str() const;

 private:
  const Graph* graph_;
  OpId id_;
};

/// A dataflow graph. Ops are only ever appended, so ids are a topological order and a graph has no cycles. Not
/// thread-safe while it is built; any number of threads may read it afterwards.
///
///     Graph g;
///     auto a = g.constant({1, 2, 3}, on("/task:0"));
///     auto b = g.constant({10, 20, 30}, on("/task:1"));
///     auto here = g.device("/task:2");
///     a + b;  // int32[3]
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // ---- Leaves. Shapes are inferred as ops are built; errors name the caller's line. ----

  /// A constant from a braced list, one or two dims: integers become int32, floating-point numbers float32, bool bool.
  /// Use a Tensor for other dtypes and sizes.
  ///
  ///     g.constant({1, 2, 3});                 // int32[3]
  ///     g.constant({{1.5, 2.0}, {3.0, 4.0}});  // float32[2,2]
  template <class T>
  Value constant(std::initializer_list<T> values, const On& place = {},
                 source_location at = source_location::current()) {
    return constant(listed({static_cast<std::int64_t>(values.size())}, std::vector<T>(values), at), place, at);
  }
  template <class T>
  Value constant(std::initializer_list<std::initializer_list<T>> rows, const On& place = {},
                 source_location at = source_location::current()) {
    std::vector<T> values;
    for (const auto& row : rows) values.insert(values.end(), row);
    const auto count = static_cast<std::int64_t>(rows.size());
    return constant(listed({count, count == 0 ? 0 : static_cast<std::int64_t>(rows.begin()->size())}, values, at),
                    place, at);
  }

  /// A constant with the value of a tensor. The graph shares the tensor's bytes.
  ///
  ///     g.constant(Tensor::of<double>({3}, {1, 2, 3}));  // float64[3]
  Value constant(Tensor value, const On& place = {}, source_location at = source_location::current());

  /// A scalar constant of that dtype. Error(plan) when an integer dtype cannot hold the number.
  ///
  ///     g.constant(2.5, DType::float64);  // 2.5
  Value constant(Literal value, DType dtype = DType::float32, source_location at = source_location::current());

  /// A value that the caller of run() gives, by this name. Dims may be symbolic. Error(plan) if the name is taken.
  ///
  ///     g.input("pixels", DType::uint8, {"batch", 784});  // uint8[batch,784]
  Value input(std::string_view name, DType dtype, Shape shape, source_location at = source_location::current());

  /// The same with elements of float32.
  ///
  ///     g.input("points", {"batch", 3});  // float32[batch,3]
  Value input(std::string_view name, Shape shape, source_location at = source_location::current()) {
    return input(name, DType::float32, std::move(shape), at);
  }

  /// State that lives from step to step. The entry "init" computes `initial`; run() runs that entry by itself for
  /// variables that have no value yet. The result is the variable's value from before the step. Error(plan) if the name
  /// is taken.
  ///
  ///     g.variable("count", g.constant(7));  // 7
  Value variable(std::string_view name, const Value& initial, source_location at = source_location::current());

  // ---- Scopes ----

  /// Ops made while the scope lives are on this device. In nested scopes, an inner scope overrides only the parts of
  /// the device that it names (DeviceSpec::merged).
  ///
  ///     auto here = g.device("/job:worker/task:1/gpu:0");
  Scope device(std::string_view spec);
  Scope device(const DeviceSpec& spec);

  /// Ops made while the scope lives are on this mesh. Value::laid() sets a layout; ferry decides the others.
  ///
  ///     auto everywhere = g.on(g.mesh("data"));
  ///     Value rows = identity(x).laid({split(0)});  // each task has some rows
  Scope on(MeshId mesh);

  /// Ops made while the scope lives have names that begin with "name/".
  ///
  ///     auto layer = g.name("layer1");
  ///     identity(x).named("h").name();  // "layer1/h"
  Scope name(std::string_view name);

  /// Ops made while the scope lives run after the ops of these values.
  ///
  ///     Value shown = print(x, "x");
  ///     auto later = g.after(Values{shown});
  ///     Value y = x + 1;  // runs after the print
  Scope after(std::span<const Value> values);
  /// Ops made while the scope lives have this line: for ops derived from others (gradients, casts).
  Scope line(const SourceLine& line);
  /// The line that an op made with `given` would have now.
  [[nodiscard]] SourceLine line_for(const SourceLine& given) const;
  /// Ops made while the scope lives have exactly this annotation, whatever the scopes around say.
  Scope annotated(Annotation annotation);

  /// Rematerialization (gradient checkpointing, Chen et al., 2016): results of ops made while the scope lives are not
  /// kept for the backward pass. Where gradients() needs them, it adds copies of these ops that compute them again from
  /// the values that enter the scope. This trades memory for computing, and for messages if a layout changes within the
  /// scope. A value that goes from one scope to another is kept. Ops with state or an effect (such as Print), and
  /// constants, are not repeated. It affects only gradients() of this graph: a graph file stores the copies, not the
  /// scope.
  ///
  ///     auto everywhere = g.on(g.mesh("tasks"));
  ///     auto part = g.remade();
  ///     Value h = tanh(matmul(x, identity(w).laid({replicated()})));
  Scope remade();
  /// While the scope lives, this graph makes ops and scopes in `body`, one of its subgraphs. So a function that builds
  /// a branch puts its ops there even if they use only values of this graph.
  Scope build(Graph& body);
  /// The graph in which ops are made now: this one, or the body that is being built.
  [[nodiscard]] Graph& current() { return body_scopes_.empty() ? *this : body_scopes_.back()->current(); }

  /// A mesh of one axis, named `axis`, over all tasks ("/task:*"), or over those that `devices` names.
  ///
  ///     MeshId workers = g.mesh("data", "/job:worker/task:*");
  MeshId mesh(std::string_view axis, std::string_view devices = "/task:*");

  /// A mesh of several axes. One axis may have an open size (Mesh::kOpen).
  ///
  ///     MeshId grid = g.mesh({{"data", Mesh::kOpen}, {"model", 2}});
  MeshId mesh(std::vector<Mesh::Axis> axes, std::string_view devices = "/task:*");
  /// Adds a mesh. Error(plan) if there is no axis, if two axes have one name or are open, or if a size is not positive.
  MeshId mesh(Mesh mesh);

  // ---- Budget ----

  /// Limits the costs of a step of this graph: a plan above a limit is an Error(plan), which has the user's line. Each
  /// call replaces the limits of the call before. Error(usage) for a negative number; Error(plan) in a subgraph.
  ///
  ///     g.budget({.messages = 100, .memory = 1'000'000'000});
  void budget(const Budget& limits);
  /// The limits that budget() has set.
  [[nodiscard]] const Budget& budget() const { return budget_; }

  // ---- Placement by itself ----

  /// Makes ferry place this graph by itself (docs/guide/placement_by_itself.md): annotations are constraints, and the
  /// planner chooses all other devices and layouts. PlanningOptions::placing, if given, overrides the graph.
  /// Error(plan) in a subgraph.
  ///
  ///     g.auto_place();
  ///     g.is_auto_placed();  // true
  void auto_place();
  /// Whether auto_place() was called.
  [[nodiscard]] bool is_auto_placed() const { return auto_placed_; }

  // ---- Building with op definitions ----

  /// Reserves memory for `ops` ops, if their number is known.
  void reserve(OpId ops) { ops_.reserve(ops); }
  /// Loads memory for the search of an op's name into the cache. Call it shortly before an op of that name is added.
  void prefetch(std::string_view name) const { ops_.prefetch(name); }
  /// Appends an op and infers the types of its outputs. Inputs of an enclosing graph are captured. Error(plan) names
  /// op, inputs with their types, and the line. The op gets an automatic name, or exactly `name`.
  Values add(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& line,
             std::string_view name = {});
  /// Sets afterwards what an op otherwise gets from scopes: annotation, name, and ops that it runs after.
  void annotate(OpId op, const Annotation& annotation);
  /// Renames an op. Error(plan) if the name is taken.
  void rename(OpId op, std::string_view name);
  /// Makes an op run after earlier ops.
  void add_after(OpId op, std::span<const OpId> earlier);
  /// Marks an op that is computed again on purpose: planning never merges it with an equal one.
  void mark_recomputed(OpId op);

  // ---- Subgraphs (bodies of control flow) ----

  /// A new subgraph, to be filled: first with its parameters, then with other ops. It starts with the annotation, line
  /// and prefix of names that apply here (Scopes::for_body).
  Graph& add_subgraph(std::string_view name);
  /// Removes the last subgraph. No op may refer to it. Used for a body that was built only to find its results.
  void drop_subgraph();
  /// The number of subgraphs.
  [[nodiscard]] std::uint32_t subgraphs() const;
  /// The subgraph to which an attribute of an op refers.
  [[nodiscard]] const Graph& subgraph(SubgraphRef ref) const;
  [[nodiscard]] Graph& subgraph(SubgraphRef ref);
  /// The graph that has this subgraph; null for the outermost graph.
  [[nodiscard]] Graph* parent() const { return parent_; }
  /// Appends a declared parameter, for a value that the owning op carries. All of them must come before capture()
  /// appends others.
  Value parameter(const Type& type, const SourceLine& line, std::string_view name = {});
  /// The parameters, declared and captured, in order.
  [[nodiscard]] std::span<const ValueId> parameters() const { return parameters_; }
  /// The captured values of the parent. The last captures().size() parameters stand for them, in the same order. The
  /// inputs of the op that owns this body are first its own, then the captures of its first body, then the captures of
  /// its second body (check_legal).
  [[nodiscard]] std::span<const ValueId> captures() const { return captures_; }
  /// The value of the parent that the parameter captures; nothing if the parameter is a declared one.
  [[nodiscard]] std::optional<ValueId> captured_by(ValueId parameter) const;
  /// The results of this subgraph.
  [[nodiscard]] const std::vector<ValueId>& results() const { return results_; }
  /// Sets the results of this subgraph, which its op returns.
  void set_results(std::span<const Value> results);
  /// `value` as seen from this graph: itself, or the parameter through which it is captured. A new parameter gets an
  /// automatic name, or exactly `name`.
  Value capture(const Value& value, std::string_view name = {});

  // ---- Entries ----

  /// The entry of that name, added when it is new.
  ///
  ///     g.entry("train").fetches.size();  // 0
  Entry& entry(std::string_view name);
  /// All entries, by name.
  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  /// Adds `value` to the fetches of an entry. `ferry run` prints it as `name`.
  ///
  ///     g.fetch("train", "loss", loss);
  void fetch(std::string_view entry, std::string_view name, const Value& value);

  /// Adds the op of `value` to the targets of an entry: a run of the entry runs it for its effect.
  ///
  ///     g.target("train", sgd(loss, weights, 0.1)[0]);
  void target(std::string_view entry, const Value& value);

  // ---- Reading ----

  /// The number of ops.
  [[nodiscard]] OpId size() const { return ops_.size(); }
  /// The number of values.
  [[nodiscard]] ValueId values() const { return ops_.values(); }
  /// The op with this number, which must be below size().
  [[nodiscard]] Op op(OpId id) const { return {*this, id}; }
  /// The op that has this output.
  [[nodiscard]] OpId producer(ValueId value) const { return ops_.producer(value); }
  /// The dtype and shape of a value.
  [[nodiscard]] const Type& type(ValueId value) const { return ops_.type(value); }
  /// The name of a value: the name of its op, or "NAME:1" for the op's second output.
  [[nodiscard]] std::string value_name(ValueId value) const;
  /// The op of that name, if there is one.
  [[nodiscard]] std::optional<OpId> find(std::string_view name) const { return ops_.find(name); }

  /// The value named "c" or "split:2". Error(usage), which names the most similar op, when there is none.
  ///
  ///     Value y = (x + 1).named("y");
  ///     g.value_named("y") == y.id();  // true
  [[nodiscard]] ValueId value_named(std::string_view name) const;
  /// The meshes, which belong to the outermost graph; bodies share them.
  [[nodiscard]] std::span<const Mesh> meshes() const;
  /// The value with this number, which must be below values().
  [[nodiscard]] Value value(ValueId id) { return {this, id}; }
  /// The value of a Constant op, else nullptr.
  [[nodiscard]] const Tensor* constant_value(ValueId value) const;

  /// The Variable ops, in order.
  ///
  ///     g.variables().size();  // 2
  [[nodiscard]] std::vector<OpId> variables() const;

 private:
  friend class Scope;
  friend class Op;

  /// Does add() in this graph itself, even while build() directs ops to a body.
  Values append(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& line,
                std::string_view name);
  /// The types of an op's outputs. Error(plan) names the op, its inputs and the line.
  const std::vector<Type>& inferred(const OpDef& def, std::span<const ValueId> inputs, const Attrs& attrs,
                                    const SourceLine& line);
  void leave(std::optional<Scopes::Kind> what);
  [[nodiscard]] const Graph& root() const { return parent_ == nullptr ? *this : parent_->root(); }

  template <class T>
  static Tensor listed(std::vector<std::int64_t> sizes, const std::vector<T>& values, const SourceLine& at) {
    using E = std::conditional_t<std::is_same_v<T, bool>, bool,
                                 std::conditional_t<std::is_integral_v<T>, std::int32_t, float>>;
    Tensor tensor(dtype_of<E>(), std::move(sizes));
    if (tensor.count() != static_cast<std::int64_t>(values.size()))
      throw Error(Code::plan, "constant: rows of different length").at(at);
    const std::span<E> out = tensor.mutable_data<E>();
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<E>(values[i]);
    return tensor;
  }

  Graph* parent_ = nullptr;
  OpTable ops_;
  Scopes scopes_;
  std::vector<Graph*> body_scopes_;
  InferCache inferred_;
  std::vector<Mesh> meshes_;
  Budget budget_;
  bool auto_placed_ = false;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::unique_ptr<Graph>> subgraphs_;
  std::vector<ValueId> parameters_, captures_, results_;
  std::unordered_map<ValueId, ValueId> parameter_of_capture_;
};

}  // namespace ferry
#pragma GCC visibility pop
