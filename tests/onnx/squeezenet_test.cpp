// Compares every value within SqueezeNet with what onnxruntime gave, on one task and in two stages on two tasks. The
// weights are drawn by a formula (squeezenet/make_values.py).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "executor/session/session.hpp"
#include "ops/onnx/import.hpp"
#include "runner/files/graph_files.hpp"
#include "runner/options/device_rules.hpp"
#include "tests/onnx/drawn.hpp"

using namespace ferry;

namespace {

const std::string kRoot = FERRY_SOURCE_ROOT;
constexpr std::uint64_t kImageStream = 1000;
constexpr double kTolerance = 1e-5;  // of a value's largest element

/// The model with drawn weights in place of constant ones.
onnx::Model model_with_weights() {
  onnx::Model model = onnx::read_model(kRoot + "/samples/streaming/light_squeezenet.onnx");
  onnx::GraphDef& graph = model.graph;
  std::map<std::string, Tensor> known(graph.initializers.begin(), graph.initializers.end());
  std::map<std::string, std::vector<std::int64_t>> sizes;
  for (const auto& [name, tensor] : known) sizes[name] = tensor.sizes();
  for (const onnx::ModelNode& node : graph.nodes) {
    if (node.op != "ConstantOfShape") continue;
    const auto numbers = known.at(node.inputs[0]).data<std::int64_t>();
    sizes[node.outputs[0]] = {numbers.begin(), numbers.end()};
  }
  std::erase_if(graph.nodes, [](const onnx::ModelNode& node) { return node.op == "ConstantOfShape"; });
  graph.initializers.clear();
  std::uint64_t stream = 0;
  for (const onnx::ModelNode& node : graph.nodes) {
    if (node.op != "Conv") continue;
    const std::vector<std::int64_t>& filter = sizes.at(node.inputs[1]);
    const auto products = static_cast<double>(filter[1] * filter[2] * filter[3]);
    graph.initializers.emplace_back(node.inputs[1], drawn(stream++, filter, std::sqrt(6 / products)));
    graph.initializers.emplace_back(node.inputs[2], drawn(stream++, sizes.at(node.inputs[2]), 0.05));
  }
  std::erase_if(graph.inputs, [](const onnx::ValueDef& input) { return input.name != "data_0"; });
  return model;
}

void check_value(const Tensor& got, const nlohmann::json& wanted) {
  REQUIRE(got.sizes() == wanted["shape"].get<std::vector<std::int64_t>>());
  double sum = 0, sum_of_sizes = 0, largest = 0;
  for (const float element : got.data<float>()) {
    sum += element;
    sum_of_sizes += std::abs(element);
    largest = std::max(largest, static_cast<double>(std::abs(element)));
  }
  const double bound = kTolerance * wanted["largest"].get<double>();
  CHECK(std::abs(largest - wanted["largest"].get<double>()) <= bound);
  CHECK(std::abs(sum - wanted["sum"].get<double>()) <= kTolerance * sum_of_sizes);
  for (const nlohmann::json& element : wanted["elements"])
    CHECK(std::abs(got.number(element[0].get<std::int64_t>()) - element[1].get<double>()) <= bound);
}

}  // namespace

TEST_CASE("all values within SqueezeNet are onnxruntime's, on one task and on two") {
  std::ifstream file(kRoot + "/tests/onnx/squeezenet/values.json");
  const nlohmann::json values = nlohmann::json::parse(file)["values"];
  REQUIRE(values.size() == 66);
  onnx::ImportOptions options;
  options.evaluate = constant_evaluator();
  const onnx::Imported imported = onnx::import_model(model_with_weights(), options);
  Graph& graph = *imported.graph;
  const TensorMap feeds{{"data_0", drawn(kImageStream, {1, 3, 224, 224}, 1)}};
  Values fetches;
  for (const nlohmann::json& value : values) {
    const auto op = graph.find(value["name"].get<std::string>());
    REQUIRE(op);
    fetches.push_back(graph.value(graph.op(*op).output(0)));
  }
  std::vector<Tensor> on_one;
  for (const int tasks : {1, 2}) {
    CAPTURE(tasks);
    if (tasks == 2) apply_device_rules(graph, kRoot + "/samples/streaming/rules.txt");
    Session session(graph, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""}));
    const std::vector<Tensor> got = session.run(fetches, feeds);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(values[i]["name"].get<std::string>());
      check_value(got[i], values[i]);
      CHECK((tasks == 1 || got[i].same_bits(on_one[i])));
    }
    if (tasks == 1) on_one = got;
  }
}
