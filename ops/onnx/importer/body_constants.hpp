// Known tensors as ops of the graph.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "graph/graph.hpp"

namespace ferry::onnx {

/// Makes a Constant of a known tensor in the graph or body that is being built, once for each. A body has a constant of
/// its own and does not capture it, so values computed from it in the body are known, too.
class BodyConstants {
 public:
  /// The constant for `tensor`, which has this name in the model (empty: none); the op gets the name if it is free.
  [[nodiscard]] Value of(Graph& graph, const std::string& name, const Tensor& tensor);
  /// Forgets the constants of graphs that are dropped.
  void forget(const std::function<bool(const Graph*)>& is_gone);

 private:
  struct Made {
    Tensor tensor;
    Value value;
  };
  std::map<std::pair<const Graph*, std::string>, Made> made_;
};

}  // namespace ferry::onnx
