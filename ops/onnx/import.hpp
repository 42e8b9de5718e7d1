// Import of ONNX models: docs/guide/import.md.
//
// A model is imported for specific shapes of its inputs: dims for which the user gives a size become numbers, other
// dims stay symbolic. Values that depend only on sizes and constants are computed while importing, so that shapes, axes
// and bounds become attributes of ferry's ops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/model.hpp"

#pragma GCC visibility push(default)
namespace ferry::onnx {

/// Computes the fetches of a graph of constants and pure ops, as a session does.
using Evaluate = std::function<std::vector<Tensor>(const Graph& graph, const Values& fetches)>;

struct ImportOptions {
  /// Shapes of inputs, by name. Other inputs have the shapes that the model declares. Without an entry here, an
  /// optional input is absent, and an input that is also an initializer has the initializer's value.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> sizes;
  /// Values of inputs, by name. If a shape depends on the values of an input, the input becomes a constant with the
  /// value given here, and the graph is valid only for this value.
  std::map<std::string, Tensor, std::less<>> values;
  /// Numbers for symbolic dims, by name.
  std::map<std::string, std::int64_t, std::less<>> dims;
  Evaluate evaluate;
};

struct Imported {
  std::unique_ptr<Graph> graph;       ///< with the entry "predict": the model's inputs and outputs, by their names
  std::vector<std::string> by_value;  ///< inputs that were used by value: they are constants of the graph
  std::vector<std::string> warnings;  ///< contradictions in the model that do not change the results
};

/// Makes a graph from a model. An op has the name of its output in the model; its source line is the model's file with
/// the number of the node. Throws Error(file), which lists all unsupported ops and dtypes at once or names the invalid
/// node. Throws Error(usage), which names a dim or an input that must be known, with a hint.
///
///     const onnx::Model model = onnx::read_model("model.onnx");
///     std::unique_ptr<Graph> graph = onnx::import_model(model, {.evaluate = …}).graph;
[[nodiscard]] Imported import_model(const Model& model, const ImportOptions& options);

}  // namespace ferry::onnx
#pragma GCC visibility pop
