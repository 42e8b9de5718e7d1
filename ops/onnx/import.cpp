#include "ops/onnx/import.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/logic.hpp"
#include "ops/onnx/context.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/onnx/given.hpp"
#include "ops/onnx/sizes/ranges.hpp"
#include "ops/onnx/support.hpp"

namespace ferry::onnx {
namespace {

constexpr std::int64_t kMaxFolded = 16 << 20;  // bytes of a node's outputs that are computed while importing
constexpr std::int64_t kMaxMade = 200'000;     // nodes of functions and bodies, which multiply within each other
constexpr std::size_t kMaxCalls = 32;          // functions within each other
constexpr std::size_t kMaxStem = 1000;
constexpr std::int64_t kNewestIr = 14;

/// Thrown where an input must be known by its value: the import begins anew with it.
struct NeedsValues {
  std::set<std::string> inputs;
};

/// The values of one graph, body or function call, by their names in the model.
class Names {
 public:
  explicit Names(const Names* outer = nullptr) : outer_(outer) {}
  void set(const std::string& name, Out item) { items_.insert_or_assign(name, std::move(item)); }
  [[nodiscard]] const Out& get(const std::string& name) const {
    for (const Names* at = this; at != nullptr; at = at->outer_)
      if (const auto found = at->items_.find(name); found != at->items_.end()) return found->second;
    Context::fail("nothing gives the value " + in_quotes(name));
  }

 private:
  const Names* outer_;
  std::unordered_map<std::string, Out> items_;
};

/// A call of a function of the model.
struct Call {
  const Function* function;
  const ModelNode* node;
  const Call* outer;
  std::size_t depth;
};

/// Where nodes are converted.
struct Place {
  const Names& names;
  const Opsets& opsets;
  const Call* call = nullptr;
};

Type type_of(const Out& item) {
  if (item.known.defined()) return item.known.type();
  Type type = item.value.type();
  for (std::size_t d = 0; d < item.perm.size(); ++d)
    type.shape[static_cast<int>(d)] = item.value.shape()[static_cast<int>(item.perm[d])];
  return type;
}

void check_tensor(const std::string& name, const Out& item) {
  if (item.list != nullptr) Context::fail("the value " + in_quotes(name) + " is a sequence, not a tensor");
  if (item.absent()) Context::fail("the value " + in_quotes(name) + " is optional, and has no element");
}

const Attribute* attribute_of(const ModelNode& node, const Call* call, std::string_view name) {
  const Attribute* found = node.find(name);
  while (found != nullptr && std::holds_alternative<AttributeRef>(found->value)) {
    if (call == nullptr)
      Context::fail("attribute " + in_quotes(found->name) + " refers to a function's, outside of one");
    const std::string wanted = std::get<AttributeRef>(found->value).name;
    const Function& function = *call->function;
    found = call->node->find(wanted);
    call = call->outer;
    if (found != nullptr) continue;
    const auto given = std::find_if(function.defaults.begin(), function.defaults.end(),
                                    [&](const Attribute& one) { return one.name == wanted; });
    return given == function.defaults.end() ? nullptr : &*given;
  }
  return found;
}

/// A call gives none but the attributes that its function has.
void check_attributes(const Function& function, const ModelNode& node) {
  Strings known = function.attributes;
  for (const Attribute& one : function.defaults) known.push_back(one.name);
  for (const Attribute& one : node.attributes)
    if (std::find(known.begin(), known.end(), one.name) == known.end() && !one.name.starts_with("__"))
      Context::refuse_attribute(one.name, "the function " + escaped(function.name), known);
}

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options, const std::set<std::string>& by_value)
      : model_(model), options_(options), by_value_(by_value), graph_(std::make_unique<Graph>()) {}

  std::unique_ptr<Graph> import();

