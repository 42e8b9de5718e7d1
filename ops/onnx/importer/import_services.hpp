// ImportServices: the functions of an import that the conversion of one node needs. Importer implements them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/import.hpp"
#include "ops/onnx/importer/frame.hpp"
#include "ops/onnx/model.hpp"
#include "ops/onnx/out.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

class ImportServices {
 public:
  virtual ~ImportServices() = default;

  /// Converts the nodes of a body or function; their values are in `frame`. Throws Error(file) if all calls together
  /// convert more than kMostAgain nodes.
  virtual void convert_nested(const std::vector<ModelNode>& nodes, Frame& frame) = 0;
  /// The item as a value of `graph`, in which ops are being made; `name` is its name in the model.
  [[nodiscard]] virtual Value value_in(Graph& graph, const std::string& name, const Out& item) = 0;
  /// Forgets the constants and ranges of a dropped body, and of the bodies in it.
  virtual void forget(const Graph& body) = 0;
  /// The number that the user gives for the first dim of the value with that name.
  [[nodiscard]] virtual std::optional<std::int64_t> given_size(const std::string& name) const = 0;
  [[nodiscard]] virtual IntegerRanges& ranges() = 0;
  [[nodiscard]] virtual const ImportOptions& options() const = 0;
  [[nodiscard]] virtual Graph& graph() = 0;
};

}  // namespace ferry::onnx
