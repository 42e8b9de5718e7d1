// Known tensors as ops of the graph.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "graph/graph.hpp"

namespace ferry::onnx {

/// Makes a Constant of a tensor where ops are made now, once for each body: one that is used in a body is made in it,
/// not captured, so that what depends on it is known there.
class BodyConstants {
 public:
  /// `tensor`, which the model has by this name (empty: by none); the op has the name where it is free.
  [[nodiscard]] Value of(Graph& graph, const std::string& name, const Tensor& tensor);
  /// Forgets those of graphs that are thrown away.
  void forget(const std::function<bool(const Graph*)>& is_gone);

 private:
  struct Made {
    Tensor tensor;
    Value value;
  };
  std::map<std::pair<const Graph*, std::string>, Made> made_;
};

}  // namespace ferry::onnx