  /// Nodes of a body or function; its values are in `names`.
  void convert(const std::vector<ModelNode>& nodes, Names& names, const Place& place);
  /// Before nodes of a body or function are converted once more.
  void count_made(std::size_t nodes);
  /// The item as a value of `graph`, where ops are made now. A constant is made once for each body.
  Value value_in(Graph& graph, const std::string& name, const Out& item);
  /// Which inputs must be given by value for `value` to be known; Error when that is not enough.
  [[nodiscard]] NeedsValues needs(const Value& value) const;
  /// Begins the import anew if inputs that can be given by value are enough for `value` to be known; else returns.
  void try_values(const Value& value) const;
  /// Forgets what was made in a body that is thrown away.
  void forget(const Graph& body);
  [[nodiscard]] std::optional<std::int64_t> given_size(const std::string& name) const {
    return given_first_dim(model_, options_, name);
  }
  /// The name of a dim that must be given for `dim` to be known.
  [[nodiscard]] std::string symbol_of(const Dim& dim) const;
  /// Something must be a number that is computed from such sizes.
  [[noreturn]] void fail_open(const Shape& shape) const;
  /// A vector with that dim of an input of the model.
  [[nodiscard]] Value of_size(const std::string& symbol);
  /// Between which numbers the elements of `value` are.
  [[nodiscard]] const RangeList& ranges_of(const Value& value) { return ranges_.of(value); }
  [[nodiscard]] Graph& graph() { return *graph_; }

 private:
  void add_inputs(Names& names);
  void convert(const ModelNode& node, Names& names, const Place& place);
  void call(const Function& function, const ModelNode& node, Names& names, const Place& place);
  /// What could not be converted since the data decide sizes can be, perhaps, from values of inputs: begins anew then.
  void take_by_value(const ModelNode& node, const Names& names) const;
  /// Of ops that the node at hand makes.
  SourceLine line_of_node() const;
  bool fold(const ConvertOp& converter, const ModelNode& node, Names& names, const Place& place);
  void bind(const ModelNode& node, const std::vector<Out>& outs, Names& names);
  void give_name(const Value& value, const std::string& name, OpId first);
  /// What an op gives: as a tensor where all of its elements are known.
  [[nodiscard]] Out as_known(const Out& out);
  [[nodiscard]] std::vector<Tensor> evaluate(const Graph& scratch, const Values& fetches) const;

  const Model& model_;
  const ImportOptions& options_;
  const std::set<std::string>& by_value_;
  std::unique_ptr<Graph> graph_;
  std::map<std::pair<const Graph*, std::string>, Out> constants_;  // with what they were made from
  IntegerRanges ranges_;
  std::int64_t nodes_ = 0, made_ = 0;
};

class NodeContext final : public Context {
 public:
  NodeContext(Importer& importer, Graph& graph, const ModelNode& node, std::int64_t opset, const Place& place)
      : Context(graph, node, opset), importer_(importer), place_(place) {}

