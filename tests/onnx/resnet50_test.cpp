// Compares ResNet-50 of the sample, and ResNet-50 as an ONNX model with the same drawn weights, with what onnxruntime
// gave (resnet50/make_values.py has the formula).
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/onnx/import.hpp"
#include "runner/files/graph_files.hpp"
#include "runner/options/selection.hpp"
#include "tests/onnx/drawn.hpp"

using namespace ferry;

namespace {

const std::string kFolder = FERRY_SOURCE_ROOT "/tests/onnx/resnet50/";
const std::string kSample = FERRY_RESNET50;
constexpr std::uint64_t kImageStream = 1000, kDenseStream = 265;
constexpr std::int64_t kPixels = std::int64_t{224} * 224;
constexpr double kTolerance = 1e-4;  // of logits up to 6

Tensor moved(Tensor tensor, float by) {
  for (float& element : tensor.mutable_data<float>()) element += by;
  return tensor;
}

/// Filter, then scale, offset, mean and variance, of convolution `k` and its norm.
std::array<Tensor, 5> drawn_conv(std::uint64_t k, const std::vector<std::int64_t>& sizes, bool last) {
  const auto products = static_cast<double>(sizes[1] * sizes[2] * sizes[3]);
  return {drawn(5 * k, sizes, std::sqrt(6 / products)),
          moved(drawn(5 * k + 1, {sizes[0]}, last ? 0.1 : 0.25), last ? 0.2F : 0.75F),
          drawn(5 * k + 2, {sizes[0]}, 0.1), drawn(5 * k + 3, {sizes[0]}, 0.2),
          moved(drawn(5 * k + 4, {sizes[0]}, 0.5), 1)};
}

/// uint8 [1,3,224,224].
Tensor drawn_image() {
  const Tensor numbers = drawn(kImageStream, {1, 3, 224, 224}, 1);
  Tensor image(DType::uint8, numbers.sizes());
  auto to = image.mutable_data<std::uint8_t>().begin();
  for (const float number : numbers.data<float>())
    *to++ = static_cast<std::uint8_t>(std::floor((static_cast<double>(number) + 1) / 2 * 256));
  return image;
}

/// The image normalised by the means and deviations of ImageNet's colours.
Tensor normalised(const Tensor& image) {
  constexpr std::array<float, 3> kMeans{123.675F, 116.28F, 103.53F}, kDeviations{58.395F, 57.12F, 57.375F};
  Tensor result(DType::float32, image.sizes());
  const auto from = image.data<std::uint8_t>();
  const auto to = result.mutable_data<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t colour = i / kPixels;
    to[i] = (static_cast<float>(from[i]) - kMeans[colour]) / kDeviations[colour];
  }
  return result;
}

void check_logits(const Tensor& got) {
  std::ifstream file(kFolder + "values.json");
  const nlohmann::json wanted = nlohmann::json::parse(file)["logits"];
  REQUIRE(got.count() == static_cast<std::int64_t>(wanted.size()));
  REQUIRE(wanted.size() == 1000);
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(got.number(static_cast<std::int64_t>(i)) - wanted[i].get<double>()));
  CHECK(worst <= kTolerance);
  MESSAGE("the largest difference from onnxruntime is " << worst);
}

Session session_of(const Graph& graph, int tasks) {
  return {graph, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""})};
}

// ---- The sample ----

/// Tensors of zeros for the graph's variables.
TensorMap blank_variables(const Graph& graph) {
  TensorMap variables;
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    if (&op.def() != &kVariable) continue;
    const Type& type = graph.type(op.output(0));
    variables[std::string(op.name())] = Tensor(type.dtype, type.shape.sizes());
  }
  return variables;
}

/// The names of the sample's convolutions, in the ONNX model's order.
std::vector<std::string> conv_names() {
  std::vector<std::string> names{"first"};
  constexpr std::array<int, 4> kBlocks{3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage)
    for (int b = 0; b < kBlocks[stage]; ++b) {
      const std::string block = "stage" + std::to_string(stage + 1) + "/block" + std::to_string(b + 1);
      for (const char* conv : {"/reduce", "/spatial", "/expand"}) names.push_back(block + conv);
      if (b == 0) names.push_back(block + "/shortcut");
    }
  return names;
}

