#include "tests/plans/program_form.hpp"

#include <optional>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "graph/types/element_text.hpp"
#include "ops/control/comm.hpp"
#include "ops/op_set.hpp"
#include "placement/layout/mesh_parts.hpp"
#include "tests/plans/form_reader.hpp"

namespace ferry::test {
namespace {

constexpr std::string_view kCollective = "collective.";

/// The op of that type: one that users may have in graphs, or one that only planning adds.
const OpDef* op_named(std::string_view type) {
  for (const OpDef* const def : kCommOps)
    if (def->name == type) return def;
  return default_ops().find(type);
}

class ProgramReader {
 public:
  ProgramReader(std::string_view text, const Program& context) : in_(text) {
    program_.graph = context.graph;
    program_.signature = context.signature;
    program_.topology = context.topology;
    program_.kernels = context.kernels;
    program_.options = context.options;
  }

  Program read() {
    in_.expect("program of");
    program_.values.resize(in_.counted<std::size_t>("value"));
    while (in_.accept(",")) {
      if (in_.accept("placed"))
        program_.placed = true;
      else if (in_.accept("laid out"))
        laid_out_ = true;
      else
        in_.expect("apart"), program_.apart = true;
    }
    in_.end_line();
    if (program_.placed) program_.feed_homes.resize(program_.signature->feeds.size(), kNone);
    if (in_.accept("auto mesh")) auto_mesh();
    while (in_.accept("task")) serving();
    while (in_.sees("halo") || in_.sees("rows")) in_.accept("halo") ? halo() : (in_.expect("rows"), rows());
    if (in_.accept("in no region")) {
      in_.end_line();
      while (!in_.sees("region")) (void)node();
    }
    while (!in_.at_end()) region();
    return std::move(program_);
  }

 private:
  void auto_mesh() {
    AutoMesh& mesh = program_.auto_mesh.emplace();
    in_.expect("[");
    mesh.axes = in_.numbers();
    in_.expect("]");
    mesh.replicates_variables = in_.accept("whole variables");
    if (in_.accept("at")) program_.auto_where = where();
    in_.end_line();
    while (in_.accept("variable")) {
      const OpId variable = named(*program_.graph, in_.name());
      mesh.variables.emplace(variable, in_.layout());
      in_.end_line();
    }
  }

  void serving() {
    ProgramServing& serving = program_.servings.emplace_back();
    serving.task = in_.number<std::int32_t>();
    in_.expect("serves tasks");
    serving.workers = in_.ranges();
    in_.expect("at most");
    serving.staleness = in_.number();
    in_.expect("apart");
    in_.end_line();
  }

  void halo() {
    if (in_.number<std::size_t>() != program_.halos.size()) in_.fail("halos in order before this");
    ProgramHalo& halo = program_.halos.emplace_back();
    if (!(halo.got = in_.accept("got"))) in_.expect("given");
    along(halo.axis, halo.dim, halo.halo);
  }

  void rows() {
    const auto number = in_.number<std::size_t>();
    if (number > program_.rows.size()) in_.fail("rows in order before this");
    if (number == program_.rows.size()) program_.rows.emplace_back();
    ProgramRows& rows = program_.rows[number].emplace_back();
    along(rows.axis, rows.dim, rows.halo);
  }

  void along(std::size_t& axis, std::size_t& dim, Halo& halo) {
    in_.expect("axis");
    axis = in_.number<std::size_t>();
    in_.expect("dim");
    dim = in_.number<std::size_t>();
    in_.expect("whole");
    halo.whole = in_.number();
    in_.expect("over");
    halo.parts = in_.number();
    in_.expect("reads");
    while (in_.sees("(")) halo.reads.push_back(in_.reads());
    in_.end_line();
  }

  void region() {
    in_.expect("region");
    if (in_.number<std::size_t>() != program_.regions.size()) in_.fail("regions in order before this");
    ProgramRegion region;
    region.kind =
        static_cast<Region::Kind>(in_.one_of(names_of<Region::Kind, Region::Kind::tile>(), "the kind of the region"));
    if (in_.accept("(")) {
      region.parameters = references();
      in_.expect(") -> (");
      region.results = references();
      in_.expect(")");
    }
    in_.end_line();
    while (!in_.at_end() && !in_.sees("region")) region.order.push_back(node());
    program_.regions.push_back(std::move(region));
  }

