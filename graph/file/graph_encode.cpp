#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "base/hash.hpp"
#include "graph/ferry_graph.pb.h"
#include "graph/file/graph_file.hpp"
#include "graph/file/graph_frame.hpp"
#include "graph/legality.hpp"

namespace ferry {
namespace {

/// In a text file, tensors with at most this many elements are written as numbers, for readers of the text.
constexpr std::int64_t kReadableElements = 64;

bool ends_in_output_number(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < name.size() && name[digits] == ':';
}

std::string reference(const Graph& graph, ValueId value) {
  const Op op = graph.op(graph.producer(value));
  const ValueId index = value - op.output(0);
  std::string text(op.name());
  if (index > 0 || ends_in_output_number(text)) text.append(":").append(std::to_string(index));
  return text;
}

class Encoder {
 public:
  Encoder(GraphFormat format, file::GraphFile& out, GraphContent& content)
      : format_(format), out_(out), content_(content) {}

  void encode(const Graph& root) {
    graphs_.push_back(&root);
    for (std::size_t i = 0; i < graphs_.size(); ++i) encode_graph(static_cast<std::uint32_t>(i));
    for (const Mesh& mesh : root.meshes()) encode_mesh(mesh);
    for (const auto& [name, entry] : root.entries()) encode_entry(root, name, entry);
    if (const Budget& budget = root.budget(); !budget.empty()) {
      file::Budget& out = *out_.mutable_budget();
      if (budget.bytes) out.set_bytes(*budget.bytes);
      if (budget.messages) out.set_messages(*budget.messages);
      if (budget.memory) out.set_memory(*budget.memory);
    }
    if (root.is_auto_placed()) out_.set_auto_place(true);
    out_.set_version(version());
  }

 private:
  /// The lowest version that has all features of the graph, so that older readers can read the file.
  [[nodiscard]] std::uint32_t version() const {
    if (out_.has_auto_place()) return kGraphVersion;
    return out_.has_budget() || recomputes_ ? 2 : 1;
  }

  void encode_graph(std::uint32_t number) {
    const Graph& graph = *graphs_[number];
    file::Graph& out = *out_.add_graph();
    number_bodies(number);
    if (number > 0) {
      out.set_parent(parents_[number - 1]);
      for (ValueId parameter : graph.parameters()) out.add_parameter(std::string(name_of(graph, parameter)));
      for (ValueId capture : graph.captures()) out.add_capture(reference(*graph.parent(), capture));
      for (ValueId result : graph.results()) out.add_result(reference(graph, result));
    }
    out.mutable_op()->Reserve(static_cast<int>(graph.size()));
    for (OpId id = 0; id < graph.size(); ++id) encode_op(number, graph.op(id), *out.add_op());
  }

  static std::string_view name_of(const Graph& graph, ValueId value) { return graph.op(graph.producer(value)).name(); }

  void encode_op(std::uint32_t number, const Op& op, file::Op& out) {
    out.set_name(op.name().data(), op.name().size());
    out.set_op(op.def().name.data(), op.def().name.size());
    if (op.def().version != 1) out.set_version(static_cast<std::uint32_t>(op.def().version));
    for (ValueId input : op.inputs()) out.add_input(reference(op.graph(), input));
    for (OpId earlier : op.after()) {
      const std::string_view name = op.graph().op(earlier).name();
      out.add_after(name.data(), name.size());
    }
    for (const auto& [name, value] : op.attrs()) encode_attr(number, op, name, value, *out.add_attr());
    if (op.recomputed()) {
      out.set_recomputed(true);
      recomputes_ = true;
    }
    encode_annotation(op.annotation(), out);
    for (int i = 0; i < op.outputs(); ++i) out.add_type_of_output(type_number(op.graph().type(op.output(i))));
    if (const SourceLine line = op.line(); line.known()) {
      out.set_file(file_number(line.file));
      out.set_line(line.line);
    }
  }