  bool has(int i) const override { return i < inputs() && !name(i).empty() && !place_.names.get(name(i)).absent(); }
  Value in(int i) override { return importer_.value_in(graph(), name(i), item(i)); }
  Type type(int i) override {
    check_tensor(name(i), item(i));
    return type_of(item(i));
  }
  Tensor constant(int i) override {
    const Out& given = item(i);
    check_tensor(name(i), given);
    if (given.known.defined()) return given.known;
    try {
      throw importer_.needs(given.value);
    } catch (const Error& error) {
      throw Error(error.code(),
                  "input " + in_quotes(name(i)) + " must be known when the model is imported; " + error.text());
    }
  }
  std::vector<Number> numbers(int i) override {
    const Out given = item(i);
    std::vector<Number> result;
    const auto all_known = [&](const Tensor& tensor) {
      for (std::int64_t k = 0; k < tensor.count(); ++k) result.emplace_back(integer_at(tensor, k));
      return result;
    };
    check_tensor(name(i), given);
    if (given.known.defined()) return all_known(given.known);
    const Shape shape = given.value.shape();
    const RangeList& ranges = importer_.ranges_of(given.value);
    const bool sized = shape.fixed() && shape.rank() < 2;
    if (!sized || std::any_of(ranges.begin(), ranges.end(), [](const IntegerRange& range) { return range.is_open(); }))
      return all_known(constant(i));
    const Value flat = reshape(given.value, {-1});
    for (std::int64_t k = 0; k < shape.count(); ++k) {
      const IntegerRange& range = ranges.size() == 1 ? ranges[0] : ranges[static_cast<std::size_t>(k)];
      if (range.is_known())
        result.emplace_back(range.least);
      else
        result.emplace_back(range, cast(reshape(slice(flat, 0, k, k + 1), {}), DType::int64));
    }
    return result;
  }
  std::string symbol_of(const Dim& dim) const override { return importer_.symbol_of(dim); }
  Value of_size(const std::string& symbol) override { return importer_.of_size(symbol); }
  void take_by_value(int i) override { importer_.try_values(in(i)); }
  Tensor constant_if(int i) override { return has(i) ? item(i).known : Tensor(); }
  Out out(int i) override { return item(i); }
  Value value(const Out& out) override {
    check_tensor({}, out);
    return out.known.defined() ? graph().constant(out.known) : importer_.value_in(graph(), {}, out);
  }
  std::vector<Out> build(const GraphDef& body, std::span<const Out> inputs) override {
    Names names(&place_.names);
    for (const auto& [name, tensor] : body.initializers) names.set(name, Out(tensor));
    if (inputs.size() != body.inputs.size())
      fail("a body takes " + std::to_string(body.inputs.size()) + " inputs, and gets " + std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) names.set(body.inputs[i].name, inputs[i]);
    importer_.count_made(body.nodes.size());
    importer_.convert(body.nodes, names, {names, place_.opsets, place_.call});
    std::vector<Out> outs;
    for (const ValueDef& output : body.outputs) outs.push_back(names.get(output.name));
    return outs;
  }
  std::vector<Tried> tried(const GraphDef& body, std::span<const Tried> inputs) override {
    Graph& owner = graph().current();  // perhaps a body that is being built
    Graph& probe = owner.add_subgraph("tried");
    std::vector<Tried> results;
    {
      const Scope here = owner.build(probe);
      std::vector<Out> given;
      for (const Tried& input : inputs)
        given.push_back(input.known.defined() ? Out(input.known) : Out(probe.parameter(input.type, SourceLine())));
      for (const Out& out : build(body, given)) {
        check_tensor({}, out);
        results.push_back({type_of(out), out.known});
      }
    }
    importer_.forget(probe);
    owner.drop_subgraph();
    return results;
  }
  std::optional<std::int64_t> given_size(int i) override {
    return importer_.given_size(node().outputs[static_cast<std::size_t>(i)]);
  }

 private:
  const Attribute* attribute(std::string_view name) const override { return attribute_of(node(), place_.call, name); }
  const std::string& name(int i) const { return node().inputs[static_cast<std::size_t>(i)]; }
  const Out& item(int i) const {
    if (!has(i)) fail("input " + std::to_string(i) + " is missing");
    return place_.names.get(name(i));
  }

  Importer& importer_;
  const Place& place_;
};

// ---- Values ----

Value Importer::value_in(Graph& graph, const std::string& name, const Out& item) {
  check_tensor(name, item);
  if (!item.perm.empty())
    Context::fail("the value " + in_quotes(name) + " " + type_of(item).str() +
                  " has a size that the data decide; only a first dim may have one here");
  if (item.value.defined()) return item.value;
  Out& made = constants_[{&graph.current(), name}];
  const bool same = made.value.defined() && made.known.bytes().data() == item.known.bytes().data() &&
                    made.known.type() == item.known.type();
  if (same) return made.value;
  const bool free = !name.empty() && name.size() <= kMaxStem && !graph.current().find(name);
  made.known = item.known;
  made.value = graph.add(kConstant, {}, {{"value", item.known}}, SourceLine(), free ? std::string_view(name) : "")[0];
  return made.value;
}

void Importer::forget(const Graph& body) {
  const auto is_within = [&](const Graph* graph) {
    while (graph != nullptr && graph != &body) graph = graph->parent();
    return graph != nullptr;
  };
  std::erase_if(constants_, [&](const auto& one) { return is_within(one.first.first); });
  ranges_.forget(is_within);
}

Value Importer::of_size(const std::string& symbol) {
  for (const auto& feed : graph_->entry("predict").feeds) {
    const Value input = graph_->value(feed.value);
    const Shape& shape = input.shape();
    Ints others;
    int dim = -1;
    for (int d = 0; d < shape.rank(); ++d) {
      if (dim < 0 && shape[d].symbol() == symbol)
        dim = d;
      else
        others.push_back(d);
    }
    if (dim < 0) continue;
    if (others.empty()) return input;
    return squeeze(slice(input, others, Ints(others.size(), 0), Ints(others.size(), 1)), others);
  }
  Context::fail("no input has a dim " + in_quotes(symbol));
}

