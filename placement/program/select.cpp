#include "placement/program/select.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/format.hpp"
#include "graph/graph_facts.hpp"
#include "graph/needed.hpp"
#include "graph/op/core_ops.hpp"
#include "graph/op/infer.hpp"

namespace ferry {
namespace {

class Selector {
 public:
  explicit Selector(Program& program) : program_(program), signature_(*program.signature), symbols_(signature_.rows) {}

  void run() {
    const Graph& graph = *program_.graph;
    std::vector<ValueId> wanted = signature_.fetches;
    const std::vector<bool> needed = needed_ops(graph, wanted, signature_.targets);
    program_.regions.push_back({Region::Kind::step, {}, {}, {}});
    reserve(graph, needed);
    const std::vector<PValueId> values = copy_region(graph, needed, 0, {});
    for (std::size_t i = 0; i < signature_.fetches.size(); ++i) add_fetch(i, values[signature_.fetches[i]]);
  }

 private:
  /// Reserves space for the needed ops and values, and for some that passes add, so that the program grows without
  /// reallocation.
  void reserve(const Graph& graph, const std::vector<bool>& needed) {
    std::size_t ops = 0, values = 0, operands = 0;
    for (OpId id = 0; id < graph.size(); ++id) {
      if (!needed[id]) continue;
      const Op op = graph.op(id);
      ++ops;
      values += static_cast<std::size_t>(op.outputs());
      operands += op.inputs().size();
    }
    const std::size_t more = signature_.fetches.size();
    program_.nodes.reserve(ops + ops / 8 + more);
    program_.values.reserve(values + values / 8);
    program_.operands.reserve(operands + operands / 8 + more);
    program_.regions[0].order.reserve(ops + more);
  }

  /// Copies the needed ops of `graph`. Returns, for each value of the graph, the value of the program.
  std::vector<PValueId> copy_region(const Graph& graph, const std::vector<bool>& needed, ProgramRegionId region,
                                    std::span<const PValueId> arguments) {
    std::vector<PValueId> values(graph.values(), kNone);
    std::size_t parameter = 0;
    for (OpId id = 0; id < graph.size(); ++id) {
      const Op op = graph.op(id);
      if (op.def().role == OpRole::parameter) {
        values[op.output(0)] = copy_parameter(op, region, arguments[parameter++]);
      } else if (needed[id]) {
        copy_op(op, region, values);
      }
    }
    return values;
  }

  PValueId copy_parameter(const Op& op, ProgramRegionId region, PValueId argument) {
    const Type type = program_.values[argument].type;
    const NodeId node = program_.add(from(op, NodeKind::parameter), {}, {&type, 1});
    finish(op, node, region, nullptr);
    program_.regions[region].parameters.push_back(program_.nodes[node].outputs[0]);
    return program_.nodes[node].outputs[0];
  }

  void copy_op(const Op& op, ProgramRegionId region, std::vector<PValueId>& values) {
    const NodeKind kind = kind_of(op);
    program_.apart = program_.apart || op.def().is(kAsynchronous);
    if (kind == NodeKind::loop || kind == NodeKind::branch) return copy_control(op, kind, region, values);
    if (kind == NodeKind::assign) check_assign(op, region);
    inputs_.clear();
    for (ValueId input : op.inputs()) inputs_.push_back(values[input]);
    Node node = from(op, kind);
    NodeId id = 0;
    if (kind == NodeKind::feed) {
      node.detail = feed_index(op);
      const Type type = fed_type(op, node.detail);
      id = program_.add(node, inputs_, {&type, 1});
    } else {
      if (op.def().batches != nullptr) node.attrs = &with_rows(op);
      id = program_.add(node, inputs_, types_of(op, *node.attrs, inputs_));
    }
    finish(op, id, region, &values);
  }

  void copy_control(const Op& op, NodeKind kind, ProgramRegionId region, std::vector<PValueId>& values) {
    std::vector<PValueId> inputs;
    for (ValueId input : op.inputs()) inputs.push_back(values[input]);
    Node node = from(op, kind);
    node.detail = copy_bodies(op, kind == NodeKind::loop, inputs);
    const std::vector<Type> types =
        kind == NodeKind::loop ? carried_types(op, node.detail) : branch_types(op, node.detail);
    finish(op, program_.add(node, inputs, types), region, &values);
  }

  void finish(const Op& op, NodeId id, ProgramRegionId region, std::vector<PValueId>* values) {
    const Node& node = program_.nodes[id];
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
      program_.values[node.outputs[i]].value = op.output(static_cast<int>(i));
      if (values != nullptr) (*values)[op.output(static_cast<int>(i))] = node.outputs[i];
    }
    program_.regions[region].order.push_back(id);
  }

  static Node from(const Op& op, NodeKind kind) {
    Node node;
    node.kind = kind;
    node.def = &op.def();
    node.graph = &op.graph();
    node.op = op.id();
    node.attrs = &op.attrs();
    return node;
  }

