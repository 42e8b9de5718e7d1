// The printer of programs (Program::str).
#include <algorithm>

#include "base/number_text.hpp"
#include "base/ranges.hpp"
#include "base/text.hpp"
#include "placement/program/program.hpp"
#include "plan/text/exact_text.hpp"

namespace ferry {
namespace {

/// "0.1" for the second body of the first body of the outermost graph. The path of the outermost graph is "".
std::string path_of(const Graph& graph) {
  if (graph.parent() == nullptr) return {};
  const Graph& parent = *graph.parent();
  std::uint32_t index = 0;
  while (&parent.subgraph({index}) != &graph) ++index;
  const std::string path = path_of(parent);
  return path + (path.empty() ? "" : ".") + std::to_string(index);
}

std::string in_body(const Graph& graph) {
  const std::string path = path_of(graph);
  return path.empty() ? "" : " in body " + path;
}

std::string listed(std::span<const PValueId> values) {
  std::string text;
  for (const PValueId value : values) text.append(text.empty() ? "%" : ", %") += std::to_string(value);
  return text;
}

std::string elements(const Tensor& tensor) {
  std::string text;
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    text.append(i == 0 ? "" : ",") +=
        is_float(tensor.dtype()) ? digits_text(tensor.number(i), 17) : std::to_string(tensor.integer(i));
  return text;
}

std::string attrs_text(const Attrs& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs) {
    text.append(text.empty() ? "" : "; ").append(name).append(" ").append(kind_name(value)).append(" ");
    const auto* tensor = std::get_if<Tensor>(&value);
    text += tensor == nullptr ? str(value) : tensor->type().str() + "(" + elements(*tensor) + ")";
  }
  return " {" + text + "}";
}

std::string reads_text(const Halo& halo) {
  std::string text = "whole " + std::to_string(halo.whole) + " over " + std::to_string(halo.parts) + " reads";
  for (const Reads& reads : halo.reads) text += " " + exact_text_of(reads);
  return text;
}

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {
    const auto lies_somewhere = [](const PValue& value) { return value.where != kNone; };
    laid_out_ = std::ranges::any_of(program.values, lies_somewhere);
  }

  std::string text() {
    line("program of " + plural(program_.values.size(), "value") + (program_.placed ? ", placed" : "") +
         (laid_out_ ? ", laid out" : "") + (program_.apart ? ", apart" : ""));
    auto_mesh();
    servings();
    halos();
    unordered();
    for (ProgramRegionId r = 0; r < program_.regions.size(); ++r) region(r);
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_.append(text).append("\n"); }

  /// Prints "auto mesh [2] at mesh[2]/cpu:0{0-1}", and the layouts of variables that are decided.
  void auto_mesh() {
    if (!program_.auto_mesh) return;
    const AutoMesh& mesh = *program_.auto_mesh;
    line("auto mesh " + str_of(mesh.axes) + (mesh.replicates_variables ? " whole variables" : "") +
         (program_.auto_where != kNone ? " at " + where(program_.auto_where) : ""));
    for (const auto& [variable, layout] : mesh.variables)
      line("variable " + exact_name(program_.graph->op(variable).name()) + " " + ferry::str(layout));
  }

  static std::string str_of(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> texts;
    for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
    return "[" + join(texts, ",") + "]";
  }

  void servings() {
    for (const ProgramServing& serving : program_.servings)
      line("task " + std::to_string(serving.task) + " serves tasks " + ranges(serving.workers) + " at most " +
           std::to_string(serving.staleness) + " apart");
  }

  void halos() {
    for (std::size_t i = 0; i < program_.halos.size(); ++i) {
      const ProgramHalo& halo = program_.halos[i];
      line("halo " + std::to_string(i) + (halo.got ? " got" : " given") + along(halo.axis, halo.dim) +
           reads_text(halo.halo));
    }
    for (std::size_t i = 0; i < program_.rows.size(); ++i)
      for (const ProgramRows& rows : program_.rows[i])
        line("rows " + std::to_string(i) + along(rows.axis, rows.dim) + reads_text(rows.halo));
  }

