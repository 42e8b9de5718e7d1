#include "ops/onnx/model.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/files/open_file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/file/protobuf_read.hpp"
#include "graph/file/topological.hpp"
#include "graph/legality.hpp"
#include "graph/op/infer.hpp"
#include "ops/onnx/tensor.hpp"

namespace ferry::onnx {
namespace {

using onnx_file::AttributeProto;

constexpr int kMaxDepth = 100;  // of nested messages
constexpr std::int64_t kFirstIrWithDefaults = 4;

[[noreturn]] void fail(const std::string& why) {
  throw Error(Code::file, why);
}

/// Returns read(). Prefixes errors with `part`, the name of the file's part, and changes Code::plan to Code::file.
template <class F>
auto in_part(const std::string& part, F read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.code() == Code::plan ? Code::file : error.code(), part + ": " + error.text());
  }
}

template <class Message>
void parse(std::span<const std::byte> content, Message& out) {
  if (content.empty()) fail("the file is empty");
  if (content.size() > kMaxGraphBytes)
    throw Error(Code::file, "the file has " + human_bytes(content.size()) + "; protobuf allows 2 GiB")
        .hint("save the model with external data");
  if (!read_message(content, kMaxDepth, out))
    fail("it is no ONNX file: damaged, cut short, or nested more than " + std::to_string(kMaxDepth) + " deep");
}

/// The dim with a symbol of the file. Symbols without a letter, such as "?" and "-1", are not names: exporters write
/// them for all dims that they do not know, whether these are equal or not.
Dim dim_of(std::string_view symbol) {
  const bool is_name = std::ranges::any_of(symbol, [](char c) { return lower_case(c) >= 'a' && lower_case(c) <= 'z'; });
  return is_name ? Dim(symbol) : Dim::unknown();
}