  static void encode_annotation(const Annotation& annotation, file::Op& out) {
    if (!annotation.device.empty()) out.set_device(annotation.device.str());
    if (annotation.mesh != kNoMesh) out.set_mesh(annotation.mesh + 1);
    for (const Layout& layout : annotation.layouts) {
      file::Layout& to = *out.add_layout();
      for (const AxisLayout& axis : layout) {
        file::Layout::Axis& one = *to.add_axis();
        one.set_kind(static_cast<file::Layout::Axis::Kind>(axis.kind));
        if (axis.kind == AxisLayout::Kind::split) one.set_dim(static_cast<std::uint32_t>(axis.dim));
        if (axis.kind == AxisLayout::Kind::partial) one.set_reduce(std::string(ferry::name_of(axis.reduce)));
      }
    }
  }

  void encode_attr(std::uint32_t number, const Op& op, const std::string& name, const AttrValue& value,
                   file::Attr& out) {
    struct Visitor {
      Encoder& encoder;
      std::uint32_t number;
      const Op& op;
      const std::string& name;
      file::Attr& out;
      void operator()(bool v) const { out.set_bool_(v); }
      void operator()(std::int64_t v) const { out.set_int_(v); }
      void operator()(double v) const { out.set_float_(v); }
      void operator()(const std::string& v) const { out.set_string(v); }
      void operator()(const Ints& v) const { out.mutable_ints()->mutable_value()->Add(v.begin(), v.end()); }
      void operator()(const Floats& v) const { out.mutable_floats()->mutable_value()->Add(v.begin(), v.end()); }
      void operator()(DType v) const { out.set_dtype(static_cast<file::DType>(v)); }
      void operator()(const Shape& v) const { encode_shape(v, *out.mutable_shape()); }
      void operator()(const Tensor& v) const { encoder.encode_tensor(number, op, name, v, *out.mutable_tensor()); }
      void operator()(SubgraphRef v) const { out.set_body(encoder.numbers_[v.index]); }
    };
    out.set_name(name);
    std::visit(Visitor{*this, number, op, name, out}, value);
  }

  /// Numbers the bodies that ops of graph `parent` own. The numbers follow the numbers given before, so each body comes
  /// after the graph that has it.
  void number_bodies(std::uint32_t parent) {
    const Graph& graph = *graphs_[parent];
    numbers_.assign(graph.subgraphs(), 0);
    for (OpId id = 0; graph.subgraphs() > 0 && id < graph.size(); ++id)
      for (const auto& item : graph.op(id).attrs())
        if (const auto* ref = std::get_if<SubgraphRef>(&item.second)) numbers_[ref->index] = 1;
    for (std::uint32_t i = 0; i < graph.subgraphs(); ++i) {
      if (numbers_[i] == 0) continue;  // no op owns it: building the op failed
      numbers_[i] = static_cast<std::uint32_t>(graphs_.size());
      graphs_.push_back(&graph.subgraph({i}));
      parents_.push_back(parent);
    }
  }

  static void encode_shape(const Shape& shape, file::Shape& out) {
    for (const Dim& dim : shape.dims()) {
      file::Dim& to = *out.add_dim();
      if (dim.known()) to.set_size(dim.size());
      if (dim.bounded()) to.set_bounded(true);
      if (!dim.symbol().empty()) to.set_symbol(dim.symbol());
    }
  }

  void encode_tensor(std::uint32_t number, const Op& op, const std::string& attr, const Tensor& tensor,
                     file::Tensor& out) {
    out.set_dtype(static_cast<file::DType>(tensor.dtype()));
    for (std::int64_t size : tensor.sizes()) out.add_size(size);
    const std::span<const std::byte> bytes = tensor.bytes();
    if (bytes.size() > kInlineTensorBytes) {
      const std::string name = std::to_string(number) + "/" + std::string(op.name()) + "/" + attr;
      out.set_beside(name);
      out.set_beside_hash(hash64(bytes));
      content_.beside.emplace(name, tensor);
    } else if (format_ == GraphFormat::binary || tensor.count() > kReadableElements || !encode_numbers(tensor, out)) {
      out.set_bytes(bytes.data(), bytes.size());
    }
  }

