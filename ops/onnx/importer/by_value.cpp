#include "ops/onnx/importer/by_value.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "ops/onnx/context.hpp"

namespace ferry::onnx {
namespace {

const Graph& outermost(const Graph& graph) {
  const Graph* at = &graph;
  while (at->parent() != nullptr) at = at->parent();
  return *at;
}

/// Throws Error(usage) where a number must be known but is computed from sizes of that shape, not all of which are
/// known.
[[noreturn]] void fail_open(const Shape& shape, const Graph& graph) {
  const auto& dims = shape.dims();
  const auto open = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.known(); });
  throw Error(Code::usage, "it is computed from the sizes " + escaped(shape.str()))
      .hint("--dim " + escaped(symbol_behind(*open, graph)) + "=4, or give the sizes of the inputs");
}

/// Walks from a value to the inputs that it is computed from, also from bodies to the graphs around them.
class Search {
 public:
  Search(const Value& value, const ImportOptions& options) : options_(options), stack_{{&value.graph(), value.id()}} {}

  NeedsValues result() {
    while (!stack_.empty()) {
      const auto [graph, id] = stack_.back();
      stack_.pop_back();
      const Op op = graph->op(graph->producer(id));
      if (seen_.emplace(graph, op.id()).second) look_at(op, id);
    }
    if (found_.inputs.empty()) Context::fail("it could not be computed while importing");
    return std::move(found_);
  }

 private:
  void look_at(const Op& op, ValueId output) {
    const Graph& graph = op.graph();
    if (op.def().name == "SizeOf")
      if (const Shape& shape = graph.type(op.inputs()[0]).shape; !shape.known()) fail_open(shape, graph);
    if (op.def().role == OpRole::input) {
      add_input(std::string(op.name()));
    } else if (op.def().role == OpRole::parameter) {
      const auto captured = graph.captured_by(output);
      if (!captured) Context::fail("it changes from iteration to iteration of a loop");
      stack_.emplace_back(graph.parent(), *captured);
    } else if (op.def().is(kRandom) || op.def().is(kStateful) || op.def().is(kControlFlow)) {
      Context::fail("it is computed by " + op.str());
    }
    for (const ValueId input : op.inputs()) stack_.emplace_back(&graph, input);
  }

  void add_input(const std::string& name) {
    if (!options_.values.contains(name))
      throw Error(Code::usage, "it is computed from the values of input " + in_quotes(name))
          .hint("give the input's value: --feed " + escaped(name) + "=FILE.npy");
    found_.inputs.insert(name);
  }

  const ImportOptions& options_;
  std::vector<std::pair<const Graph*, ValueId>> stack_;
  std::set<std::pair<const Graph*, OpId>> seen_;
  NeedsValues found_;
};

}  // namespace

NeedsValues inputs_behind(const Value& value, const ImportOptions& options) {
  return Search(value, options).result();
}

void try_by_value(const Value& value, const ImportOptions& options) {
  NeedsValues found;
  try {
    found = inputs_behind(value, options);
  } catch (const Error&) {
    return;
  }
  throw found;
}

std::string symbol_behind(const Dim& dim, const Graph& graph) {
  if (!dim.symbol().empty()) return dim.symbol();
  const Graph& whole = outermost(graph);
  for (const auto& [name, entry] : whole.entries())
    for (const auto& feed : entry.feeds)
      for (const Dim& given : whole.type(feed.value).shape.dims())
        if (!given.symbol().empty()) return given.symbol();
  return "NAME";
}

}  // namespace ferry::onnx