  static std::string along(std::size_t axis, std::size_t dim) {
    return " axis " + std::to_string(axis) + " dim " + std::to_string(dim) + " ";
  }

  /// Prints nodes that are in no region although other nodes still name their values, to use the sizes of the values.
  void unordered() {
    std::vector<bool> ordered(program_.nodes.size(), false);
    for (const ProgramRegion& region : program_.regions)
      for (const NodeId id : region.order) ordered[id] = true;
    std::vector<bool> named = ordered;
    for (NodeId id = static_cast<NodeId>(named.size()); id > 0; --id)
      if (named[id - 1])
        for (const PValueId input : program_.inputs(program_.nodes[id - 1]))
          named[program_.values[input].producer] = true;
    if (named != ordered) line("in no region");
    for (NodeId id = 0; id < named.size(); ++id)
      if (named[id] && !ordered[id]) node(id);
  }

  void region(ProgramRegionId r) {
    const ProgramRegion& region = program_.regions[r];
    std::string head = "region " + std::to_string(r) + " " + std::string(ferry::name_of(region.kind));
    if (r > 0) head += " (" + listed(region.parameters) + ") -> (" + listed(region.results) + ")";
    line(head);
    for (const NodeId id : region.order) node(id);
  }

  void node(NodeId id) {
    const Node& node = program_.nodes[id];
    std::string text = "  ";
    std::vector<PValueId> outputs(node.outputs.begin(), node.outputs.end());
    if (!outputs.empty()) text += listed(outputs) + " = ";
    text += what(node) + "(" + listed(program_.inputs(node)) + ")" + detail(node);
    for (const PValueId output : outputs) text += (output == outputs[0] ? " " : ", ") + value(node, output);
    if (node.where != kNone) text += " @" + where(node.where);
    if (node.once) text += " once";
    if (const auto way = program_.chosen.ways.find(id); way != program_.chosen.ways.end())
      text += way_text(way->second);
    if (const auto turn = program_.turns.find(id); turn != program_.turns.end())
      text += " turn " + std::to_string(turn->second.serving) + "." + std::to_string(turn->second.worker) +
              (turn->second.take ? " take" : " give");
    line(text + "  # " + program_.name(node) + (node.graph == program_.graph ? "" : in_body(*node.graph)));
  }

  /// " by [S(0)] [R] -> [S(0)]". If windows slide, adds for each axis the number of the dim along which they slide, or
  /// "-".
  static std::string way_text(const Way& way) {
    std::string text = " by";
    for (const Layout& input : way.inputs) text += " " + ferry::str(input);
    text += " ->";
    for (const Layout& output : way.outputs) text += " " + ferry::str(output);
    const bool slides = std::ranges::any_of(way.slides, [](std::uint32_t number) { return number != kNone; });
    if (slides) text += " sliding";
    for (const std::uint32_t number : way.slides)
      if (slides) text += number == kNone ? " -" : " " + std::to_string(number);
    return text;
  }

  [[nodiscard]] std::string what(const Node& node) const {
    if (node.def != nullptr) return std::string(node.def->name);
    std::string text(name_of(node.kind));
    if (node.kind == NodeKind::collective)
      text.append(".").append(ferry::name_of(program_.collectives[node.detail].kind));
    return text;
  }