/// Sets the network's variables to drawn values. Returns the number of elements that are trained.
std::int64_t draw(TensorMap& variables) {
  constexpr std::array kNames{"/weights", "/norm/scale", "/norm/offset", "/norm/mean", "/norm/variance"};
  std::int64_t trained = 0;
  std::uint64_t k = 0;
  for (const std::string& name : conv_names()) {
    const std::vector<std::int64_t> sizes = variables.at(name + "/weights").sizes();
    const auto values = drawn_conv(k++, sizes, name.ends_with("/expand"));
    for (std::size_t v = 0; v < kNames.size(); ++v) {
      variables.at(name + kNames[v]) = values[v];
      if (v < 3) trained += values[v].count();
    }
  }
  // The model's dense weights are [outputs,inputs].
  Tensor& weights = variables.at("last/weights");
  const Tensor transposed = drawn(kDenseStream, {weights.sizes()[1], weights.sizes()[0]}, 0.05);
  const auto from = transposed.data<float>();
  const auto to = weights.mutable_data<float>();
  const auto inputs = static_cast<std::size_t>(weights.sizes()[0]), outputs = to.size() / inputs;
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < inputs; ++i) to[i * outputs + o] = from[o * inputs + i];
  variables.at("last/bias") = drawn(kDenseStream + 1, {1000}, 0.05);
  return trained + weights.count() + 1000;
}

// ---- The ONNX model ----

/// The model with drawn weights in place of constant ones, and without the softmax.
onnx::Model model_with_weights() {
  onnx::Model model = onnx::read_model(kFolder + "light_resnet50.onnx");
  onnx::GraphDef& graph = model.graph;
  std::map<std::string, Tensor> known(graph.initializers.begin(), graph.initializers.end());
  std::map<std::string, std::vector<std::int64_t>> sizes;
  std::vector<const onnx::ModelNode*> convs, norms;
  std::erase_if(graph.nodes, [](const onnx::ModelNode& node) { return node.op == "Softmax"; });
  for (const onnx::ModelNode& node : graph.nodes) {
    if (node.op == "Conv") convs.push_back(&node);
    if (node.op == "BatchNormalization") norms.push_back(&node);
    if (node.op != "ConstantOfShape") continue;
    const auto numbers = known.at(node.inputs[0]).data<std::int64_t>();
    sizes[node.outputs[0]] = {numbers.begin(), numbers.end()};
  }
  for (std::uint64_t k = 0; k < convs.size(); ++k) {
    const std::string& filter = convs[k]->inputs[1];
    const auto values = drawn_conv(k, sizes.at(filter), filter.find("branch2c") != std::string::npos);
    known[filter] = values[0];
    for (std::size_t v = 1; v < values.size(); ++v) known[norms[k]->inputs[v]] = values[v];
  }
  const onnx::ModelNode& dense = graph.nodes.back();
  for (std::size_t v = 1; v < 3; ++v)
    known[dense.inputs[v]] = drawn(kDenseStream + v - 1, sizes.at(dense.inputs[v]), 0.05);
  graph.outputs[0].name = dense.outputs[0];
  std::erase_if(graph.nodes, [](const onnx::ModelNode& node) { return node.op == "ConstantOfShape"; });
  graph.initializers.assign(known.begin(), known.end());
  std::erase_if(graph.inputs, [](const onnx::ValueDef& input) { return input.name != "gpu_0/data_0"; });
  return model;
}

}  // namespace

TEST_CASE("the sample has 25,557,032 numbers that are trained, and gives onnxruntime's logits") {
  const LoadedGraph loaded = load_any_graph(kSample, {});
  Selection predict = select_entry(*loaded.graph, "predict", {"logits"});
  predict.request.feeds["images"] = drawn_image();
  TensorMap variables = blank_variables(*loaded.graph);
  CHECK(draw(variables) == 25557032);
  Session session = session_of(*loaded.graph, 1);
  session.restore(variables);
  check_logits(session.run(predict.request)[0]);
}

TEST_CASE("the ONNX model gives onnxruntime's logits") {
  onnx::ImportOptions options;
  options.evaluate = constant_evaluator();
  const onnx::Imported imported = onnx::import_model(model_with_weights(), options);
  Graph& graph = *imported.graph;
  RunRequest request = select_entry(graph, "", {}).request;
  request.feeds["gpu_0/data_0"] = normalised(drawn_image());
  check_logits(session_of(graph, 1).run(request)[0]);
}