std::string Importer::symbol_of(const Dim& dim) const {
  if (!dim.symbol().empty()) return dim.symbol();
  for (const auto& feed : graph_->entries().at("predict").feeds)
    for (const Dim& given : graph_->type(feed.value).shape.dims())
      if (!given.symbol().empty()) return given.symbol();
  return "NAME";
}

void Importer::fail_open(const Shape& shape) const {
  const auto& dims = shape.dims();
  const auto open = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.known(); });
  throw Error(Code::usage, "it is computed from the sizes " + escaped(shape.str()))
      .hint("--dim " + escaped(symbol_of(*open)) + "=4, or give the sizes of the inputs");
}

NeedsValues Importer::needs(const Value& value) const {
  NeedsValues found;
  std::vector<std::pair<const Graph*, ValueId>> stack{{&value.graph(), value.id()}};
  std::set<std::pair<const Graph*, OpId>> seen;
  while (!stack.empty()) {
    const auto [graph, id] = stack.back();
    stack.pop_back();
    const Op op = graph->op(graph->producer(id));
    if (!seen.emplace(graph, op.id()).second) continue;
    const std::string name(op.name());
    if (op.def().name == "SizeOf")
      if (const Shape& shape = graph->type(op.inputs()[0]).shape; !shape.known()) fail_open(shape);
    if (op.def().role == OpRole::input) {
      if (!options_.values.contains(name))
        throw Error(Code::usage, "it is computed from the values of input " + in_quotes(name))
            .hint("give the input's value: --feed " + escaped(name) + "=FILE.npy");
      found.inputs.insert(name);
    } else if (op.def().role == OpRole::parameter) {
      const auto captured = graph->captured_by(id);
      if (!captured) Context::fail("it changes from iteration to iteration of a loop");
      stack.emplace_back(graph->parent(), *captured);
    } else if (op.def().is(kRandom) || op.def().is(kStateful) || op.def().is(kControlFlow)) {
      Context::fail("it is computed by " + op.str());
    }
    for (const ValueId input : op.inputs()) stack.emplace_back(graph, input);
  }
  if (found.inputs.empty()) Context::fail("it could not be computed while importing");
  return found;
}

void Importer::try_values(const Value& value) const {
  NeedsValues found;
  try {
    found = needs(value);
  } catch (const Error&) {
    return;
  }
  throw found;
}

std::vector<Tensor> Importer::evaluate(const Graph& scratch, const Values& fetches) const {
  std::int64_t bytes = 0;
  for (const Value& fetch : fetches) {
    if (!fetch.shape().known() || (bytes += fetch.type().bytes()) > kMaxFolded) return {};
  }
  for (OpId id = 0; id < scratch.size(); ++id) {
    const OpDef& def = scratch.op(id).def();
    if (def.is(kRandom) || def.is(kStateful) || def.is(kControlFlow) || def.is(kEffect) || def.is(kLocal)) return {};
  }
  try {
    return options_.evaluate(scratch, fetches);
  } catch (const Error&) {  // it fails in the same way when it runs, if it does
    return {};
  }
}

// ---- Nodes ----

SourceLine Importer::line_of_node() const {
  return {model_.source, static_cast<int>(std::min<std::int64_t>(nodes_, 1 << 30))};
}

Outs converted(const ConvertOp& converter, Context& context) {
  Outs outs = converter.convert(context);
  context.check_attributes();
  return outs;
}

