// Inputs of a model that are taken by their values: where something that must be known is computed from an input, the
// import begins anew with the input as a constant.
#pragma once

#include <set>
#include <string>

#include "graph/graph.hpp"
#include "ops/onnx/import.hpp"

namespace ferry::onnx {

/// Thrown where inputs must be known by their values.
struct NeedsValues {
  std::set<std::string> inputs;
};

/// The inputs by whose values `value`, of an import's graph, becomes known. Error when that is not enough, or the
/// options have no value of one of them: it says what to give.
[[nodiscard]] NeedsValues inputs_behind(const Value& value, const ImportOptions& options);

/// Throws NeedsValues if the values in the options are enough for `value` to be known; else returns.
void try_by_value(const Value& value, const ImportOptions& options);

/// The name of a dim that must be given for `dim`, of a value of this import, to be known.
[[nodiscard]] std::string symbol_behind(const Dim& dim, const Graph& graph);

}  // namespace ferry::onnx