  static NodeKind kind_of(const Op& op) {
    const OpDef& def = op.def();
    if (def.role == OpRole::input) return NodeKind::feed;
    if (def.role == OpRole::variable) return NodeKind::variable;
    if (def.role == OpRole::assign) return NodeKind::assign;
    if (!def.is(kControlFlow)) return NodeKind::compute;
    return op.attrs().has("body") ? NodeKind::loop : NodeKind::branch;
  }

  std::uint32_t feed_index(const Op& op) const {
    for (std::size_t i = 0; i < signature_.feeds.size(); ++i)
      if (signature_.feeds[i].value == op.output(0)) return static_cast<std::uint32_t>(i);
    throw Error(Code::usage, "the input '{}' is needed and not fed", op.name())
        .note("it is " + op.graph().type(op.output(0)).str())
        .at(op.line())
        .hint("feed it: --feed {}=FILE.npy, or run(…, {{{{\"{}\", tensor}}}})", op.name(), op.name());
  }

  Type fed_type(const Op& op, std::uint32_t index) {
    const Type& declared = op.graph().type(op.output(0));
    const Shape given{std::span<const std::int64_t>(signature_.feeds[index].sizes)};
    bool fits = declared.shape.rank() == given.rank();
    for (int d = 0; fits && d < given.rank(); ++d) fits = fits_dim(declared.shape[d], given[d]);
    if (!fits)
      throw Error(Code::usage, "the feed '{}' has shape {}; the graph needs {}{}", op.name(), as_is(given.str()),
                  as_is(declared.str()), as_is(symbol_values()))
          .at(op.line())
          .hint("feed a value of this shape");
    if (declared.shape.bounded()) return {declared.dtype, bounded_shape(given)};
    return {declared.dtype, given};
  }

  /// The shape of a bounded feed: the size of dim 0 becomes its bound.
  static Shape bounded_shape(Shape shape) {
    shape[0] = Dim::at_most(shape[0].size());
    return shape;
  }

  bool fits_dim(const Dim& declared, const Dim& given) {
    if (declared.known()) return declared.size() == given.size();
    if (declared.symbol().empty()) return true;
    return symbols_.try_emplace(declared.symbol(), given.size()).first->second == given.size();
  }

  std::string symbol_values() const {
    std::string text;
    for (const auto& [symbol, size] : symbols_)
      text += (text.empty() ? ", with " : ", ") + symbol + " = " + std::to_string(size);
    return text;
  }

  /// The attributes of an op that gives batches, with the number of rows of the batch in this step.
  const Attrs& with_rows(const Op& op) {
    const Batches batches = op.def().batches(GraphFacts(op));
    if (!batches.uneven()) return op.attrs();
    if (op.attrs().has("rows"))
      throw Error(Code::plan, "{} '{}' has the attribute rows, which planning sets", op.def().name, op.name())
          .at(op.line());
    const auto given = signature_.rows.find(batches.symbol());
    const std::int64_t rows = given == signature_.rows.end() ? batches.size : given->second;
    symbols_.try_emplace(batches.symbol(), rows);
    Attrs attrs = op.attrs();
    attrs.set("rows", rows);
    return program_.added_attrs.emplace_back(std::move(attrs));
  }

  /// The types of an op's outputs, valid until the next call.
  std::span<const Type> types_of(const Op& op, const Attrs& attrs, std::span<const PValueId> inputs) {
    const Graph& graph = op.graph();
    // Types that were known when the op was built are still valid; only types that depend on feeds are inferred again.
    bool known = true;
    for (ValueId input : op.inputs()) known = known && graph.type(input).shape.known();
    for (int i = 0; i < op.outputs(); ++i) known = known && graph.type(op.output(i)).shape.known();
    if (known) {
      known_.clear();
      for (int i = 0; i < op.outputs(); ++i) known_.push_back(graph.type(op.output(i)));
      return known_;
    }
    const std::vector<Type>& types = inferred_types(op, attrs, inputs);
    for (const Type& type : types)
      if (!type.shape.known())
        throw Error(Code::plan, "{} '{}': its shape {} is not known when the plan is made and has no bound",
                    op.def().name, op.name(), as_is(type.shape.str()))
            .at(op.line());
    return types;
  }

  const std::vector<Type>& inferred_types(const Op& op, const Attrs& attrs, std::span<const PValueId> inputs) {
    try {
      return inferred_.infer(op.def(), ProgramFacts(program_, inputs, attrs));
    } catch (const Error& error) {
      Error located(error.code(), "{} '{}': {}", op.def().name, op.name(), as_is(error.text()));
      for (std::size_t i = 0; i < inputs.size(); ++i)
        located.note("input {}: {} {}", i, as_is(program_.values[inputs[i]].type.str()), program_.name(inputs[i]));
      throw located.at(op.line());
    }
  }