  std::vector<PValueId> references() {
    const std::vector<std::uint32_t> numbers = in_.references();
    return {numbers.begin(), numbers.end()};
  }

  NodeId node() {
    const auto id = static_cast<NodeId>(program_.nodes.size());
    Node node;
    outputs(node, id);
    const std::string what = in_.until("(");
    in_.expect("(");
    const std::vector<PValueId> inputs = references();
    in_.expect(")");
    node.first_input = static_cast<std::uint32_t>(program_.operands.size());
    node.inputs = static_cast<std::uint32_t>(inputs.size());
    for (const PValueId input : inputs) check(input);
    program_.operands.insert(program_.operands.end(), inputs.begin(), inputs.end());
    kind(node, what);
    std::optional<Attrs> added = detail(node, what);
    for (const PValueId output : node.outputs) {
      if (output != node.outputs.first) in_.expect(",");
      value(output);
    }
    if (in_.accept("@")) node.where = where();
    node.once = in_.accept("once");
    if (in_.accept("by")) program_.chosen.ways.emplace(id, way());
    if (in_.accept("turn")) turn(id);
    in_.expect("#");
    op(node, what, in_.rest());
    in_.end_line();
    if (added) node.attrs = &program_.added_attrs.emplace_back(std::move(*added));
    finish(node);
    program_.nodes.push_back(node);
    return id;
  }

  Way way() {
    Way way;
    while (!in_.accept("->")) way.inputs.push_back(in_.layout());
    while (in_.sees("[")) way.outputs.push_back(in_.layout());
    const bool slides = in_.accept("sliding");
    for (std::size_t axis = 0; axis < program_.auto_mesh->axes.size(); ++axis)
      way.slides.push_back(!slides || in_.accept("-") ? kNone : in_.number<std::uint32_t>());
    return way;
  }

  void check(PValueId value) const {
    if (value >= program_.values.size()) in_.fail("numbers of values below that in the first line before this");
  }

  void outputs(Node& node, NodeId id) {
    const std::vector<PValueId> outputs = references();
    if (outputs.empty()) return;
    node.outputs = {outputs[0], static_cast<std::uint32_t>(outputs.size())};
    for (std::uint32_t k = 0; k < outputs.size(); ++k) {
      check(outputs[k]);
      if (outputs[k] != node.outputs[k]) in_.fail("outputs with successive numbers before this");
      program_.values[outputs[k]].producer = id;
    }
    in_.expect("=");
  }

  /// Sets the kind of nodes without an OpDef; the others get theirs by op().
  void kind(Node& node, const std::string& what) const {
    if (what == "transfer") node.kind = NodeKind::transfer;
    if (what == "copy") node.kind = NodeKind::copy;
    if (what.starts_with(kCollective)) node.kind = NodeKind::collective;
    if (what == "fetch") node.kind = NodeKind::fetch;
  }

  std::optional<Attrs> detail(Node& node, const std::string& what) {
    if (node.kind == NodeKind::collective) collective(node, std::string_view(what).substr(kCollective.size()));
    if (in_.accept("regions")) {
      node.detail = in_.number<std::uint32_t>();
      in_.expect(",");
      if (in_.number<std::uint32_t>() != node.detail + 1) in_.fail("two successive regions before this");
    }
    if (in_.accept("home")) home_ = where();
    if (in_.accept("port")) node.detail = in_.number<std::uint32_t>();
    if (in_.accept("of")) {
      const std::string name = in_.name();
      node.graph = body();
      node.op = named(*node.graph, name);
    }
    if (!in_.accept("{")) return {};
    Attrs attrs;
    while (!in_.accept("}")) {
      const std::string name = in_.word();
      attrs.set(name, attr());
      if (!in_.sees("}")) in_.expect(";");
    }
    return attrs;
  }

  AttrValue attr() {
    static constexpr std::string_view kKindNames[] = {"bool",   "int",   "float", "string", "ints",
                                                      "floats", "dtype", "shape", "tensor", "subgraph"};
    switch (in_.one_of(kKindNames, "the kind of an attribute")) {
      case 0:
        if (in_.accept("true")) return true;
        in_.expect("false");
        return false;
      case 1:
        return in_.number();
      case 2:
        return in_.decimal();
      case 3:
        return in_.name();
      case 4:
        return list<std::int64_t>([&] { return in_.number(); });
      case 5:
        return list<double>([&] { return in_.decimal(); });
      case 6:
        return in_.dtype();
      case 8:
        return tensor();
      default:
        in_.fail("another kind of attribute, as no pass adds one of this kind");
    }
  }

