#include "graph/legality.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/graph_facts.hpp"
#include "graph/op/core_ops.hpp"
#include "graph/op/infer.hpp"

namespace ferry {
namespace {

[[noreturn]] void fail(const Op& op, const std::string& why) {
  throw Error(Code::plan, "{:?} ({}): {}", op.name(), op.def().name, as_is(why)).at(op.line());
}

void require(bool holds, const Op& op, const char* why) {
  if (!holds) fail(op, why);
}

/// Whether the types are equal. A size that is not known equals any size.
bool compatible(const Type& a, const Type& b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return false;
  for (int d = 0; d < a.shape.rank(); ++d)
    if (a.shape[d].known() && b.shape[d].known() && a.shape[d] != b.shape[d]) return false;
  return true;
}

/// Checks one graph, without its bodies.
class GraphCheck {
 public:
  explicit GraphCheck(const Graph& graph) : graph_(graph), owned_(graph.subgraphs(), false) {}

  void run() {
    for (OpId id = 0; id < graph_.size(); ++id) check(graph_.op(id));
    if (graph_.parent() != nullptr) {
      check_body();
      if (!graph_.entries().empty()) throw Error(Code::plan, "a body of control flow has entries");
    }
    for (const auto& [name, entry] : graph_.entries()) check(name, entry);
  }

 private:
  void check(const Op& op) {
    check_name(op.name(), "an op's name");
    for (ValueId input : op.inputs())
      require(input < graph_.values() && graph_.producer(input) < op.id(), op, "an input does not come before it");
    for (OpId earlier : op.after()) require(earlier < op.id(), op, "a control input does not come before it");
    check_types(op);
    check_annotation(op);
    check_kind(op);
    check_bodies(op);
  }

  [[nodiscard]] const std::vector<Type>& inferred(const Op& op) {
    try {
      return inferred_.infer(op.def(), GraphFacts(op));
    } catch (const Error& error) {
      fail(op, error.text());
    }
  }

  void check_types(const Op& op) {
    const std::vector<Type>& types = inferred(op);
    require(static_cast<int>(types.size()) == op.outputs(), op, "its number of outputs is not what inference gives");
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Type& stored = op.graph().type(op.output(static_cast<int>(i)));
      if (stored != types[i])
        fail(op, "output " + std::to_string(i) + " is " + stored.str() + ", inference gives " + types[i].str());
    }
  }

  void check_annotation(const Op& op) const {
    const Annotation& annotation = op.annotation();
    if (annotation.mesh == kNoMesh) {
      require(annotation.layouts.empty(), op, "it has layouts, but is on no mesh");
      return;
    }
    require(annotation.mesh < graph_.meshes().size(), op, "its mesh is not there");
    const std::size_t axes = graph_.meshes()[annotation.mesh].axes.size();
    require(annotation.layouts.empty() || static_cast<int>(annotation.layouts.size()) == op.outputs(), op,
            "it has not one layout for each output");
    for (std::size_t i = 0; i < annotation.layouts.size(); ++i) {
      if (annotation.layouts[i].empty()) continue;  // ferry decides this layout; another output has a layout
      require(annotation.layouts[i].size() == axes, op, "a layout has not one entry for each axis of its mesh");
      const int rank = graph_.type(op.output(static_cast<int>(i))).shape.rank();
      for (const AxisLayout& axis : annotation.layouts[i]) check_axis(op, axis, rank);
    }
  }

  static void check_axis(const Op& op, const AxisLayout& axis, int rank) {
    if (axis.kind == AxisLayout::Kind::split && (axis.dim < 0 || axis.dim >= rank))
      fail(op, "a layout splits dim " + std::to_string(axis.dim) + " of a value of rank " + std::to_string(rank));
    require(axis.kind != AxisLayout::Kind::partial || axis.reduce != Reduce::none, op,
            "a partial layout does not say what joins the parts");
  }

  void check_kind(const Op& op) const {
    const OpDef* def = &op.def();
    if (def == &kParameter) return require(graph_.parent() != nullptr, op, "a parameter outside of a body");
    if (def != &kInput && def != &kVariable && def != &kAssign) return;
    require(graph_.parent() == nullptr, op, "inputs, variables and assignments cannot be in a body of control flow");
    if (def == &kVariable) {
      const Shape& shape = graph_.type(op.output(0)).shape;
      require(shape.fixed(), op, "all sizes of a variable must be known");
    }
    if (def == &kAssign)
      require(&graph_.op(graph_.producer(op.inputs()[0])).def() == &kVariable, op, "it does not assign to a variable");
  }

  void check_bodies(const Op& op) {
    const bool may_own = op.def().is(kControlFlow);
    std::size_t captures = 0;
    for (const auto& item : op.attrs()) {
      const auto* ref = std::get_if<SubgraphRef>(&item.second);
      if (ref == nullptr) continue;
      require(may_own, op, "only control flow has bodies");
      require(ref->index < graph_.subgraphs(), op, "its body is not there");
      require(!owned_[ref->index], op, "its body belongs to another op");
      owned_[ref->index] = true;
      captures += graph_.subgraph(*ref).captures().size();
    }
    if (may_own) check_arguments(op, captures);
  }

