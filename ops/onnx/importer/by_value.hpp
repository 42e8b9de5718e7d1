// Inputs of a model that are taken by value: where something that must be known is computed from an input, the import
// is restarted with the input as a constant.
#pragma once

#include <set>
#include <string>

#include "graph/graph.hpp"
#include "ops/onnx/import.hpp"

namespace ferry::onnx {

/// Thrown to restart the import with these inputs taken by value.
struct NeedsValues {
  std::set<std::string> inputs;
};

/// The inputs whose values make `value`, of an import's graph, known. Error when that is not enough, or when the
/// options lack the value of one of them: it says what to give.
[[nodiscard]] NeedsValues inputs_behind(const Value& value, const ImportOptions& options);

/// Throws NeedsValues if the values in the options are enough for `value` to be known; else returns.
void try_by_value(const Value& value, const ImportOptions& options);

/// The symbol for which a number must be given so that `dim`, of a value of this import, is known.
[[nodiscard]] std::string symbol_behind(const Dim& dim, const Graph& graph);

}  // namespace ferry::onnx