  template <class T, class F>
  std::vector<T> list(F one) {
    std::vector<T> values;
    in_.expect("[");
    while (!in_.accept("]")) {
      if (!values.empty()) in_.expect(",");
      values.push_back(one());
    }
    return values;
  }

  Tensor tensor() {
    const Type type = in_.type();
    Tensor tensor(type.dtype, type.shape.sizes());
    const std::size_t size = size_of(type.dtype);
    in_.expect("(");
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if (i > 0) in_.expect(",");
      const std::string text = in_.until(",)");
      if (parse_element(text, type.dtype, tensor.mutable_bytes().data() + static_cast<std::size_t>(i) * size) !=
          NumberFault::none)
        in_.fail("a number of the dtype before this");
    }
    in_.expect(")");
    return tensor;
  }

  CollectiveKind collective_kind(std::string_view name) const {
    const auto names = names_of<CollectiveKind, CollectiveKind::reduce>();
    const auto* const found = std::ranges::find(names, name);
    if (found == names.end()) in_.fail("the kind of a collective before this");
    return static_cast<CollectiveKind>(found - names.begin());
  }

  void collective(Node& node, std::string_view kind) {
    static constexpr std::string_view kReduces[] = {"sum", "max", "min"};
    ProgramCollective collective;
    collective.kind = collective_kind(kind);
    if (!in_.sees("over")) collective.reduce = static_cast<Reduce>(1 + in_.one_of(kReduces, "sum, max, min or over"));
    in_.expect("over");
    collective.members.grouping = program_.intern(in_.groups());
    if (in_.accept("root")) collective.members.root = in_.number<std::int32_t>();
    collective.members.guest_root = in_.accept("guest");
    if (in_.accept("dim")) collective.dim = in_.number<std::int16_t>();
    node.detail = static_cast<std::uint32_t>(program_.collectives.size());
    program_.collectives.push_back(collective);
  }

  void value(PValueId id) {
    PValue& value = program_.values[id];
    value.type = in_.type();
    if (in_.sees("[")) value.layout = program_.intern(in_.layout());
    if (in_.accept("wanted")) {
      LayoutHint& hint = program_.hints[id];
      hint.layout = in_.layout();
      hint.causes.assign(hint.layout.size(), kNone);
    }
    if (in_.accept("laid")) program_.chosen.laid.emplace(id, in_.layout());
    if (in_.accept("converted")) program_.chosen.converted.emplace(id, in_.layout());
    if (in_.accept("halo")) value.halo = in_.number<std::uint32_t>();
    if (in_.accept("rows")) value.rows = in_.number<std::uint32_t>();
    elsewhere_.push_back({});
    if (in_.accept("at")) elsewhere_.back() = in_.accept("none") ? WhereId(kNone) : where();
    if (in_.accept("for")) {
      const std::string name = in_.name();
      value.graph = body();
      value.value = value.graph->value_named(name);
    }
  }

  /// The graph that the line names next; the outermost one if it names none.
  const Graph* body() { return graph(in_.accept("in body") ? in_.word() : ""); }

  OpId named(const Graph& graph, const std::string& name) const {
    const std::optional<OpId> found = graph.find(name);
    if (!found) in_.fail("the name of an op of the graph before this");
    return *found;
  }

  const Graph* graph(const std::string& path) const {
    const Graph* graph = program_.graph;
    if (path.empty()) return graph;
    for (const std::string_view part : split(path, '.')) {
      const std::uint32_t index = in_.number_in(part);
      if (index >= graph->subgraphs()) in_.fail("a body that is there before this");
      graph = &graph->subgraph({index});
    }
    return graph;
  }

  WhereId where() {
    Where where;
    if (in_.accept("mesh[")) {
      where.axes = in_.numbers();
      in_.expect("]/");
    } else {
      in_.expect("/task:");
      where.tasks = {in_.number<std::int32_t>()};
      in_.expect("/");
    }
    where.kind = static_cast<DeviceKind>(in_.one_of(names_of<DeviceKind, DeviceKind::gpu>(), "a kind of device"));
    in_.expect(":");
    where.index = in_.number<std::int32_t>();
    if (in_.accept("{")) {
      where.tasks = in_.ranges();
      in_.expect("}");
    }
    return in_.accept("of") ? part(where, this->where()) : program_.intern(std::move(where));
  }