std::string domain_of(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

Strings strings_of(const google::protobuf::RepeatedPtrField<std::string>& from) {
  return {from.begin(), from.end()};
}

/// Checks names of values; an empty one means that the value is absent.
void check_names(const Strings& names, std::string_view what) {
  for (const std::string& name : names)
    if (!name.empty()) check_name(name, what);
}

/// Converts the protobuf message of a model to a Model. Its errors have the place in the file, but not the file's name.
class Reader {
 public:
  explicit Reader(ExternalData external) : external_(std::move(external)) {}

  Model read(const onnx_file::ModelProto& from) {
    if (!from.has_ir_version() || !from.has_graph()) fail("it is no ONNX model: it has no version or no graph");
    model_.ir_version = from.ir_version();
    model_.opsets = opsets(from.opset_import());
    if (const auto own = model_.opsets.find(""); own == model_.opsets.end() && model_.opsets.empty())
      fail("it does not say which operator sets it uses");
    for (const auto& function : from.functions()) model_.functions.push_back(this->function(function));
    model_.graph = graph(from.graph());
    return std::move(model_);
  }

 private:
  static Opsets opsets(const google::protobuf::RepeatedPtrField<onnx_file::OperatorSetIdProto>& from) {
    Opsets result;
    for (const auto& set : from) {
      const std::string domain = domain_of(set.domain());
      if (domain.empty() && set.version() > kNewestOpset)
        throw Error(Code::file, "it uses operator set {}; this ferry knows up to {}", set.version(), kNewestOpset)
            .hint("use a newer ferry, or convert the model with onnx.version_converter");
      if (set.version() < 1) fail("an operator set has version " + std::to_string(set.version()));
      result.insert_or_assign(domain, set.version());
    }
    return result;
  }

  Function function(const onnx_file::FunctionProto& from) {
    return in_part(formatted("function {:?}", from.name()), [&] {
      Function result{domain_of(from.domain()),
                      from.name(),
                      from.overload(),
                      strings_of(from.input()),
                      strings_of(from.output()),
                      strings_of(from.attribute()),
                      {},
                      {},
                      opsets(from.opset_import())};
      check_name(result.name, "a function's name");
      check_names(result.inputs, "an input's name");
      check_names(result.outputs, "an output's name");
      for (const AttributeProto& one : from.attribute_proto())
        if (auto given = attribute(one)) result.defaults.push_back(std::move(*given));
      result.nodes = nodes(from.node());
      return result;
    });
  }

  GraphDef graph(const onnx_file::GraphProto& from) {
    GraphDef result;
    result.name = from.name();
    std::map<std::string_view, Refused> refused;  // by the initializer's name
    for (const auto& one : from.initializer()) add_initializer(result, one.name(), one, refused);
    for (const auto& one : from.sparse_initializer()) add_initializer(result, one.values().name(), one, refused);
    for (const auto& one : from.input()) result.inputs.push_back(value(one, "input"));
    for (const auto& one : from.output()) result.outputs.push_back(value(one, "output"));
    for (const ValueDef& output : result.outputs) result.declared.emplace(output.name, output);
    for (const auto& one : from.value_info())
      if (!one.name().empty()) result.declared.emplace(one.name(), value(one, "value"));
    result.nodes = nodes(from.node());
    check_unique(result);
    if (!refused.empty()) refuse_used(result, refused);
    return result;
  }

  /// Adds the refused initializers that the graph uses to Model::refused.
  void refuse_used(const GraphDef& graph, const std::map<std::string_view, Refused>& refused) {
    std::set<std::string_view> used;
    for (const ModelNode& node : graph.nodes) add_used(node, used);
    for (const ValueDef& output : graph.outputs) used.insert(output.name);
    for (const auto& [name, one] : refused)
      if (used.contains(name)) model_.refused.push_back(one);
  }

  template <class Proto>
  void add_initializer(GraphDef& graph, const std::string& name, const Proto& from,
                       std::map<std::string_view, Refused>& refused) {
    const std::string where = formatted("initializer {:?}", name);
    in_part(where, [&] {
      check_name(name, "its name");
      if (auto tensor = tensor_of(from, external_))
        graph.initializers.emplace_back(name, std::move(*tensor));
      else
        refused.emplace(name, Refused{"dtype " + dtype_name(number_of_dtype(from)), where});
    });
  }

  static std::int64_t number_of_dtype(const onnx_file::TensorProto& from) { return from.data_type(); }
  static std::int64_t number_of_dtype(const onnx_file::SparseTensorProto& from) { return from.values().data_type(); }

  ValueDef value(const onnx_file::ValueInfoProto& from, const std::string& what) {
    const std::string where = formatted("{} {:?}", as_is(what), from.name());
    return in_part(where, [&] {
      check_name(from.name(), "its name");
      ValueDef result;
      result.name = from.name();
      switch (from.type().value_case()) {
        case onnx_file::TypeProto::kTensorType:
          fill_type(from.type().tensor_type(), result);
          break;
        case onnx_file::TypeProto::kSequenceType:
          result.refused = "a sequence";
          break;
        case onnx_file::TypeProto::kOptionalType:
          result.optional = what == "input" && from.type().optional_type().elem_type().has_tensor_type();
          if (result.optional)
            fill_type(from.type().optional_type().elem_type().tensor_type(), result);
          else
            result.refused = "an optional value";
          break;
        case onnx_file::TypeProto::VALUE_NOT_SET:
          break;
        default:
          result.refused = "a map, sparse or opaque value";
      }
      return result;
    });
  }

  static void fill_type(const onnx_file::TypeProto::Tensor& from, ValueDef& to) {
    to.dtype = dtype_of_number(from.elem_type());
    if (!to.dtype && from.elem_type() != 0) to.refused = "dtype " + dtype_name(from.elem_type());
    if (!from.has_shape()) return;
    if (from.shape().dim_size() > kMaxRank)
      fail(std::to_string(from.shape().dim_size()) + " dims; at most " + std::to_string(kMaxRank) + " are allowed");
    Shape shape;
    for (const auto& dim : from.shape().dim()) {
      if (dim.has_dim_value() && dim.dim_value() < -1) fail("negative dim " + std::to_string(dim.dim_value()));
      if (dim.has_dim_value() && dim.dim_value() >= 0)
        shape.push_back(dim.dim_value());
      else
        shape.push_back(dim_of(dim.dim_param()));
    }
    to.shape = std::move(shape);
  }

  std::vector<ModelNode> nodes(const google::protobuf::RepeatedPtrField<onnx_file::NodeProto>& from) {
    std::vector<ModelNode> read;
    for (const auto& one : from) read.push_back(node(one));
    return sorted(std::move(read));
  }

  ModelNode node(const onnx_file::NodeProto& from) {
    ModelNode result;
    result.name = from.name();
    result.op = from.op_type();
    result.domain = domain_of(from.domain());
    result.overload = from.overload();
    result.inputs = strings_of(from.input());
    result.outputs = strings_of(from.output());
    return in_part(result.str(), [&] {
      for (const Strings* values : {&result.inputs, &result.outputs})
        if (std::ssize(*values) > kMostValues)
          fail(std::to_string(values->size()) + (values == &result.inputs ? " inputs" : " outputs") + "; at most " +
               std::to_string(kMostValues) + " are allowed");
      check_name(result.op, "its op");
      if (!result.name.empty()) check_name(result.name, "its name");
      check_names(result.inputs, "an input's name");
      check_names(result.outputs, "an output's name");
      for (const AttributeProto& one : from.attribute()) {
        if (result.find(one.name()) != nullptr) fail(formatted("attribute {:?} is there twice", one.name()));
        if (kind(one) == AttributeProto::TYPE_PROTO) continue;  // types follow from the values
        if (auto read = in_part(formatted("attribute {:?}", one.name()), [&] { return attribute(one); }))
          result.attributes.push_back(std::move(*read));
        else
          model_.refused.push_back({attribute_kind(one), result.str()});
      }
      return std::move(result);
    });
  }

  static std::string attribute_kind(const AttributeProto& from) {
    if (from.has_t()) return "dtype " + dtype_name(from.t().data_type());
    if (from.has_sparse_tensor()) return "dtype " + dtype_name(from.sparse_tensor().values().data_type());
    return "an attribute of kind " + std::to_string(from.type());
  }

  /// The kind of an attribute. Files older than ONNX 1.2 do not store it, so it follows from the field that is set.
  static AttributeProto::AttributeType kind(const AttributeProto& from) {
    if (from.type() != AttributeProto::UNDEFINED) return from.type();
    if (from.has_f()) return AttributeProto::FLOAT;
    if (from.has_i()) return AttributeProto::INT;
    if (from.has_s()) return AttributeProto::STRING;
    if (from.has_t()) return AttributeProto::TENSOR;
    if (from.has_g()) return AttributeProto::GRAPH;
    if (from.floats_size() > 0) return AttributeProto::FLOATS;
    if (from.strings_size() > 0) return AttributeProto::STRINGS;
    return AttributeProto::INTS;
  }

  std::optional<Attribute> attribute(const AttributeProto& from) {
    check_name(from.name(), "an attribute's name");
    if (from.has_ref_attr_name()) return Attribute{from.name(), AttributeRef{from.ref_attr_name()}};
    std::optional<Tensor> tensor;
    switch (kind(from)) {
      case AttributeProto::FLOAT:
        return Attribute{from.name(), static_cast<double>(from.f())};
      case AttributeProto::INT:
        return Attribute{from.name(), static_cast<std::int64_t>(from.i())};
      case AttributeProto::STRING:
        return Attribute{from.name(), from.s()};
      case AttributeProto::FLOATS:
        return Attribute{from.name(), Floats(from.floats().begin(), from.floats().end())};
      case AttributeProto::INTS:
        return Attribute{from.name(), Ints(from.ints().begin(), from.ints().end())};
      case AttributeProto::STRINGS:
        return Attribute{from.name(), strings_of(from.strings())};
      case AttributeProto::TENSOR:
        tensor = tensor_of(from.t(), external_);
        break;
      case AttributeProto::SPARSE_TENSOR:
        tensor = tensor_of(from.sparse_tensor(), external_);
        break;
      case AttributeProto::GRAPH:
        return Attribute{from.name(), std::make_shared<const GraphDef>(graph(from.g()))};
      default:
        break;
    }
    if (!tensor) return std::nullopt;
    return Attribute{from.name(), std::move(*tensor)};
  }

  /// Throws if the graph defines a value more than once.
  static void check_unique(const GraphDef& graph) {
    std::set<std::string_view> given;
    const auto once = [&](std::string_view name, const std::string& by) {
      if (!name.empty() && !given.insert(name).second)
        fail(formatted("{}: the value {:?} is there already", as_is(by), name));
    };
    for (const ValueDef& input : graph.inputs) once(input.name, formatted("input {:?}", input.name));
    for (const ModelNode& node : graph.nodes)
      for (const std::string& output : node.outputs) once(output, node.str());
    std::set<std::string_view> constants;
    for (const ValueDef& input : graph.inputs) given.erase(input.name);  // an initializer may be an input's default
    for (const auto& [name, tensor] : graph.initializers)
      if (given.contains(name) || !constants.insert(name).second)
        fail(formatted("initializer {:?}: the value is there already", name));
  }

  /// Adds the names of the outer graph's values that a node uses, also in its bodies. A body's own value may have the
  /// name of an outer value, as in merged decoders of Hugging Face.
  static void add_used(const ModelNode& node, std::set<std::string_view>& used) {
    used.insert(node.inputs.begin(), node.inputs.end());
    for (const GraphDef* body : node.bodies()) {
      std::set<std::string_view> within;
      for (const ModelNode& inner : body->nodes) add_used(inner, within);
      for (const ValueDef& output : body->outputs) within.insert(output.name);
      for (const ValueDef& input : body->inputs) within.erase(input.name);
      for (const auto& [name, tensor] : body->initializers) within.erase(name);
      for (const ModelNode& inner : body->nodes)
        for (const std::string& output : inner.outputs) within.erase(output);
      used.merge(within);
    }
  }

  /// Throws Error(file) with the first and the last nodes of the cycle.
  [[noreturn]] static void refuse_cycle(const std::vector<ModelNode>& nodes, const std::vector<Need>& cycle) {
    constexpr std::size_t kFirst = 5, kLast = 3;
    std::string text = formatted("{} nodes form a cycle: ", cycle.size());
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const bool shown = cycle.size() <= kFirst + kLast || i < kFirst || i + kLast >= cycle.size();
      if (shown) text += nodes[cycle[i].from].str() + " -> ";
      if (!shown && i == kFirst) text += "… -> ";
    }
    throw Error(Code::file, text + nodes[cycle[0].from].str())
        .hint("remove one of these inputs; the op Loop carries a value from one iteration to the next");
  }

  static std::vector<ModelNode> sorted(std::vector<ModelNode> nodes) {
    std::unordered_map<std::string_view, std::uint32_t> makers;
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
      for (const std::string& output : nodes[i].outputs) makers.emplace(output, i);
    std::vector<Need> needs;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      std::set<std::string_view> used;
      add_used(nodes[i], used);
      for (const std::string_view name : used)
        if (const auto maker = makers.find(name); !name.empty() && maker != makers.end())
          needs.push_back({maker->second, i});
    }
    const Sorted sorted = sort_by_need(static_cast<std::uint32_t>(nodes.size()), needs);
    if (!sorted.cycle.empty()) refuse_cycle(nodes, sorted.cycle);
    std::vector<ModelNode> result;
    for (const std::uint32_t i : sorted.order) result.push_back(std::move(nodes[i]));
    return result;
  }

  ExternalData external_;
  Model model_;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

