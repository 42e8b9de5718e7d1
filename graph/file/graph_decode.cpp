#include <google/protobuf/arena.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/file/graph_frame.hpp"
#include "graph/file/graph_read.hpp"
#include "graph/file/protobuf_read.hpp"
#include "graph/file/topological.hpp"
#include "graph/legality.hpp"
#include "graph/op/core_ops.hpp"
#include "graph/types/string_pool.hpp"

namespace ferry {
namespace {

/// The most levels of nested messages; the format itself needs six.
constexpr int kMaxDepth = 16;

[[noreturn]] void fail(const std::string& why) {
  throw Error(Code::file, why);
}

/// Runs `part`, and puts what() before the message of an error that it throws. The error becomes Error(file), except
/// that Error(usage), for a malformed device, keeps its code and Error(resource) is passed on unchanged.
template <class What, class F>
auto in_part(What what, F part) {
  try {
    return part();
  } catch (const Error& error) {
    if (error.code() == Code::resource) throw;
    throw Error(error.code() == Code::usage ? Code::usage : Code::file, what() + ": " + error.text());
  }
}

// ---- Bytes to message ----

void parse_binary(std::span<const std::byte> content, file::GraphFile& out) {
  check_graph_head(content);
  if (!read_message(content, kMaxDepth, out))
    fail("it is no protobuf message of a graph: damaged, cut short, or nested more than " + std::to_string(kMaxDepth) +
         " deep");
}

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    line_ = line;
    text_ = formatted("line {}, column {}: {:.200}", line + 1, column + 1, message);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::ptrdiff_t line() const { return line_; }  // counted from 0

 private:
  std::string text_;
  std::ptrdiff_t line_ = 0;
};

/// Parses `content` as text. Returns false if it is no graph; then `first` has the error.
bool try_parse_text(std::span<const std::byte> content, file::GraphFile& out, FirstError& first) {
  google::protobuf::io::ArrayInputStream in(content.data(), static_cast<int>(content.size()));
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  parser.SetRecursionLimit(kMaxDepth);
  const google::protobuf::LogSilencer quiet;
  return parser.Parse(&in, &out);
}

[[noreturn]] void refuse_text(const FirstError& first) {
  fail("it is no graph as text: " + first.text());
}

void parse_text(std::span<const std::byte> content, file::GraphFile& out) {
  FirstError first;
  if (!try_parse_text(content, out, first)) refuse_text(first);
}

void check_version(const file::GraphFile& message) {
  if (!message.has_version()) fail("it does not say its version: this is no ferry graph, or an empty one");
  if (message.version() > kGraphVersion)
    throw Error(Code::file, "its format is version {}; this ferry reads up to version {}", message.version(),
                kGraphVersion)
        .hint("use a newer ferry, or save the graph with an older one");
  if (message.version() == 0) fail("its format is version 0, which never was");
}

void refuse_unknown_fields(const file::GraphFile& message) {
  const auto refuse = [](const google::protobuf::UnknownFieldSet& fields) {
    if (!fields.empty())
      fail("it has the field " + std::to_string(fields.field(0).number()) + ", which version " +
           std::to_string(kGraphVersion) + " has not: damaged, or bytes after its end");
  };
  refuse(message.unknown_fields());
  refuse(message.budget().unknown_fields());
  for (const file::Graph& graph : message.graph()) {
    refuse(graph.unknown_fields());
    for (const file::Op& op : graph.op()) refuse(op.unknown_fields());
  }
}

// ---- One graph of the file ----

using Index = std::uint32_t;

constexpr int kAhead = 8;  // ops: reading this many takes about as long as a load from memory

/// The ops of one graph of the file by name, and a topological order in which to build them.
class OpList {
 public:
  explicit OpList(const file::Graph& graph) : graph_(graph) {
    names_.reserve(static_cast<std::uint32_t>(graph.op_size()));
    first_input_.reserve(static_cast<std::size_t>(graph.op_size()) + 1);
    for (const file::Op& op : graph.op()) {
      if (const int later = static_cast<int>(names_.size()) + kAhead; later < graph.op_size())
        names_.prefetch(graph.op(later).name());
      check_name(op.name(), "an op's name");
      const Index number = names_.size();
      if (names_.intern(op.name()) != number) fail(formatted("two ops have the name {:?}", op.name()));
      // Most inputs come from ops shortly before, so their names are still in the cache.
      first_input_.push_back(static_cast<std::uint32_t>(inputs_.size()));
      for (const std::string& input : op.input()) {
        const graph_read::Reference ref = graph_read::reference(input);
        inputs_.push_back({names_.find(ref.op), ref.output});
      }
    }
    first_input_.push_back(static_cast<std::uint32_t>(inputs_.size()));
    sort();
  }