  void check_assign(const Op& op, ProgramRegionId region) {
    const ValueId variable = op.inputs()[0];
    const Graph& graph = op.graph();
    if (graph.op(graph.producer(variable)).def().role != OpRole::variable)
      throw Error(Code::plan, "Assign '{}': its first input is not a variable", op.name()).at(op.line());
    if (region != 0)
      throw Error(Code::plan, "Assign '{}' is inside a loop or branch: carry the state instead", op.name())
          .at(op.line());
    const auto [first, fresh] = writes_.try_emplace(variable, op.id());
    if (!fresh)
      throw Error(Code::plan, "the variable '{}' is written twice in one step", graph.value_name(variable))
          .note("first by " + graph.op(first->second).str())
          .note("and by " + op.str())
          .hint("assign once, or fetch and target only one of the two");
  }

  /// Copies the two bodies of a loop or branch into new regions, and returns the index of the first.
  ProgramRegionId copy_bodies(const Op& op, bool loop, std::span<const PValueId> inputs) {
    const auto carried = static_cast<std::size_t>(loop ? op.attrs().get<std::int64_t>("carried") : 0);
    std::size_t next_capture = loop ? carried : 1;
    const auto first = static_cast<ProgramRegionId>(program_.regions.size());
    program_.regions.resize(program_.regions.size() + 2);
    for (ProgramRegionId k = 0; k < 2; ++k) {
      const char* const name = loop ? (k == 0 ? "cond" : "body") : (k == 0 ? "then_branch" : "else_branch");
      const Graph& body = op.graph().subgraph(op.attrs().get<SubgraphRef>(name));
      program_.regions[first + k].kind = !loop    ? Region::Kind::branch
                                         : k == 0 ? Region::Kind::condition
                                                  : Region::Kind::body;
      std::vector<PValueId> arguments(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carried));
      for (std::size_t i = 0; i < body.captures().size(); ++i) arguments.push_back(inputs[next_capture++]);
      std::vector<OpId> effects;
      for (OpId i = 0; i < body.size(); ++i)
        if (body.op(i).def().is(kEffect)) effects.push_back(i);
      const std::vector<PValueId> values =
          copy_region(body, needed_ops(body, body.results(), effects), first + k, arguments);
      for (ValueId result : body.results()) program_.regions[first + k].results.push_back(values[result]);
    }
    return first;
  }

  /// The types of the carried values. Throws Error(plan) if the body changes a type.
  std::vector<Type> carried_types(const Op& op, ProgramRegionId condition) const {
    const ProgramRegion& body = program_.regions[condition + 1];
    std::vector<Type> types;
    for (std::size_t i = 0; i < body.results.size(); ++i) {
      const Type& before = program_.values[body.parameters[i]].type;
      const Type& after = program_.values[body.results[i]].type;
      if (before != after)
        throw Error(Code::plan, "the loop '{}' changes the type of its carried value {} from {} to {}", op.name(), i,
                    as_is(before.str()), as_is(after.str()))
            .at(op.line());
      types.push_back(before);
    }
    return types;
  }

  std::vector<Type> branch_types(const Op& op, ProgramRegionId then_branch) const {
    const auto& results = program_.regions[then_branch].results;
    const auto& others = program_.regions[then_branch + 1].results;
    std::vector<Type> types;
    for (std::size_t i = 0; i < results.size(); ++i) {
      types.push_back(program_.values[results[i]].type);
      const Type& other = program_.values[others[i]].type;
      if (types.back() != other)
        throw Error(Code::plan, "the branches of '{}' give result {} as {} and as {}", op.name(), i,
                    as_is(types.back().str()), as_is(other.str()))
            .at(op.line());
    }
    return types;
  }

  void add_fetch(std::size_t index, PValueId value) {
    Node node;
    node.kind = NodeKind::fetch;
    node.graph = program_.values[value].graph;
    node.op = node.graph->producer(program_.values[value].value);
    node.detail = static_cast<std::uint32_t>(index);
    if (!signature_.fetch_parts) node.where = program_.single(signature_.fetch_to);  // else reshard sets it
    const PValueId inputs[] = {value};
    program_.regions[0].order.push_back(program_.add(node, inputs, {}));
  }

  Program& program_;
  const Signature& signature_;
  std::map<std::string, std::int64_t> symbols_;
  std::unordered_map<ValueId, OpId> writes_;
  InferCache inferred_;
  std::vector<PValueId> inputs_;  // inputs of the op that is being copied
  std::vector<Type> known_;
};

/// The device kind of ops that name none.
DeviceKind usual_kind(const Topology& topology) {
  const bool gpus =
      std::all_of(topology.tasks.begin(), topology.tasks.end(), [](const TaskInfo& t) { return t.gpus > 0; });
  return gpus ? DeviceKind::gpu : DeviceKind::cpu;
}

}  // namespace

Program select(const Graph& graph, const Signature& signature, const Topology& topology, const KernelLookup& kernels,
               const PlanOptions& options) {
  Program program;
  program.graph = &graph;
  program.signature = &signature;
  program.topology = &topology;
  program.kernels = &kernels;
  program.options = options;
  if (!options.default_device) program.options.default_device = usual_kind(topology);
  Selector(program).run();
  return program;
}

}  // namespace ferry
