#include "tests/onnx/models.hpp"

#include <google/protobuf/text_format.h>

#include <sstream>
#include <stdexcept>

#include "base/text.hpp"
#include "ops/onnx/ferry_onnx.pb.h"

namespace ferry::test {
namespace {

int number_of(const std::string& dtype) {
  return dtype == "float32" ? 1 : dtype == "int64" ? 7 : dtype == "bool" ? 9 : std::stoi(dtype);
}

Values fetches_of(Graph& graph) {
  Values fetches;
  for (const auto& fetch : graph.entry("predict").fetches) fetches.push_back(graph.value(fetch.value));
  return fetches;
}

}  // namespace

std::string model_file(const std::string& text) {
  onnx_file::ModelProto model;
  if (!google::protobuf::TextFormat::ParseFromString(text, &model)) throw std::runtime_error("no model: " + text);
  return model.SerializeAsString();
}

std::string node(const std::string& outputs, const std::string& op, const std::string& inputs,
                 const std::string& rest) {
  std::string text = "node { op_type: '" + op + "' ";
  if (!inputs.empty())
    for (const std::string_view name : split(inputs, ',')) text += "input: '" + std::string(trimmed(name)) + "' ";
  for (const std::string_view name : split(outputs, ',')) text += "output: '" + std::string(trimmed(name)) + "' ";
  return text + rest + " } ";
}

std::string attribute(const std::string& name, const std::string& value, const std::string& kind) {
  return "attribute { name: '" + name + "' " + value + " type: " + kind + " } ";
}

std::string value(const std::string& what, const std::string& name, const std::string& dtype,
                  const std::vector<std::string>& dims) {
  std::string text = what + " { name: '" + name +
                     "' type { tensor_type { elem_type: " + std::to_string(number_of(dtype)) + " shape { ";
  for (const std::string& dim : dims) {
    const bool is_number = dim.find_first_not_of("-0123456789") == std::string::npos;
    text += "dim { " + (is_number ? "dim_value: " + dim : "dim_param: '" + dim + "'") + " } ";
  }
  return text + "} } } } ";
}

std::string initializer(const std::string& name, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& numbers) {
  std::ostringstream text;
  text << "initializer { name: '" << name << "' data_type: 7 ";
  for (const std::int64_t dim : dims) text << "dims: " << dim << " ";
  for (const std::int64_t number : numbers) text << "int64_data: " << number << " ";
  text << "} ";
  return text.str();
}

std::string model_of(const std::string& graph, const std::string& rest) {
  return model_file("ir_version: 8 opset_import { version: 18 } graph { name: 'g' " + graph + " } " + rest);
}

onnx::Model decode(const std::string& file, const std::string& folder) {
  return onnx::decode_model(std::as_bytes(std::span(file)), "m.onnx", folder);
}

onnx::ImportOptions options() {
  onnx::ImportOptions result;
  result.evaluate = [](const Graph& graph, const Values& fetches) { return Evaluator(graph).run(fetches); };
  return result;
}

std::vector<Tensor> run_model(const std::string& file, const std::map<std::string, Tensor>& feeds,
                              onnx::ImportOptions with) {
  return run_model(decode(file), feeds, std::move(with));
}

std::vector<Tensor> run_model(const onnx::Model& model, const std::map<std::string, Tensor>& feeds,
                              onnx::ImportOptions with) {
  for (const auto& [name, tensor] : feeds) {
    with.sizes[name] = tensor.sizes();
    with.values[name] = tensor;
  }
  const onnx::Imported imported = onnx::import_model(model, with);
  return Evaluator(*imported.graph).run(fetches_of(*imported.graph), Evaluator::Feeds(feeds.begin(), feeds.end()));
}

std::unique_ptr<Graph> import(const std::string& file, const onnx::ImportOptions& with) {
  return onnx::import_model(decode(file), with).graph;
}

std::vector<Tensor> run_for_all(const std::string& file, const Evaluator::Feeds& feeds,
                                const onnx::ImportOptions& with) {
  const std::unique_ptr<Graph> graph = import(file, with);
  return Evaluator(*graph).run(fetches_of(*graph), feeds);
}

Op last(const Graph& graph) {
  return graph.op(graph.producer(graph.entries().at("predict").fetches[0].value));
}

Tensor counting(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  float next = 0;
  for (float& element : tensor.mutable_data<float>()) element = next++;
  return tensor;
}

}  // namespace ferry::test
