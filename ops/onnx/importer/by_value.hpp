// Inputs of a model that are taken by value: if the import must know a value that is computed from an input, it is
// restarted with this input as a constant.
#pragma once

#include <set>
#include <string>

#include "graph/graph.hpp"
#include "ops/onnx/import.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

/// Thrown to restart the import with these inputs taken by value.
struct NeedsValues {
  std::set<std::string> inputs;
};

/// The inputs that determine `value`, a value of the graph that is being imported. Throws Error if inputs alone do not
/// determine it, or if the options lack the value of such an input; the error says what the user must give.
[[nodiscard]] NeedsValues inputs_behind(const Value& value, const ImportOptions& options);

/// Throws NeedsValues if the values of inputs in the options suffice to compute `value`; else returns.
void try_by_value(const Value& value, const ImportOptions& options);

/// The options that make `dim`, a dim of `value`, known: "--dim height=4", "--dim width=4". If no input has a dim with
/// the symbol of `dim`, the options are for the open dims of the inputs that the value is computed from.
[[nodiscard]] std::set<std::string> size_options(const Value& value, const Dim& dim);
/// The same options for the symbolic sizes that the integers in `value` are computed from.
[[nodiscard]] std::set<std::string> sizes_behind(const Value& value, IntegerRanges& ranges);
/// The hint for these options: "--dim height=4 --dim width=4, or give the sizes of the inputs".
[[nodiscard]] std::string sizes_hint(const std::set<std::string>& options);

}  // namespace ferry::onnx
