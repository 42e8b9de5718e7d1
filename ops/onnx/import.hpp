// Import of ONNX models: docs/guide/import.md.
//
// A model is imported for the shapes of its inputs: dims that are given are numbers, others stay symbolic. Values that
// depend on sizes and constants alone are computed while importing, so that shapes, axes and bounds become attributes
// of ferry's ops.
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
  /// Sizes of inputs, by name; other inputs have those in the model. Without sizes here, an optional input is absent,
  /// and an input that is also an initializer has its value.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> sizes;
  /// Values of inputs, which may be used where a shape depends on one; the graph then holds for these values alone.
  std::map<std::string, Tensor, std::less<>> values;
  /// Numbers for symbolic dims, by name.
  std::map<std::string, std::int64_t, std::less<>> dims;
  Evaluate evaluate;
};

struct Imported {
  std::unique_ptr<Graph> graph;       ///< with the entry "predict": the model's inputs and outputs, by their names
  std::vector<std::string> by_value;  ///< inputs that were used by value: they are constants of the graph
  std::vector<std::string> warnings;  ///< what in the model is contradictory, but does not change the results
};

/// Makes a graph of a model. Ops have the names of the values that they give, and the model's file and the number of
/// the node as their line. Error(file) lists at once all ops and dtypes that ferry does not have, or names the node
/// that is wrong; Error(usage) names a dim or an input that must be known, and says what to do.
///
///     const onnx::Model model = onnx::read_model("model.onnx");
///     std::unique_ptr<Graph> graph = onnx::import_model(model, {.evaluate = …}).graph;
[[nodiscard]] Imported import_model(const Model& model, const ImportOptions& options);

}  // namespace ferry::onnx
#pragma GCC visibility pop
