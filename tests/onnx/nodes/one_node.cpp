#include "tests/onnx/nodes/one_node.hpp"

#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace ferry::test {

std::vector<Tensor> OneNode::run(const std::vector<Tensor>& inputs) const {
  onnx::Model model;
  model.source = "m.onnx";
  model.ir_version = 8;
  model.opsets[domain] = opset;
  onnx::ModelNode node;
  node.name = "n";
  node.op = op;
  node.domain = domain;
  node.attributes = attributes;
  onnx::ImportOptions options;
  options.evaluate = [](const Graph& graph, const Values& fetches) { return Evaluator(graph).run(fetches); };
  Evaluator::Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    node.inputs.push_back(inputs[i].defined() ? name : "");
    if (!inputs[i].defined()) continue;
    model.graph.inputs.push_back({name, inputs[i].dtype(), inputs[i].type().shape, false, ""});
    options.values.emplace(name, inputs[i]);
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back("y" + std::to_string(i));
    model.graph.outputs.push_back({node.outputs.back(), std::nullopt, std::nullopt, false, ""});
  }
  model.graph.nodes.push_back(node);
  const onnx::Imported imported = onnx::import_model(model, options);
  Values fetches;
  for (const auto& fetch : imported.graph->entries().at("predict").fetches)
    fetches.push_back(imported.graph->value(fetch.value));
  for (const auto& [name, value] : options.values) feeds.emplace(name, value);
  return Evaluator(*imported.graph).run(fetches, feeds);
}

std::string OneNode::text(const std::vector<Tensor>& inputs) const {
  return run(inputs)[0].str();
}

std::string error_of(const OneNode& node, const std::vector<Tensor>& inputs) {
  try {
    static_cast<void>(node.run(inputs));
  } catch (const Error& error) {
    return error.text();
  }
  return "";
}

Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(sizes), std::span<const float>(values));
}
Tensor longs(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(std::move(sizes), std::span<const std::int64_t>(values));
}
onnx::Attribute integer(const char* name, std::int64_t value) {
  return {name, value};
}
onnx::Attribute text(const char* name, const char* value) {
  return {name, std::string(value)};
}

}  // namespace ferry::test
