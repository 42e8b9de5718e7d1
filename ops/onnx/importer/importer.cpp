#include "ops/onnx/importer/importer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/format.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/onnx/importer/by_value.hpp"
#include "ops/onnx/importer/given.hpp"
#include "ops/onnx/importer/names.hpp"
#include "ops/onnx/importer/node_context.hpp"
#include "ops/onnx/importer/scale_filters.hpp"
#include "ops/onnx/importer/signatures.hpp"
#include "ops/onnx/support.hpp"

namespace ferry::onnx {
namespace {

/// Converts the node. Its outputs have the dtypes that ONNX's definition of the op requires.
Outs converted(const ConvertOp& converter, Context& context, const Frame& frame) {
  const std::string_view signature = signature_of(context.node(), context.opset());
  check_inputs(signature, context.node(), frame);
  Outs outs = converter.convert(context);
  context.check_attributes();
  set_dtypes(signature, context.node(), frame, context.graph(), outs);
  return outs;
}

/// Whether all inputs are known, except the inputs that give the converter only their types.
bool inputs_known(const ConvertOp& converter, const ModelNode& node, const Frame& frame) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool typed = i < 32 && (converter.typed >> i & 1U) != 0;
    if (!typed && !node.inputs[i].empty() && !frame.get(node.inputs[i]).known.defined()) return false;
  }
  return true;
}

/// The node's inputs, if the node is converted several times and gives the same results each time that it has these
/// inputs. Nothing if it is converted once, uses attributes of a function's call, or has an input that is not known.
std::optional<std::vector<Tensor>> repeated_inputs(const ModelNode& node, const Frame& frame) {
  const auto refers = [](const Attribute& one) { return std::holds_alternative<AttributeRef>(one.value); };
  if (frame.is_outermost() || std::any_of(node.attributes.begin(), node.attributes.end(), refers)) return std::nullopt;
  std::vector<Tensor> inputs;
  for (const std::string& name : node.inputs) {
    if (name.empty()) continue;
    const Tensor& known = frame.get(name).known;
    if (!known.defined()) return std::nullopt;
    inputs.push_back(known);
  }
  return inputs;
}

/// Whether no value can have both shapes.
bool contradict(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return true;
  for (int d = 0; d < a.rank(); ++d)
    if (a[d].fixed() && b[d].fixed() && a[d] != b[d]) return true;
  return false;
}

/// The open (not known) dims of a node's inputs, each symbol once.
std::vector<std::pair<Value, Dim>> open_dims(const ModelNode& node, const Frame& frame) {
  std::vector<std::pair<Value, Dim>> open;
  std::set<std::string> symbols;
  for (const std::string& name : node.inputs) {
    if (name.empty() || !frame.get(name).value.defined()) continue;
    const Value& value = frame.get(name).value;
    for (const Dim& dim : value.shape().dims())
      if (!dim.known() && (dim.symbol().empty() || symbols.insert(dim.symbol()).second)) open.emplace_back(value, dim);
  }
  return open;
}

/// The number that `sizes` has for the dim, or the dim itself if it is known or remains open.
Dim tried_dim(const Dim& dim, const TriedSizes& sizes) {
  if (dim.known() || std::find(sizes.kept.begin(), sizes.kept.end(), dim) != sizes.kept.end()) return dim;
  return sizes.other != nullptr && dim == *sizes.other ? sizes.others : sizes.size;
}

/// The integers in `value`, if each is known or is a product of sizes that have a number in `sizes`; else nothing.
std::optional<Tensor> tried_integers(const Value& value, const RangeList& ranges, const TriedSizes& sizes) {
  if (value.dtype() != DType::int64 || !value.shape().fixed()) return std::nullopt;
  Tensor tensor(DType::int64, value.shape().sizes());
  if (std::ssize(ranges) != tensor.count()) return std::nullopt;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::int64_t number = ranges[i].symbols.empty() ? ranges[i].least : ranges[i].factor;
    if (ranges[i].symbols.empty() && !ranges[i].is_known()) return std::nullopt;
    for (const std::string& symbol : ranges[i].symbols) {
      const Dim dim = tried_dim(Dim(symbol), sizes);
      if (!dim.fixed() || __builtin_mul_overflow(number, dim.size(), &number)) return std::nullopt;
    }
    tensor.mutable_data<std::int64_t>()[i] = number;
  }
  return tensor;
}