bool Importer::fold(const ConvertOp& converter, const ModelNode& node, Names& names, const Place& place) {
  for (const Attribute& attribute : node.attributes)
    if (std::holds_alternative<std::shared_ptr<const GraphDef>>(attribute.value)) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool typed = i < 32 && (converter.typed >> i & 1U) != 0;
    if (!typed && !node.inputs[i].empty() && !place.names.get(node.inputs[i]).known.defined()) return false;
  }
  Graph scratch;
  const Scope line = scratch.line(line_of_node());
  NodeContext context(*this, scratch, node, place.opsets.find(node.domain)->second, place);
  const Outs outs = converted(converter, context);
  std::erase_if(constants_, [&](const auto& one) { return one.first.first == &scratch; });
  std::vector<Out> items;
  Values wanted;
  for (const Out& out : outs) {
    if (out.list != nullptr) return false;
    const Tensor* tensor = out.value.defined() ? scratch.constant_value(out.value.id()) : &out.known;
    items.push_back(tensor == nullptr ? Out() : Out(*tensor));
    if (tensor == nullptr) wanted.push_back(out.value);
  }
  if (!wanted.empty()) {
    const std::vector<Tensor> computed = evaluate(scratch, wanted);
    if (computed.empty()) return false;
    auto next = computed.begin();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].known.defined()) continue;
      items[i].known = *next++;
      if (outs[i].perm.empty()) continue;
      Graph order;
      items[i].known = options_.evaluate(order, {transpose(order.constant(items[i].known), outs[i].perm)})[0];
    }
  }
  bind(node, items, names);
  return true;
}

void Importer::take_by_value(const ModelNode& node, const Names& names) const {
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    const Out& item = names.get(input);
    if (!item.value.defined() || (item.perm.empty() && !item.value.shape().bounded())) continue;
    try_values(item.value);
  }
}

void Importer::bind(const ModelNode& node, const std::vector<Out>& outs, Names& names) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i >= outs.size()) Context::fail("ferry does not compute its output " + in_quotes(node.outputs[i]));
    names.set(node.outputs[i], outs[i]);
  }
}

Out Importer::as_known(const Out& out) {
  if (!out.value.defined() || &out.value.graph() != &graph_->current()) return out;
  if (const Tensor* tensor = graph_->current().constant_value(out.value.id())) return *tensor;
  const Shape& shape = out.value.shape();
  const DType dtype = out.value.dtype();
  if (is_float(dtype) || !shape.fixed() || !out.perm.empty()) return out;
  const RangeList& ranges = ranges_.of(out.value);
  if (!std::all_of(ranges.begin(), ranges.end(), [](const IntegerRange& range) { return range.is_known(); }))
    return out;
  const std::int64_t count = shape.count();
  if (count != static_cast<std::int64_t>(ranges.size())) return out;
  Tensor tensor(dtype, shape.sizes());
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto data = tensor.mutable_data<T>();
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<T>(ranges[i].least);
  });
  return tensor;
}

void Importer::give_name(const Value& value, const std::string& name, OpId first) {
  Graph& graph = value.graph();
  const Op op = value.op();
  if (&graph != &graph_->current() || op.id() < first || op.output(0) != value.id()) return;
  if (name.empty() || name.size() > kMaxStem) return;
  try {
    graph.rename(op.id(), name);
  } catch (const Error&) {  // taken: names come again in each iteration of a loop that is written out
  }
}

void Importer::count_made(std::size_t nodes) {
  made_ += static_cast<std::int64_t>(nodes) + 1;
  if (made_ > kMaxMade)
    Context::fail("the calls of functions and the rounds of loops come to more than " + std::to_string(kMaxMade) +
                  " nodes, which is the limit");
}

void Importer::call(const Function& function, const ModelNode& node, Names& names, const Place& place) {
  const Call here{&function, &node, place.call, place.call == nullptr ? 1 : place.call->depth + 1};
  if (here.depth > kMaxCalls)
    Context::fail("functions call each other more than " + std::to_string(kMaxCalls) + " deep");
  if (node.inputs.size() > function.inputs.size()) Context::fail("it has more inputs than its function");
  check_attributes(function, node);
  Names inner;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const bool given = i < node.inputs.size() && !node.inputs[i].empty();
    inner.set(function.inputs[i], given ? names.get(node.inputs[i]) : Out());
  }
  count_made(function.nodes.size());
  convert(function.nodes, inner, {inner, function.opsets, &here});
  std::vector<Out> outs;
  for (std::size_t i = 0; i < std::min(node.outputs.size(), function.outputs.size()); ++i)
    outs.push_back(node.outputs[i].empty() ? Out() : inner.get(function.outputs[i]));
  bind(node, outs, names);
}

