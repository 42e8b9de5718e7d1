// BodyConstants: makes Constant ops of known tensors.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "graph/graph.hpp"

namespace ferry::onnx {

/// Makes a Constant op of a known tensor in the graph or body that is being built, once for each graph or body. A body
/// has its own constant instead of capturing the outer one, so values computed from it in the body are also known.
class BodyConstants {
 public:
  /// The constant for `tensor`. `name` is the tensor's name in the model (empty: it has none); the op gets this name if
  /// it is free.
  [[nodiscard]] Value of(Graph& graph, const std::string& name, const Tensor& tensor);
  /// Forgets the constants of the graphs for which `is_gone` is true: they are dropped.
  void forget(const std::function<bool(const Graph*)>& is_gone);

 private:
  struct Made {
    Tensor tensor;
    Value value;
  };
  std::map<std::pair<const Graph*, std::string>, Made> made_;
};

}  // namespace ferry::onnx