  [[nodiscard]] std::string detail(const Node& node) const {
    std::string text;
    if (node.kind == NodeKind::collective) text = collective(program_.collectives[node.detail]);
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch)
      text = " regions " + std::to_string(node.detail) + ", " + std::to_string(node.detail + 1);
    if (node.kind == NodeKind::feed && node.detail < program_.feed_homes.size() &&
        program_.feed_homes[node.detail] != kNone)
      text = " home " + where(program_.feed_homes[node.detail]);
    if (node.kind == NodeKind::fetch) text = " port " + std::to_string(node.detail);
    if (node.def == nullptr && !is_of_input(node))
      text += " of " + exact_name(node.graph->op(node.op).name()) + in_body(*node.graph);
    if (node.attrs != nullptr && node.attrs != &node.graph->op(node.op).attrs()) text += attrs_text(*node.attrs);
    return text;
  }

  /// Whether the node's op made the value that the node moves. This is false for a fetch after another value has
  /// replaced its input, because the fetch keeps its op.
  [[nodiscard]] bool is_of_input(const Node& node) const {
    const PValue& moved = program_.values[program_.inputs(node)[0]];
    return node.graph == moved.graph && node.op == moved.graph->producer(moved.value);
  }

  [[nodiscard]] std::string collective(const ProgramCollective& what) const {
    std::string text = what.reduce == Reduce::none ? "" : " " + std::string(ferry::name_of(what.reduce));
    text += " over";
    for (const std::vector<std::int32_t>& group : program_.groupings[what.members.grouping])
      text += " {" + ranges(group) + "}";
    if (what.members.root != 0) text += " root " + std::to_string(what.members.root);
    if (what.members.guest_root) text += " guest";
    if (what.dim != 0) text += " dim " + std::to_string(what.dim);
    return text;
  }

  [[nodiscard]] std::string value(const Node& node, PValueId id) const {
    const PValue& value = program_.values[id];
    std::string text = value.type.str();
    if (!value.layout.empty()) text += ferry::str(value.layout);
    if (const auto hint = program_.hints.find(id); hint != program_.hints.end())
      text += " wanted" + ferry::str(hint->second.layout);
    if (const auto laid = program_.chosen.laid.find(id); laid != program_.chosen.laid.end())
      text += " laid" + ferry::str(laid->second);
    if (const auto once = program_.chosen.converted.find(id); once != program_.chosen.converted.end())
      text += " converted" + ferry::str(once->second);
    if (value.halo != kNone) text += " halo " + std::to_string(value.halo);
    if (value.rows != kNone) text += " rows " + std::to_string(value.rows);
    if (laid_out_ && value.where != node.where) text += value.where == kNone ? " at none" : " at " + where(value.where);
    return text + stands_for(node, id);
  }

  /// Names the value of the graph that this value represents, unless it is an op's output or the moved value.
  [[nodiscard]] std::string stands_for(const Node& node, PValueId id) const {
    const PValue& value = program_.values[id];
    const std::uint32_t k = id - node.outputs.first;
    if (node.def != nullptr) {
      const Op op = node.graph->op(node.op);
      if (value.graph == node.graph && static_cast<int>(k) < op.outputs() &&
          value.value == op.output(static_cast<int>(k)))
        return {};
    } else if (k < node.inputs) {
      const PValue& moved = program_.values[program_.inputs(node)[k]];
      if (value.graph == moved.graph && value.value == moved.value) return {};
    }
    return " for " + exact_name(value.graph->value_name(value.value)) + in_body(*value.graph);
  }

  /// "/task:0/cpu:0". For a mesh, also its tasks, and the mesh that has it as a part: "mesh[2]/cpu:0{0-1}".
  [[nodiscard]] std::string where(WhereId id) const {
    const Where& where = program_.wheres[id];
    if (where.single() && where.whole == kNone) return where.str();
    const std::string tasks = where.str() + "{" + ranges(where.tasks) + "}";
    return where.whole == kNone ? tasks : tasks + " of " + this->where(where.whole);
  }

  const Program& program_;
  bool laid_out_ = false;  // values have devices, not only nodes
  std::string out_;
};

}  // namespace

std::string_view name_of(NodeKind kind) {
  static constexpr std::string_view kNames[] = {"compute", "feed",     "variable", "assign",     "parameter", "loop",
                                                "branch",  "transfer", "copy",     "collective", "fetch"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Program::str() const {
  return ProgramPrinter(*this).text();
}

}  // namespace ferry