  /// Checks the inputs: a loop's carried values or a branch's predicate, followed by the values that the bodies
  /// capture.
  void check_arguments(const Op& op, std::size_t captures) const {
    const std::int64_t carried = op.attrs().get_or<std::int64_t>("carried", 0);
    const std::size_t own = carried > 0 ? static_cast<std::size_t>(carried) : 1;
    const std::span<const ValueId> inputs = op.inputs();
    require(carried >= 0 && own + captures == inputs.size(), op, "its inputs are not what its bodies take");
    std::size_t next = own;
    for (const AttrDef& attr : op.def().attrs) {
      if (attr.kind != "subgraph") continue;
      const Graph& body = graph_.subgraph(op.attrs().get<SubgraphRef>(attr.name));
      require(body.parameters().size() == static_cast<std::size_t>(carried) + body.captures().size(), op,
              "a body has not one parameter for each carried and captured value");
      for (std::int64_t i = 0; i < carried; ++i)
        require(compatible(graph_.type(inputs[i]), body.type(body.parameters()[i])), op,
                "a body takes a carried value as another type");
      for (ValueId capture : body.captures())
        require(inputs[next++] == capture, op, "its last inputs are not what its bodies capture");
    }
  }

  void check_body() const {
    const std::span<const ValueId> parameters = graph_.parameters();
    const std::span<const ValueId> captures = graph_.captures();
    const Graph& outer = *graph_.parent();
    std::size_t known = 0;
    for (OpId id = 0; id < graph_.size(); ++id) {
      if (&graph_.op(id).def() != &kParameter) continue;
      require(known < parameters.size() && parameters[known] == graph_.op(id).output(0), graph_.op(id),
              "a parameter that its body does not list");
      ++known;
    }
    if (known != parameters.size() || captures.size() > known)
      throw Error(Code::plan, "a body of control flow lists a parameter that is not there");
    for (std::size_t i = 0; i < captures.size(); ++i) {
      const ValueId inner = parameters[known - captures.size() + i];
      const Op parameter = graph_.op(graph_.producer(inner));
      require(captures[i] < outer.values(), parameter, "it captures a value that is not there");
      require(graph_.type(inner) == outer.type(captures[i]), parameter,
              "its type differs from the type of the captured value");
    }
    for (ValueId result : graph_.results())
      if (result >= graph_.values()) throw Error(Code::plan, "a body of control flow gives a value that is not there");
  }

  void check(const std::string& name, const Entry& entry) const {
    check_name(name, "an entry's name");
    const std::string where = formatted("entry {:?}", name);
    check_named(where, "feed", entry.feeds);
    check_named(where, "fetch", entry.fetches);
    for (const Entry::Named& feed : entry.feeds)
      if (&graph_.op(graph_.producer(feed.value)).def() != &kInput)
        throw Error(Code::plan, "{}: feed {:?} is no Input", as_is(where), feed.name).at(line_of(feed.value));
    for (OpId target : entry.targets)
      if (target >= graph_.size()) throw Error(Code::plan, where + ": a target is not there");
  }

  void check_named(const std::string& where, const std::string& kind, const std::vector<Entry::Named>& items) const {
    std::unordered_set<std::string_view> seen;
    for (const Entry::Named& item : items) {
      check_name(item.name, "in " + where + ", the name of a " + kind);
      if (item.value >= graph_.values())
        throw Error(Code::plan, "{}: {} {:?} is of a value that is not there", as_is(where), as_is(kind), item.name);
      if (!seen.insert(item.name).second)
        throw Error(Code::plan, "{}: {} {:?} is there twice", as_is(where), as_is(kind), item.name)
            .at(line_of(item.value))
            .hint("give each " + kind + " a name of its own");
    }
  }

  [[nodiscard]] SourceLine line_of(ValueId value) const { return graph_.op(graph_.producer(value)).line(); }

  const Graph& graph_;
  InferCache inferred_;
  std::vector<bool> owned_;
};

}  // namespace

void check_name(std::string_view name, std::string_view what) {
  const char* why = name.empty()                                ? " is empty"
                    : name.size() > kMaxNameBytes               ? " is too long"
                    : name.find('\0') != std::string_view::npos ? " has a NUL in it"
                    : !is_valid_utf8(name)                      ? " is not UTF-8"
                                                                : nullptr;
  if (why != nullptr)
    throw Error(Code::plan, "{}{}: {:?}", as_is(what), as_is(why), name)
        .hint("use 1 to {} bytes of UTF-8", kMaxNameBytes);
}

void check_legal(const Graph& graph) {
  struct Open {
    const Graph* graph;
    int depth;
  };
  std::vector<Open> open{{&graph, 0}};
  while (!open.empty()) {
    const Open next = open.back();
    open.pop_back();
    if (next.depth > kMaxNesting)
      throw Error(Code::plan, "bodies of control flow are nested more than {} deep", kMaxNesting);
    GraphCheck(*next.graph).run();
    for (std::uint32_t i = 0; i < next.graph->subgraphs(); ++i)
      open.push_back({&next.graph->subgraph({i}), next.depth + 1});
  }
}

}  // namespace ferry