  /// A value of an op of this list.
  struct Reference {
    Index op;
    std::uint32_t output;
  };

  [[nodiscard]] const std::vector<Index>& order() const { return order_; }
  [[nodiscard]] const file::Op& op(Index i) const { return graph_.op(static_cast<int>(i)); }
  /// The inputs of op i, in order.
  [[nodiscard]] std::span<const Reference> inputs(Index i) const {
    return std::span(inputs_).subspan(first_input_[i], first_input_[i + 1] - first_input_[i]);
  }
  /// The op of that name. If there is none, throws Error(file); its message begins with user(), the name of the user of
  /// the op.
  template <class User>
  [[nodiscard]] Index at(std::string_view name, User user) const {
    if (const Index found = names_.find(name); found != StringPool::kNone) return found;
    throw Error(Code::file, "{}: there is no op {:?}", as_is(user()), name).hint(name_hint(name));
  }
  [[nodiscard]] Index at(std::string_view name) const {
    return at(name, [] { return std::string("a body"); });
  }

 private:
  void sort() {
    std::vector<Need> needs;
    needs.reserve(inputs_.size());
    for (Index i = 0; i < names_.size(); ++i) {
      const auto who = [&] { return user(i); };
      for (std::uint32_t k = first_input_[i]; k < first_input_[i + 1]; ++k) {
        Index& maker = inputs_[k].op;
        if (maker == StringPool::kNone)
          maker = at(graph_read::reference(op(i).input(static_cast<int>(k - first_input_[i]))).op, who);
        needs.push_back({maker, i, false});
      }
      for (const std::string& earlier : op(i).after()) needs.push_back({at(earlier, who), i, true});
    }
    for (int k = 1; k < graph_.parameter_size(); ++k)  // parameters keep their order
      needs.push_back({at(graph_.parameter(k - 1)), at(graph_.parameter(k)), true});
    Sorted sorted = sort_by_need(names_.size(), needs);
    if (!sorted.cycle.empty()) refuse_cycle(sorted.cycle);
    order_ = std::move(sorted.order);
  }

  [[nodiscard]] std::string user(Index i) const { return formatted("{:?} ({})", op(i).name(), op(i).op()); }

  [[nodiscard]] std::string name_hint(std::string_view name) const {
    constexpr std::size_t kMostNames = 10000;
    std::vector<std::string> names;
    for (const file::Op& op : graph_.op())
      if (names.size() < kMostNames) names.push_back(op.name());
    const std::string close = nearest(name, names);
    return close.empty() ? "name an op of the same graph" : formatted("did you mean {:?}?", close);
  }

  [[noreturn]] void refuse_cycle(const std::vector<Need>& cycle) const {
    constexpr std::size_t kShown = 8;
    Error error(Code::file, "its ops form a cycle of {}", cycle.size());
    for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i)
      error.note(user(cycle[i].to) + (cycle[i].control ? " runs after " : " takes ") + user(cycle[i].from));
    if (cycle.size() > kShown) error.note("and so on");
    throw error.hint("a loop's state is carried by While, not by a cycle");
  }

  const file::Graph& graph_;
  StringPool names_;  // an op's name has the same number as the op
  std::vector<Reference> inputs_;
  std::vector<std::uint32_t> first_input_;  // by op: the index of its first input; and one entry more at the end
  std::vector<Index> order_;
};

/// Makes a Graph from a message.
class Decoder {
 public:
  Decoder(const file::GraphFile& file, const OpSet& ops, const TensorBeside& beside)
      : file_(file), ops_(ops), beside_(beside) {}

  std::unique_ptr<Graph> decode() {
    auto root = std::make_unique<Graph>();
    check_graphs();
    for (const file::Mesh& mesh : file_.mesh()) add_mesh(*root, mesh);
    for (const file::Type& type : file_.type()) types_.push_back(graph_read::type(type));
    build(0, *root);
    for (int i = 1; i < file_.graph_size(); ++i)
      if (!built_[i]) fail("graph " + std::to_string(i) + " is the body of no op");
    for (const file::Entry& entry : file_.entry()) add_entry(*root, entry);
    if (file_.has_budget()) set_budget(*root, file_.budget());
    if (file_.auto_place()) root->auto_place();
    return root;
  }