  /// Writes the elements as numbers. Writes nothing and returns false if numbers would not keep the bits of the
  /// elements.
  static bool encode_numbers(const Tensor& tensor, file::Tensor& out) {
    if (!is_float(tensor.dtype())) {
      for (std::int64_t i = 0; tensor.dtype() == DType::uint64 && i < tensor.count(); ++i)
        if (tensor.integer(i) < 0) return false;  // beyond the range of int64
      out.mutable_ints();                         // present even if the tensor is empty
      for (std::int64_t i = 0; i < tensor.count(); ++i) out.mutable_ints()->add_value(tensor.integer(i));
      return true;
    }
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      if (!std::isfinite(tensor.number(i))) return false;
    out.mutable_floats();
    for (std::int64_t i = 0; i < tensor.count(); ++i) out.mutable_floats()->add_value(tensor.number(i));
    return true;
  }

  std::uint32_t type_number(const Type& type) {
    std::string key(1, static_cast<char>(type.dtype));
    for (const Dim& dim : type.shape.dims())
      key += (dim.bounded() ? "<" : ",") + std::to_string(dim.size()) + '=' + dim.symbol() + '\0';
    const auto [found, is_new] = types_.try_emplace(std::move(key), static_cast<std::uint32_t>(types_.size()));
    if (is_new) {
      file::Type& out = *out_.add_type();
      out.set_dtype(static_cast<file::DType>(type.dtype));
      encode_shape(type.shape, *out.mutable_shape());
    }
    return found->second;
  }

  std::uint32_t file_number(const std::string& name) {
    const auto [found, is_new] = files_.try_emplace(name, static_cast<std::uint32_t>(files_.size() + 1));
    if (is_new) out_.add_file(name);
    return found->second;
  }

  void encode_mesh(const Mesh& mesh) {
    file::Mesh& out = *out_.add_mesh();
    for (const Mesh::Axis& axis : mesh.axes) {
      file::Mesh::Axis& to = *out.add_axis();
      to.set_name(axis.name);
      if (axis.size != Mesh::kOpen) to.set_size(axis.size);
    }
    out.set_devices(mesh.devices.str());
  }

  void encode_entry(const Graph& graph, const std::string& name, const Entry& entry) {
    file::Entry& out = *out_.add_entry();
    out.set_name(name);
    const auto add = [&](const Entry::Named& item, file::Entry::Named& to) {
      to.set_name(item.name);
      to.set_value(reference(graph, item.value));
    };
    for (const Entry::Named& feed : entry.feeds) add(feed, *out.add_feed());
    for (const Entry::Named& fetch : entry.fetches) add(fetch, *out.add_fetch());
    for (OpId target : entry.targets) out.add_target(std::string(graph.op(target).name()));
  }

  bool recomputes_ = false;  // whether an op is marked as recomputed
  GraphFormat format_;
  file::GraphFile& out_;
  GraphContent& content_;
  std::vector<const Graph*> graphs_;
  std::vector<std::uint32_t> parents_;  // the parent of graphs_[i + 1]
  std::vector<std::uint32_t> numbers_;  // the numbers of the bodies of the graph that is being encoded
  std::unordered_map<std::string, std::uint32_t> types_, files_;
};

std::string binary_content(file::GraphFile& message) {
  const std::size_t body = message.ByteSizeLong();
  if (body > kMaxGraphBytes - kGraphHeadBytes)
    throw Error(Code::resource, "this graph takes {} bytes, a graph file at most {}", body, kMaxGraphBytes);
  std::string content(kGraphHeadBytes + body, '\0');
  auto* start = reinterpret_cast<std::uint8_t*>(content.data());
  message.SerializeWithCachedSizesToArray(start + kGraphHeadBytes);
  write_graph_head(content);
  return content;
}

std::string text_content(const file::GraphFile& message) {
  std::string content;
  if (!google::protobuf::TextFormat::PrintToString(message, &content) || content.size() > kMaxGraphBytes)
    throw Error(Code::resource, "this graph is too large for a text file").hint("save it as .pb");
  return "# A ferry graph: docs/reference/graph_format.md\n" + content;
}

}  // namespace

GraphContent encode_graph(const Graph& graph, GraphFormat format) {
  check_legal(graph);
  GraphContent result;
  google::protobuf::Arena arena;
  auto* message = google::protobuf::Arena::CreateMessage<file::GraphFile>(&arena);
  Encoder(format, *message, result).encode(graph);
  result.content = format == GraphFormat::binary ? binary_content(*message) : text_content(*message);
  return result;
}

}  // namespace ferry
