// NodeContext: the Context for the conversion of one node of a model. It looks up the node's inputs in a frame, and
// everything else in the import.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/onnx/context.hpp"
#include "ops/onnx/importer/frame.hpp"
#include "ops/onnx/importer/import_services.hpp"

namespace ferry::onnx {

class NodeContext final : public Context {
 public:
  /// The converter makes ops in `graph`: the import's graph, or a scratch graph in which the node is computed while
  /// importing. All arguments must outlive the context.
  NodeContext(ImportServices& services, Graph& graph, const ModelNode& node, const Frame& frame)
      : Context(graph, node, frame.opset_of(node)), services_(services), frame_(frame) {}

  bool has(int i) const override;
  Value in(int i) override;
  Type type(int i) override;
  Tensor constant(int i) override;
  Tensor constant_if(int i) override;
  std::vector<Number> numbers(int i) override;
  Value of_size(const std::string& symbol) override;
  std::string sizes_hint(int i, const Dim& dim) override;
  [[noreturn]] void fail_unbounded(const Number& number) override;
  void take_by_value(int i) override;
  std::vector<Out> build(const GraphDef& body, std::span<const Out> inputs) override;
  std::vector<BodyValue> infer_outputs(const GraphDef& body, std::span<const BodyValue> inputs) override;
  std::optional<std::int64_t> given_size(int i) override;
  Out out(int i) override;
  Value value(const Out& out) override;

 private:
  const Attribute* attribute(std::string_view name) const override;
  const std::string& name(int i) const { return node().inputs[i]; }
  const Out& item(int i) const;

  ImportServices& services_;
  const Frame& frame_;
};

}  // namespace ferry::onnx