/// A frame in which the inputs of the node are inputs of `scratch`, with numbers from `sizes` for open dims. Integer
/// inputs that are computed from open dims are known tensors.
Frame with_sizes(const ModelNode& node, const Frame& frame, const TriedSizes& sizes, IntegerRanges& ranges,
                 Graph& scratch) {
  Frame sized = Frame::over(frame);
  const std::set<std::string> names(node.inputs.begin(), node.inputs.end());
  for (const std::string& name : names) {
    if (name.empty() || !frame.get(name).value.defined()) continue;
    if (const auto known = tried_integers(frame.get(name).value, ranges.of(frame.get(name).value), sizes)) {
      sized.set(name, Out(*known));
      continue;
    }
    auto [dtype, shape] = frame.get(name).type();
    for (int d = 0; d < shape.rank(); ++d) shape[d] = tried_dim(shape[d], sizes);
    sized.set(name, Out(scratch.input("input_" + std::to_string(scratch.size()), dtype, shape)));
  }
  return sized;
}

/// The prefix of the names of a node's ops.
std::string stem_of(const ModelNode& node, std::int64_t number) {
  const auto first =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](const std::string& name) { return !name.empty(); });
  return first != node.outputs.end() && can_name_op(*first) ? *first : "node_" + std::to_string(number);
}

/// Gives the op of `value` the name that the model has for it.
void name_op(const Value& value, const std::string& name) {
  try {
    value.graph().rename(value.op().id(), name);
  } catch (const Error&) {  // the name is taken: each iteration of an unrolled loop has it
  }
}

/// An input's shape, with the numbers that the user gives for its dims.
Shape shape_of(const ValueDef& input, const ImportOptions& options) {
  if (const auto given = options.sizes.find(input.name); given != options.sizes.end())
    return Shape(std::span<const std::int64_t>(given->second));
  if (!input.shape)
    throw Error(Code::usage, "the model does not say the shape of input {:?}", input.name)
        .hint("--shape {}=SIZE,SIZE", input.name);
  Shape shape = *input.shape;
  for (int d = 0; d < shape.rank(); ++d)
    if (const auto number = options.dims.find(shape[d].symbol()); !shape[d].known() && number != options.dims.end())
      shape[d] = Dim(number->second);
  return shape;
}

/// A graph in which ops are made on trial. At its end, also after an error, the importer forgets the constants and
/// ranges of the graph.
class TrialGraph {
 public:
  explicit TrialGraph(Importer& importer) : importer_(importer) {}
  TrialGraph(const TrialGraph&) = delete;
  TrialGraph& operator=(const TrialGraph&) = delete;
  ~TrialGraph() { importer_.forget(graph_); }
  [[nodiscard]] Graph& graph() { return graph_; }

 private:
  Importer& importer_;
  Graph graph_;
};

/// The text of an error, with `line` in place of lines of the converters, whose callers are no lines of the user.
std::string with_line(std::string_view text, const SourceLine& line) {
  constexpr std::string_view kAt = "\n  at ", kConverters = "/ops/onnx/convert/";
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at + 1), text.size());
    const std::string_view one = text.substr(at, end - at);
    if (one.starts_with(kAt) && one.find(kConverters) != std::string_view::npos)
      result.append(kAt).append(line.str());
    else
      result += one;
    at = end;
  }
  return result;
}

}  // namespace

// ---- Values ----

Value Importer::value_in(Graph& graph, const std::string& name, const Out& item) {
  item.check_tensor(name);
  if (!item.perm.empty())
    Context::fail(formatted("the value {:?} {} has a size that the data decide; only a first dim may have one here",
                            name, as_is(item.type().str())));
  return item.value.defined() ? item.value : constants_.of(graph, name, item.known);
}

void Importer::forget(const Graph& body) {
  const auto is_within = [&](const Graph* graph) {
    while (graph != nullptr && graph != &body) graph = graph->parent();
    return graph != nullptr;
  };
  constants_.forget(is_within);
  ranges_.forget(is_within);
}

std::optional<std::int64_t> Importer::given_size(const std::string& name) const {
  return given_first_dim(model_, options_, name);
}

// ---- Nodes ----

void Importer::name_outputs(const ModelNode& node, const std::vector<Out>& outs, Frame& frame) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& name = node.outputs[i];
    if (name.empty()) continue;
    if (i >= outs.size()) Context::fail(formatted("ferry does not compute its output {:?}", name));
    if (const ValueDef* declared = frame.declared(name)) check_declared(node, *declared, outs[i], frame);
    frame.set(name, outs[i]);
  }
}