const Attribute* ModelNode::find(std::string_view attribute) const {
  for (const Attribute& one : attributes)
    if (one.name == attribute) return &one;
  return nullptr;
}

std::vector<const GraphDef*> ModelNode::bodies() const {
  std::vector<const GraphDef*> bodies;
  for (const Attribute& one : attributes)
    if (const auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&one.value)) bodies.push_back(body->get());
  return bodies;
}

std::string ModelNode::full_op() const {
  return domain.empty() ? op : domain + "." + op;
}

std::string ModelNode::str() const {
  return formatted("node {:?} ({})", !name.empty() || outputs.empty() ? name : outputs[0], full_op());
}

namespace {

/// The inputs that are also initializers if `initialized` is true; else the inputs that are not.
std::vector<const ValueDef*> inputs_of(const GraphDef& graph, bool initialized) {
  std::set<std::string_view> constants;
  for (const auto& [name, tensor] : graph.initializers) constants.insert(name);
  std::vector<const ValueDef*> result;
  for (const ValueDef& input : graph.inputs)
    if (constants.contains(input.name) == initialized) result.push_back(&input);
  return result;
}

}  // namespace

std::vector<const ValueDef*> Model::feeds() const {
  return inputs_of(graph, false);
}

std::vector<const ValueDef*> Model::defaulted() const {
  return ir_version < kFirstIrWithDefaults ? std::vector<const ValueDef*>() : inputs_of(graph, true);
}