 private:
  /// Checks that parents come before their bodies, so that no graph contains itself.
  void check_graphs() {
    if (file_.graph_size() == 0) fail("there is no graph in it");
    const auto count = static_cast<std::size_t>(file_.graph_size());
    std::vector<int> depth(count, 0);
    built_.assign(count, false);
    children_.resize(count);
    number_in_parent_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      const file::Graph& graph = file_.graph(static_cast<int>(i));
      if (i == 0 && (graph.has_parent() || graph.parameter_size() + graph.capture_size() + graph.result_size() > 0))
        fail("the first graph is a body");
      if (i == 0) continue;
      if (!graph.has_parent()) fail("graph " + std::to_string(i) + " is in no other");
      if (graph.parent() == i) fail("graph " + std::to_string(i) + " is a body in itself");
      if (graph.parent() > i) fail("graph " + std::to_string(i) + " comes before the graph that it is in");
      depth[i] = depth[graph.parent()] + 1;
      if (depth[i] > kMaxNesting) fail("bodies are nested more than " + std::to_string(kMaxNesting) + " deep");
      number_in_parent_[i] = static_cast<std::uint32_t>(children_[graph.parent()].size());
      children_[graph.parent()].push_back(static_cast<Index>(i));
    }
  }

  static void add_mesh(Graph& root, const file::Mesh& mesh) {
    const std::size_t before = root.meshes().size();
    const MeshId id = root.mesh(graph_read::mesh(mesh));
    if (id != before) fail("the mesh " + root.meshes()[id].str() + " is there twice");
  }

  void build(Index number, Graph& graph) {
    built_[number] = true;
    graph.reserve(static_cast<OpId>(file_.graph(static_cast<int>(number)).op_size()));
    const OpList list(file_.graph(static_cast<int>(number)));
    for (std::size_t i = 0; i < children_[number].size(); ++i) graph.add_subgraph("body_" + std::to_string(i));
    Places places(static_cast<std::size_t>(file_.graph(static_cast<int>(number)).op_size()), kNotBuilt);
    const Parameters parameters = parameters_of(number, list);
    const std::vector<Index>& order = list.order();
    for (std::size_t at = 0; at < order.size(); ++at) {
      if (at + kAhead < order.size()) graph.prefetch(list.op(order[at + kAhead]).name());
      const Index i = order[at];
      const file::Op& op = list.op(i);
      in_part([&] { return formatted("{:?} ({})", op.name(), op.op()); },
              [&] { places[i] = build_op(number, graph, list, places, parameters, i); });
    }
    set_results(number, graph, list, places);
  }

  static constexpr OpId kNotBuilt = 0xffffffffU;
  using Places = std::vector<OpId>;  // by an op's index in the file's graph: the op's id in the Graph

  /// For each Parameter op of a body, by name: its index in the body's list of parameters.
  using Parameters = std::unordered_map<std::string_view, int>;
  Parameters parameters_of(Index number, const OpList& list) const {
    const file::Graph& graph = file_.graph(static_cast<int>(number));
    if (graph.capture_size() > graph.parameter_size()) fail("a body captures more than it has parameters");
    Parameters result;
    for (int k = 0; k < graph.parameter_size(); ++k) {
      if (list.op(list.at(graph.parameter(k))).op() != kParameter.name)
        fail(formatted("{:?} is no parameter of its body", graph.parameter(k)));
      if (!result.emplace(graph.parameter(k), k).second)
        fail(formatted("a body lists the parameter {:?} twice", graph.parameter(k)));
    }
    return result;
  }

  OpId build_op(Index number, Graph& graph, const OpList& list, const Places& places, const Parameters& parameters,
                Index i) {
    const file::Op& op = list.op(i);
    const OpDef& def = definition(op);
    Attrs attrs =
        graph_read::attrs(op, beside_, [&](Index body) { return build_body(number, body, graph, list, places); });
    Values inputs;
    for (const OpList::Reference& input : list.inputs(i)) inputs.push_back(value(graph, list, places, input));
    const SourceLine line(file_name(op), op.line());
    const OpId id = graph.size();
    if (const auto found = parameters.find(op.name()); found != parameters.end())
      build_parameter(number, graph, op, attrs, line, found->second);
    else
      graph.add(def, inputs, std::move(attrs), line, op.name());
    check_types(graph.op(id), op);
    annotate(graph, id, op);
    if (op.recomputed()) graph.mark_recomputed(id);
    std::vector<OpId> after;
    for (const std::string& earlier : op.after()) after.push_back(places[list.at(earlier)]);
    if (!after.empty()) graph.add_after(id, after);
    return id;
  }

  [[nodiscard]] const OpDef& definition(const file::Op& op) const {
    const OpDef* def = ops_.find(op.op());
    if (def == nullptr) {
      std::vector<std::string> names;
      for (const OpDef* known : ops_.all()) names.emplace_back(known->name);
      const std::string close = nearest(op.op(), names);
      Error error(Code::file, "there is no op {:?}", op.op());
      if (!close.empty()) error.hint("did you mean {}?", close);
      throw error.hint("if it is in a library of your own: --ops LIB.so");
    }
    if (op.version() < 1 || op.version() > static_cast<std::uint32_t>(def->version))
      throw Error(Code::file, "the file has {}@{}, this ferry knows {}@1 to @{}", def->name, op.version(), def->name,
                  def->version)
          .hint("use a newer ferry");
    return *def;
  }

  SubgraphRef build_body(Index parent, Index body, Graph& graph, const OpList& list, const Places& places) {
    if (body >= static_cast<Index>(file_.graph_size()))
      fail("its body, graph " + std::to_string(body) + ", is not there");
    if (body == parent) fail("its body contains itself");
    if (body == 0 || file_.graph(static_cast<int>(body)).parent() != parent)
      fail("its body, graph " + std::to_string(body) + ", is in another graph");
    if (built_[body]) fail("its body, graph " + std::to_string(body) + ", belongs to another op");
    const SubgraphRef ref{number_in_parent_[body]};
    captured_[body].clear();
    for (const std::string& capture : file_.graph(static_cast<int>(body)).capture())
      captured_[body].push_back(value(graph, list, places, capture));
    in_part([] { return std::string("in its body"); }, [&] { build(body, graph.subgraph(ref)); });
    return ref;
  }

  void build_parameter(Index number, Graph& graph, const file::Op& op, const Attrs& attrs, const SourceLine& line,
                       int place) {
    const file::Graph& body = file_.graph(static_cast<int>(number));
    const int declared = body.parameter_size() - body.capture_size();
    if (op.input_size() > 0) fail("a parameter takes no inputs");
    const OpId id = graph.size();
    if (place < declared)
      graph.parameter({attrs.get<DType>("dtype"), attrs.get<Shape>("shape")}, line, op.name());
    else
      graph.capture(captured_[number][place - declared], op.name());
    if (graph.size() == id) fail("it captures what another parameter captures");
    if (!graph.op(id).attrs().same(attrs)) fail("its attributes differ from the attributes of the captured op");
  }

  static Value value(Graph& graph, const OpList& list, const Places& places, const OpList::Reference& ref) {
    const OpId id = places[ref.op];
    const std::string& name = list.op(ref.op).name();
    if (id == kNotBuilt) fail(formatted("{:?} does not come before it", name));
    const Op op = graph.op(id);
    if (ref.output >= static_cast<std::uint32_t>(op.outputs()))
      fail(formatted("{:?} is not there: {:?} has {} outputs", name + ":" + std::to_string(ref.output), name,
                     op.outputs()));
    return graph.value(op.output(static_cast<int>(ref.output)));
  }
  static Value value(Graph& graph, const OpList& list, const Places& places, const std::string& text) {
    const graph_read::Reference ref = graph_read::reference(text);
    return value(graph, list, places, OpList::Reference{list.at(ref.op), ref.output});
  }

  [[nodiscard]] std::string_view file_name(const file::Op& op) const {
    if (!op.has_file()) return {};
    if (op.file() < 1 || op.file() > static_cast<std::uint32_t>(file_.file_size()))
      fail("its source file is not there");
    return file_.file(static_cast<int>(op.file()) - 1);
  }

  void check_types(const Op& built, const file::Op& op) const {
    if (op.type_of_output_size() == 0) return;
    if (op.type_of_output_size() != built.outputs())
      fail("the file has types for " + std::to_string(op.type_of_output_size()) + " outputs, it has " +
           std::to_string(built.outputs()));
    for (int i = 0; i < built.outputs(); ++i) {
      const std::uint32_t stored = op.type_of_output(i);
      if (stored >= types_.size()) fail("the type of an output is not there");
      const Type& inferred = built.graph().type(built.output(i));
      if (types_[stored] != inferred)
        fail("output " + std::to_string(i) + " is " + types_[stored].str() + " in the file, inference gives " +
             inferred.str());
    }
  }

  void annotate(Graph& graph, OpId id, const file::Op& op) {
    if (!op.has_device() && !op.has_mesh() && op.layout().empty()) return;
    Annotation annotation;
    if (op.has_device()) annotation.device = DeviceSpec::parse(op.device());
    if (op.has_mesh()) {
      if (op.mesh() < 1 || op.mesh() > graph.meshes().size()) fail("its mesh is not there");
      annotation.mesh = op.mesh() - 1;
    }
    for (const file::Layout& layout : op.layout()) annotation.layouts.push_back(graph_read::layout(layout));
    graph.annotate(id, annotation);
  }

  void set_results(Index number, Graph& graph, const OpList& list, const Places& places) {
    const file::Graph& body = file_.graph(static_cast<int>(number));
    Values results;
    for (const std::string& result : body.result()) results.push_back(value(graph, list, places, result));
    if (number > 0) graph.set_results(results);
  }

  static void set_budget(Graph& root, const file::Budget& given) {
    Budget limits;
    if (given.has_bytes()) limits.bytes = given.bytes();
    if (given.has_messages()) limits.messages = given.messages();
    if (given.has_memory()) limits.memory = given.memory();
    in_part([] { return std::string("the budget"); }, [&] { root.budget(limits); });
  }

  static void add_entry(Graph& root, const file::Entry& entry) {
    if (root.entries().contains(entry.name())) fail(formatted("two entries have the name {:?}", entry.name()));
    in_part([&] { return formatted("entry {:?}", entry.name()); },
            [&] {
              Entry& out = root.entry(entry.name());
              const auto named = [&](const file::Entry::Named& item) {
                return Entry::Named{item.name(), entry_value(root, item.value())};
              };
              for (const auto& feed : entry.feed()) out.feeds.push_back(named(feed));
              for (const auto& fetch : entry.fetch()) out.fetches.push_back(named(fetch));
              for (const std::string& target : entry.target()) {
                const auto op = root.find(target);
                if (!op) fail(formatted("there is no op {:?}", target));
                out.targets.push_back(*op);
              }
            });
  }

  static ValueId entry_value(const Graph& root, const std::string& text) {
    const graph_read::Reference ref = graph_read::reference(text);
    const auto op = root.find(ref.op);
    if (!op || ref.output >= static_cast<std::uint32_t>(root.op(*op).outputs()))
      fail(formatted("there is no value {:?}", text));
    return root.op(*op).output(static_cast<int>(ref.output));
  }

  const file::GraphFile& file_;
  const OpSet& ops_;
  const TensorBeside& beside_;
  std::vector<Type> types_;
  std::vector<bool> built_;
  std::vector<std::vector<Index>> children_;
  std::vector<std::uint32_t> number_in_parent_;
  std::unordered_map<Index, Values> captured_;
};

}  // namespace

std::unique_ptr<Graph> decode_graph(std::span<const std::byte> content, GraphFormat format, std::string_view source,
                                    const OpSet& ops, const TensorBeside& beside) {
  return in_part([&] { return formatted("{:.400}", source); },
                 [&] {
                   if (content.size() > kMaxGraphBytes)
                     fail("it has " + std::to_string(content.size()) + " bytes, more than the " +
                          std::to_string(kMaxGraphBytes) + " that a graph may have");
                   google::protobuf::Arena arena;
                   auto* message = google::protobuf::Arena::CreateMessage<file::GraphFile>(&arena);
                   format == GraphFormat::binary ? parse_binary(content, *message) : parse_text(content, *message);
                   check_version(*message);
                   refuse_unknown_fields(*message);
                   std::unique_ptr<Graph> graph = Decoder(*message, ops, beside).decode();
                   check_legal(*graph);
                   return graph;
                 });
}

void check_text_head(std::span<const std::byte> begin) {
  file::GraphFile message;
  FirstError first;
  const bool whole = try_parse_text(begin, message, first);
  const auto lines = std::count(begin.begin(), begin.end(), std::byte{'\n'});
  if (!whole && first.line() < lines) refuse_text(first);
}

}  // namespace ferry
