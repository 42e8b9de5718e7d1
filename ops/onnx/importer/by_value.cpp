#include "ops/onnx/importer/by_value.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "ops/onnx/context.hpp"

namespace ferry::onnx {
namespace {

/// Walks from a value to all ops that it is computed from. From a body, the walk continues in the graph around it.
class OpsBehind {
 public:
  OpsBehind(const Graph& graph, ValueId id) : stack_{{&graph, id}} {}

  /// Calls visit(op, output) once for each op; `output` is the output through which the walk reached the op.
  template <class Visit>
  void run(const Visit& visit) {
    while (!stack_.empty()) {
      const auto [graph, id] = stack_.back();
      stack_.pop_back();
      const Op op = graph->op(graph->producer(id));
      if (!seen_.emplace(graph, op.id()).second) continue;
      visit(op, id);
      const auto captured = op.def().role == OpRole::parameter ? graph->captured_by(id) : std::nullopt;
      if (captured) stack_.emplace_back(graph->parent(), *captured);
      for (const ValueId input : op.inputs()) stack_.emplace_back(graph, input);
    }
  }

 private:
  std::vector<std::pair<const Graph*, ValueId>> stack_;
  std::set<std::pair<const Graph*, OpId>> seen_;
};

/// "--shape x=4,3,4": the option for the shape of an input, with 4 for dims that are not known.
std::string shape_option(const Op& input, const Shape& shape) {
  std::vector<std::string> sizes;
  for (const Dim& dim : shape.dims()) sizes.push_back(dim.known() ? std::to_string(dim.size()) : "4");
  return formatted("--shape {}={}", input.name(), as_is(join(sizes, ",")));
}

std::set<std::string> size_options(const Graph& graph, ValueId id, const Dim& dim) {
  std::set<std::string> symbols, unnamed;  // symbols of inputs' open dims; options for open dims without a symbol
  OpsBehind(graph, id).run([&](const Op& op, ValueId output) {
    if (op.def().role != OpRole::input) return;
    const Shape& shape = op.graph().type(output).shape;
    for (const Dim& open : shape.dims()) {
      if (!open.symbol().empty()) symbols.insert(open.symbol());
      if (!open.known() && open.symbol().empty()) unnamed.insert(shape_option(op, shape));
    }
  });
  if (symbols.contains(dim.symbol())) {
    symbols = {dim.symbol()};
    unnamed.clear();
  } else {  // the dim is computed: ask for symbols that are not in the value's own shape, if there are any
    const std::set<std::string> all = symbols;
    for (const Dim& other : graph.type(id).shape.dims()) symbols.erase(other.symbol());
    if (symbols.empty() && unnamed.empty()) symbols = all;
  }
  if (unnamed.empty())
    for (const std::string& symbol : symbols) unnamed.insert(formatted("--dim {}=4", symbol));
  return unnamed;
}

/// Throws Error(usage) for a number that must be known: it is computed from the sizes of the value `id`, and some of
/// these sizes are not known.
[[noreturn]] void fail_open(const Graph& graph, ValueId id) {
  const Shape& shape = graph.type(id).shape;
  const auto& dims = shape.dims();
  const auto open = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return !dim.known(); });
  throw Error(Code::usage, "it is computed from the sizes {}", shape.str())
      .hint(sizes_hint(size_options(graph, id, *open)));
}

/// Finds the inputs that a value is computed from.
class InputSearch {
 public:
  explicit InputSearch(const ImportOptions& options) : options_(options) {}

  NeedsValues result(const Value& value) {
    OpsBehind(value.graph(), value.id()).run([&](const Op& op, ValueId output) { look_at(op, output); });
    if (found_.inputs.empty()) Context::fail("it could not be computed while importing");
    return std::move(found_);
  }

 private:
  void look_at(const Op& op, ValueId output) {
    const Graph& graph = op.graph();
    if (op.def().name == "SizeOf" && !graph.type(op.inputs()[0]).shape.known()) fail_open(graph, op.inputs()[0]);
    if (op.def().role == OpRole::input) {
      add_input(std::string(op.name()));
    } else if (op.def().role == OpRole::parameter) {
      if (!graph.captured_by(output)) Context::fail("it changes from iteration to iteration of a loop");
    } else if (op.def().is(kRandom) || op.def().is(kStateful) || op.def().is(kControlFlow)) {
      Context::fail("it is computed by " + op.str());
    }
  }

  void add_input(const std::string& name) {
    if (!options_.values.contains(name))
      throw Error(Code::usage, "it is computed from the values of input {:?}", name)
          .hint("give the input's value: --feed {}=FILE.npy", name);
    found_.inputs.insert(name);
  }

  const ImportOptions& options_;
  NeedsValues found_;
};

}  // namespace

NeedsValues inputs_behind(const Value& value, const ImportOptions& options) {
  return InputSearch(options).result(value);
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

std::set<std::string> sizes_behind(const Value& value, IntegerRanges& ranges) {
  std::set<std::string> options;
  std::set<ValueId> seen;
  Values stack{value};
  while (!stack.empty()) {
    const Value next = stack.back();
    stack.pop_back();
    if (!seen.insert(next.id()).second) continue;
    bool only_sizes = true;
    for (const IntegerRange& range : ranges.of(next)) {
      for (const std::string& symbol : range.symbols) options.insert(formatted("--dim {}=4", symbol));
      only_sizes = only_sizes && !range.symbols.empty();
    }
    if (only_sizes) continue;
    for (const ValueId input : next.op().inputs()) stack.push_back(next.graph().value(input));
  }
  return options;
}

std::set<std::string> size_options(const Value& value, const Dim& dim) {
  return size_options(value.graph(), value.id(), dim);
}

std::string sizes_hint(const std::set<std::string>& options) {
  const std::vector<std::string> list(options.begin(), options.end());
  return (list.empty() ? "" : join(list, " ") + ", or ") + "give the sizes of the inputs";
}

}  // namespace ferry::onnx