namespace {

Model decoded(std::span<const std::byte> content, std::string_view source, ExternalData external) {
  return in_part(formatted("{:.300}", source), [&] {
    onnx_file::ModelProto message;
    parse(content, message);
    Model model = Reader(std::move(external)).read(message);
    model.source = source;
    return model;
  });
}

/// The ExternalData for a model in the file `path`.
ExternalData external_of(const std::string& path, FileSystem& files) {
  return {folder_of(path), folder_of(real_path(path)), files};
}

/// The content of a file that must be one protobuf message. Most other files throw Error(file) before the whole file is
/// read, because the headers of their fields are invalid.
FileBytes content_of(const std::string& path, FileSystem& files, std::uint32_t inner = 0) {
  if (!may_be_message(*files.open(path), inner))
    throw Error(Code::file, "{:.300}: it is no ONNX file: damaged or cut short", path);
  return files.read(path, kMaxGraphBytes);
}

}  // namespace

Model read_model(const std::string& path, FileSystem& files) {
  return decoded(content_of(path, files, onnx_file::ModelProto::kGraphFieldNumber).span(), path,
                 external_of(path, files));
}

Model decode_model(std::span<const std::byte> content, std::string_view source, const std::string& folder,
                   FileSystem& files) {
  return decoded(content, source, {folder, real_path(folder), files});
}

