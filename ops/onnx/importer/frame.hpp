// Frame: the context of the nodes of one graph, body or function call. It has the values by their names, the versions
// of operator sets, and the call to which attributes may refer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ops/onnx/model.hpp"
#include "ops/onnx/out.hpp"

namespace ferry::onnx {

/// A body sees the names of the graphs around it; a function sees only the names of its inputs. A frame refers to the
/// frame that it was made from, and to the model, which must outlive it.
class Frame {
 public:
  /// The frame of the model's own graph.
  Frame(const GraphDef& graph, const Opsets& opsets) : graph_(&graph), opsets_(&opsets) {}
  [[nodiscard]] static Frame of_body(const GraphDef& body, const Frame& around) { return {&body, around}; }
  /// A frame that sees the names of `around`; set() can give these names other values.
  [[nodiscard]] static Frame over(const Frame& around) { return {around.graph_, around}; }
  /// The frame of the function that `node` calls. Throws Error(file) if calls are nested too deep, the function calls
  /// itself, or the node has inputs or attributes that the function does not have.
  [[nodiscard]] static Frame of_call(const Function& function, const ModelNode& node, const Frame& caller);

  void set(const std::string& name, Out item) { items_.insert_or_assign(name, std::move(item)); }
  /// The value with that name. Throws Error(file) if there is none.
  [[nodiscard]] const Out& get(const std::string& name) const;

  /// The file's declaration of the value `name`, an output of a node of this graph; null if the file does not declare
  /// it.
  [[nodiscard]] const ValueDef* declared(const std::string& name) const;
  /// Whether this is the frame of the model's own graph.
  [[nodiscard]] bool is_outermost() const { return around_ == nullptr && caller_ == nullptr; }

  /// The version of a node's operator set.
  [[nodiscard]] std::int64_t opset_of(const ModelNode& node) const { return opsets_->find(node.domain)->second; }
  /// The attribute `name` of a node. If it refers to an attribute of the function, this is the attribute of the call,
  /// or else the function's default. Null if there is none.
  [[nodiscard]] const Attribute* attribute(const ModelNode& node, std::string_view name) const;

 private:
  explicit Frame(const Opsets& opsets) : opsets_(&opsets) {}
  Frame(const GraphDef* graph, const Frame& around);

  std::unordered_map<std::string, Out> items_;
  const GraphDef* graph_ = nullptr;  ///< null for a function
  const Frame* around_ = nullptr;
  const Opsets* opsets_;
  // Set only in functions, including the bodies in them:
  const Function* function_ = nullptr;
  const ModelNode* call_ = nullptr;
  const Frame* caller_ = nullptr;
  std::size_t depth_ = 0;
};

}  // namespace ferry::onnx