void Importer::check_declared(const ModelNode& node, const ValueDef& declared, const Out& out, const Frame& frame) {
  if (out.absent() || out.list != nullptr) return;
  const Type type = out.type();
  const auto differs = [&](std::string_view is, std::string_view should) {
    return formatted("its output {:?} is {}, and the model declares {}", declared.name, is, should);
  };
  if (declared.dtype && *declared.dtype != type.dtype)
    Context::fail(differs(name_of(type.dtype), name_of(*declared.dtype)));
  const bool warns = frame.is_outermost() && warnings_.empty();  // sizes within bodies may change between iterations
  if (warns && declared.shape && contradict(*declared.shape, type.shape))
    warnings_.push_back(formatted("{:.300}: {}: {}; its own shape counts", model_.source, as_is(node.str()),
                                  as_is(differs(type.shape.str(), declared.shape->str()))));
}

SourceLine Importer::line_of_node() const {
  return {model_.source, static_cast<int>(std::min<std::int64_t>(nodes_, 1 << 30))};
}

bool Importer::fold(const ConvertOp& converter, const ModelNode& node, Frame& frame) {
  if (!node.bodies().empty() || !inputs_known(converter, node, frame)) return false;
  auto repeated = repeated_inputs(node, frame);
  if (const std::vector<Out>* before = repeated ? folded_.find(node, *repeated) : nullptr) {
    name_outputs(node, *before, frame);
    return true;
  }
  TrialGraph trial(*this);
  const Scope line = trial.graph().line(line_of_node());
  NodeContext context(*this, trial.graph(), node, frame);
  const Outs outs = converted(converter, context, frame);
  const auto items = computed(trial.graph(), outs, options_.evaluate);
  if (items) name_outputs(node, *items, frame);
  if (items && repeated) folded_.keep(node, std::move(*repeated), *items);
  return items.has_value();
}

void Importer::take_by_value(const ModelNode& node, const Frame& frame) const {
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    const Out& item = frame.get(input);
    if (!item.value.defined() || (item.perm.empty() && !item.value.shape().bounded())) continue;
    try_by_value(item.value, options_);
  }
}

void Importer::ask_for_sizes(const ConvertOp& converter, const ModelNode& node, const Frame& frame, const Error& why) {
  const auto open = open_dims(node, frame);
  if (open.empty() || !node.bodies().empty()) return;
  auto sizes = sizes_that_convert(converter, node, frame, open);
  if (!sizes) return;
  std::set<std::string> needed, all;
  for (const auto& [value, dim] : open) {
    all.merge(size_options(value, dim));
    sizes->kept.push_back(dim);
    if (converts_with(*sizes, converter, node, frame)) continue;
    sizes->kept.pop_back();
    needed.merge(size_options(value, dim));
  }
  throw Error(Code::usage, why.text()).hint(sizes_hint(needed.empty() ? all : needed));
}

std::optional<TriedSizes> Importer::sizes_that_convert(const ConvertOp& converter, const ModelNode& node,
                                                       const Frame& frame,
                                                       const std::vector<std::pair<Value, Dim>>& open) {
  for (const std::int64_t size : {4, 8, 16, 64, 1, 24, 60})  // 24 and 60 have many divisors
    if (const TriedSizes sizes{.size = size}; converts_with(sizes, converter, node, frame)) return sizes;
  for (const auto& [value, dim] : open)  // the last dim of a grid is 2 or 3, the number of coordinates
    for (const std::int64_t others : {1, 2, 3})
      if (const TriedSizes sizes{4, &dim, others}; converts_with(sizes, converter, node, frame)) return sizes;
  return std::nullopt;
}

bool Importer::converts_with(const TriedSizes& sizes, const ConvertOp& converter, const ModelNode& node,
                             const Frame& frame) {
  TrialGraph trial(*this);
  const Frame sized = with_sizes(node, frame, sizes, ranges_, trial.graph());
  try {
    NodeContext context(*this, trial.graph(), node, sized);
    static_cast<void>(converted(converter, context, sized));
    return true;
  } catch (const Error&) {
    return false;
  } catch (const NeedsValues&) {
    return false;
  }
}