namespace {

Tensor tensor_in(const onnx_file::TensorProto& message, const std::string& path, FileSystem& files) {
  ExternalData external = external_of(path, files);
  auto tensor = tensor_of(message, external);
  if (!tensor) fail("elements are " + dtype_name(message.data_type()) + ", which ferry does not compute with");
  return std::move(*tensor);
}

/// Returns read(message) for a file that is one message; an empty file is an empty message.
template <class Message, class F>
auto read_one(const std::string& path, FileSystem& files, const F& read) {
  const FileBytes content = content_of(path, files);
  return in_part(formatted("{:.300}", path), [&] {
    Message message;
    if (content.size() > 0) parse(content.span(), message);
    return read(message);
  });
}

}  // namespace

Tensor read_tensor(const std::string& path, FileSystem& files) {
  return read_one<onnx_file::TensorProto>(path, files,
                                          [&](const auto& message) { return tensor_in(message, path, files); });
}

std::optional<Tensor> read_optional(const std::string& path, FileSystem& files) {
  return read_one<onnx_file::OptionalProto>(path, files, [&](const auto& message) -> std::optional<Tensor> {
    if (!message.has_tensor_value()) return std::nullopt;
    return tensor_in(message.tensor_value(), path, files);
  });
}

}  // namespace ferry::onnx