void Importer::convert(const ModelNode& node, Names& names, const Place& place) {
  ++nodes_;
  if (const Function* function = function_of(model_, node)) return call(*function, node, names, place);
  const std::int64_t opset = place.opsets.find(node.domain)->second;
  const ConvertOp& converter = *find_converter(node.full_op(), opset);
  const Scope line = graph_->line(line_of_node());
  if (fold(converter, node, names, place)) return;
  const auto first_name =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](auto& name) { return !name.empty(); });
  const OpId first = graph_->current().size();
  std::vector<Out> items;
  {
    const bool named = first_name != node.outputs.end() && first_name->size() <= kMaxStem;
    const Scope scope = graph_->name(named ? *first_name : "node_" + std::to_string(nodes_));
    NodeContext context(*this, *graph_, node, opset, place);
    Outs outs{};
    try {
      outs = converted(converter, context);
    } catch (const Error&) {
      take_by_value(node, names);
      throw;
    }
    for (const Out& out : outs) items.push_back(as_known(out));
  }
  for (std::size_t i = 0; i < std::min(items.size(), node.outputs.size()); ++i)
    if (items[i].value.defined()) give_name(items[i].value, node.outputs[i], first);
  bind(node, items, names);
}

void Importer::convert(const std::vector<ModelNode>& nodes, Names& names, const Place& place) {
  for (const ModelNode& node : nodes) {
    try {
      convert(node, names, place);
    } catch (const Error& error) {
      const Code code = error.code() == Code::plan ? Code::file : error.code();
      throw Error(code, node.str() + ": " + error.text());
    }
  }
}

// ---- The whole ----

void Importer::add_inputs(Names& names) {
  for (const ValueDef* input : fed_inputs(model_, options_)) {
    if (by_value_.contains(input->name)) {
      names.set(input->name, Out(options_.values.find(input->name)->second));
      continue;
    }
    const auto given = options_.sizes.find(input->name);
    if (input->optional && given == options_.sizes.end()) {
      names.set(input->name, Out());
      continue;
    }
    if (!input->dtype) Context::fail("input " + in_quotes(input->name) + " has no dtype");
    if (!input->shape && given == options_.sizes.end())
      throw Error(Code::usage, "the model does not say the shape of input " + in_quotes(input->name))
          .hint("--shape " + escaped(input->name) + "=SIZE,SIZE");
    Shape shape = given == options_.sizes.end() ? *input->shape : Shape(std::span<const std::int64_t>(given->second));
    for (int d = 0; d < shape.rank(); ++d)
      if (const auto number = options_.dims.find(shape[d].symbol()); !shape[d].known() && number != options_.dims.end())
        shape[d] = Dim(number->second);
    const Value value = graph_->input(input->name, *input->dtype, shape);
    graph_->entry("predict").feeds.push_back({input->name, value.id()});
    names.set(input->name, Out(value));
  }
}

std::unique_ptr<Graph> Importer::import() {
  Names names;
  for (const auto& [name, tensor] : model_.graph.initializers) names.set(name, Out(tensor));
  const Scope line = graph_->line(SourceLine(model_.source, 0));
  add_inputs(names);
  convert(model_.graph.nodes, names, {names, model_.opsets});
  for (const ValueDef& output : model_.graph.outputs) {
    const Out& item = names.get(output.name);
    try {
      graph_->fetch("predict", output.name, value_in(*graph_, output.name, item));
    } catch (const Error&) {
      if (!item.perm.empty()) try_values(item.value);
      throw;
    }
  }
  return std::move(graph_);
}

}  // namespace

Imported import_model(const Model& model, const ImportOptions& options) {
  check_supported(model);
  std::set<std::string> by_value;
  try {
    if (model.ir_version > kNewestIr)
      throw Error(Code::file, "its format is version " + std::to_string(model.ir_version) +
                                  "; this ferry reads up to version " + std::to_string(kNewestIr))
          .hint("use a newer ferry");
    check_given(model, options);
    for (;;) {
      try {
        return {Importer(model, options, by_value).import(), {by_value.begin(), by_value.end()}};
      } catch (const NeedsValues& needs) {
        by_value.insert(needs.inputs.begin(), needs.inputs.end());
      }
    }
  } catch (const Error& error) {
    throw Error(error.code(), escaped(model.source, 300) + ": " + error.text());
  }
}

}  // namespace ferry::onnx