  /// The part of the mesh with the same tasks and axes.
  WhereId part(const Where& wanted, WhereId mesh) {
    const std::size_t axes = program_.wheres[mesh].axes.size();
    const std::size_t corner = program_.wheres[mesh].position(wanted.tasks[0]);
    for (std::uint32_t mask = 0; mask < 1U << axes; ++mask) {
      Axes taken(axes);
      for (std::size_t axis = 0; axis < axes; ++axis) taken[axis] = (mask >> axis & 1U) != 0;
      const WhereId found = part_of_mesh(program_, mesh, corner, taken);
      const Where& part = program_.wheres[found];
      if (part.tasks == wanted.tasks && part.axes == wanted.axes) return found;
    }
    in_.fail("a part of the mesh before this");
  }

  void turn(NodeId id) {
    ProgramTurn& turn = program_.turns[id];
    turn.serving = in_.number<std::uint32_t>();
    in_.expect(".");
    turn.worker = in_.number<std::uint32_t>();
    if (!(turn.take = in_.accept("take"))) in_.expect("give");
  }

  /// Finds the op of the graph that the node is, or whose value it moves.
  void op(Node& node, const std::string& what, const std::string& comment) {
    const std::size_t body = comment.rfind(" in body ");
    if (node.kind != NodeKind::compute) {
      const PValue& moved = program_.values[program_.inputs(node)[0]];
      if (moved.graph == nullptr) in_.fail("an input that an earlier node makes before this");
      if (node.graph != nullptr) return;
      node.graph = moved.graph;
      node.op = moved.graph->producer(moved.value);
      return;
    }
    node.graph = graph(body == std::string::npos ? "" : comment.substr(body + 9));
    node.op = named(*node.graph, comment.substr(0, body));
    const Op op = node.graph->op(node.op);
    node.def = op.def().name == what ? &op.def() : op_named(what);
    if (node.def == nullptr) in_.fail("the type of an op before this");
    node.attrs = &op.attrs();
    node.kind = kind_of(node);
  }

  static NodeKind kind_of(const Node& node) {
    switch (node.def->role) {
      case OpRole::input:
        return NodeKind::feed;
      case OpRole::variable:
        return NodeKind::variable;
      case OpRole::assign:
        return NodeKind::assign;
      case OpRole::parameter:
        return NodeKind::parameter;
      default:
        return !node.def->is(kControlFlow) ? NodeKind::compute
               : node.attrs->has("body")   ? NodeKind::loop
                                           : NodeKind::branch;
    }
  }

  /// Sets what follows from the rest of the line.
  void finish(Node& node) {
    for (std::uint32_t k = 0; k < node.outputs.count; ++k) {
      PValue& value = program_.values[node.outputs[k]];
      value.where = elsewhere_[k].value_or(laid_out_ ? node.where : WhereId(kNone));
      if (value.graph != nullptr) continue;
      if (node.def == nullptr) {
        const PValue& moved = program_.values[program_.inputs(node)[k]];
        value.graph = moved.graph;
        value.value = moved.value;
      } else {
        value.graph = node.graph;
        value.value = node.graph->op(node.op).output(static_cast<int>(k));
      }
    }
    elsewhere_.clear();
    if (node.kind == NodeKind::feed) feed(node);
  }

  void feed(Node& node) {
    const std::vector<Signature::Feed>& feeds = program_.signature->feeds;
    const ValueId value = program_.values[node.outputs[0]].value;
    node.detail = 0;
    while (node.detail < feeds.size() && feeds[node.detail].value != value) ++node.detail;
    if (node.detail == feeds.size()) in_.fail("an input that is fed before this");
    if (home_) program_.feed_homes[node.detail] = *home_;
    home_.reset();
  }

  FormReader in_;
  Program program_;
  bool laid_out_ = false;                          // values have devices
  std::vector<std::optional<WhereId>> elsewhere_;  // of the line's outputs: their devices, if they are not the node's
  std::optional<WhereId> home_;                    // of the line's feed
};

}  // namespace

Program parse_program(std::string_view text, const Program& context) {
  return ProgramReader(text, context).read();
}

}  // namespace ferry::test