std::vector<Out> Importer::make_ops(const ConvertOp& converter, const ModelNode& node, const Frame& frame) {
  const OpId first = graph_->current().size();
  std::vector<Out> items;
  {
    const Scope scope = graph_->name(stem_of(node, nodes_));
    NodeContext context(*this, *graph_, node, frame);
    try {
      for (const Out& out : converted(converter, context, frame)) items.push_back(out);
    } catch (const Error& error) {
      take_by_value(node, frame);
      if (error.code() != Code::usage) ask_for_sizes(converter, node, frame, error);
      throw;
    }
  }
  const auto here = [&](const Out& item) { return item.value.defined() && &item.value.graph() == &graph_->current(); };
  for (Out& item : items)
    if (here(item)) item = as_known(item, ranges_);
  for (std::size_t i = 0; i < std::min(items.size(), node.outputs.size()); ++i) {
    const Out& item = items[i];
    const bool new_op = here(item) && item.value.op().id() >= first && item.value.op().output(0) == item.value.id();
    if (new_op && can_name_op(node.outputs[i])) name_op(item.value, node.outputs[i]);
  }
  return items;
}

void Importer::call(const Function& function, const ModelNode& node, Frame& frame) {
  Frame inner = Frame::of_call(function, node, frame);
  convert_nested(function.nodes, inner);
  std::vector<Out> outs;
  for (std::size_t i = 0; i < std::min(node.outputs.size(), function.outputs.size()); ++i)
    outs.push_back(node.outputs[i].empty() ? Out() : inner.get(function.outputs[i]));
  name_outputs(node, outs, frame);
}

void Importer::convert(const ModelNode& node, Frame& frame) {
  ++nodes_;
  if (const Function* function = function_of(model_, node)) return call(*function, node, frame);
  const std::int64_t opset = frame.opset_of(node);
  check_counts(node, opset);
  const ConvertOp& converter = *find_converter(node.full_op(), opset);
  const Scope line = graph_->line(line_of_node());
  if (!fold(converter, node, frame)) name_outputs(node, make_ops(converter, node, frame), frame);
}

void Importer::convert(const std::vector<ModelNode>& nodes, Frame& frame) {
  for (const ModelNode& node : nodes) {
    try {
      convert(node, frame);
    } catch (const Error& error) {
      const Code code = error.code() == Code::plan ? Code::file : error.code();
      throw Error(code, "{}: {}", as_is(node.str()), as_is(with_line(error.text(), line_of_node())));
    }
  }
}

void Importer::convert_nested(const std::vector<ModelNode>& nodes, Frame& frame) {
  nested_nodes_ += std::ssize(nodes) + 1;
  if (nested_nodes_ > kMostAgain)
    Context::fail("the calls of functions and the rounds of loops come to more than " + std::to_string(kMostAgain) +
                  " nodes, which is the limit");
  convert(nodes, frame);
}

// ---- The model ----

void Importer::add_input(const ValueDef& input, Frame& frame) {
  if (by_value_.contains(input.name)) return frame.set(input.name, Out(options_.values.find(input.name)->second));
  if (input.optional && !options_.sizes.contains(input.name)) return frame.set(input.name, Out());
  if (!input.dtype) Context::fail(formatted("input {:?} has no dtype", input.name));
  const Value value = graph_->input(input.name, *input.dtype, shape_of(input, options_));
  graph_->entry("predict").feeds.push_back({input.name, value.id()});
  frame.set(input.name, Out(value));
}

void Importer::add_output(const ValueDef& output, const Frame& frame) {
  const Out& item = frame.get(output.name);
  try {
    graph_->fetch("predict", output.name, value_in(*graph_, output.name, item));
  } catch (const Error&) {
    if (!item.perm.empty()) try_by_value(item.value, options_);
    throw;
  }
}

std::unique_ptr<Graph> Importer::import() {
  const auto own = model_.opsets.find("");
  const GraphDef scaled = scale_filters(model_.graph, own == model_.opsets.end() ? 0 : own->second);
  Frame frame(scaled, model_.opsets);
  for (const auto& [name, tensor] : scaled.initializers) frame.set(name, Out(tensor));
  const Scope line = graph_->line(SourceLine(model_.source, 0));
  for (const ValueDef* input : fed_inputs(model_, options_)) add_input(*input, frame);
  convert(scaled.nodes, frame);
  for (const ValueDef& output : model_.graph.outputs) add_output(output, frame);
  return std::move(graph_);
}

}  // namespace ferry::onnx
