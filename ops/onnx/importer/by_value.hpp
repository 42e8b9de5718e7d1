// Inputs of a model that are taken by value: where something that must be known is computed from an input, the import
// is restarted with the input as a constant.
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

/// The inputs that determine `value`, a value of an import's graph. Error when that is not enough, or when the options
/// lack the value of one of them: it says what to give.
[[nodiscard]] NeedsValues inputs_behind(const Value& value, const ImportOptions& options);

/// Throws NeedsValues if the values in the options are enough for `value` to be known; else returns.
void try_by_value(const Value& value, const ImportOptions& options);

/// What to type so that `dim`, of a value of this import, is known: "--dim height=4", "--dim width=4". If the dim has
/// no symbol of an input, these are the open dims of the inputs that the value is computed from.
[[nodiscard]] std::set<std::string> size_options(const Value& value, const Dim& dim);
/// The same for the symbolic sizes that the integer `value` is computed from.
[[nodiscard]] std::set<std::string> sizes_behind(const Value& value, IntegerRanges& ranges);
/// "--dim height=4 --dim width=4, or give the sizes of the inputs".
[[nodiscard]] std::string sizes_hint(const std::set<std::string>& options);

}  // namespace ferry::onnx
