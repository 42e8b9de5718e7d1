#include "runner/command/conformance.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files/files.hpp"
#include "base/files/json.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "executor/session/session.hpp"
#include "ops/onnx/import.hpp"
#include "runner/command/tensor_difference.hpp"
#include "runner/files/graph_files.hpp"

namespace ferry {
namespace {

using Result = ConformanceCase::Result;
constexpr std::uint64_t kMaxJsonBytes = 1 << 20;

std::string name_of_folder(std::string folder) {
  while (folder.size() > 1 && folder.ends_with("/")) folder.pop_back();
  return folder.substr(folder.rfind('/') + 1);
}

std::string model_of(const std::string& folder) {
  return folder + "/model.onnx";
}

Tolerance tolerance_of(const std::string& folder) {
  Tolerance tolerance;
  const std::string path = folder + "/data.json";
  if (!local_files().exists(path)) return tolerance;
  const auto json = nlohmann::json::parse(json_text(local_files().read(path, kMaxJsonBytes).text()), nullptr, false);
  if (!json.is_object()) throw Error(Code::file, "{}: no JSON object", path);
  for (const auto& [name, number] : {std::pair("rtol", &tolerance.rtol), std::pair("atol", &tolerance.atol)})
    if (json.contains(name) && json[name].is_number()) *number = json[name].get<double>();
  return tolerance;
}

/// `tensor` as bfloat16 if `dtype` is bfloat16: ONNX's cases store bfloat16 as uint16 with the same bits.
Tensor as_dtype(const Tensor& tensor, DType dtype) {
  if (dtype != DType::bfloat16 || tensor.dtype() != DType::uint16) return tensor;
  return {dtype, tensor.sizes(), std::make_shared<Tensor>(tensor), tensor.bytes()};
}

/// The path of "input_0.pb" for stem "input" and i = 0; empty when there is no such file.
std::string data_file(const std::string& folder, const std::string& stem, std::size_t i) {
  const std::string path = folder + "/" + stem + "_" + std::to_string(i) + ".pb";
  return local_files().exists(path) ? path : "";
}

/// Reads output_0.pb, output_1.pb … up to the first missing file.
std::vector<Tensor> read_outputs(const std::string& folder) {
  std::vector<Tensor> tensors;
  for (;;) {
    const std::string path = data_file(folder, "output", tensors.size());
    if (path.empty()) return tensors;
    tensors.push_back(onnx::read_tensor(path));
  }
}

/// The model's inputs by name. Leaves out optional inputs without an element, and inputs after the last file.
TensorMap read_inputs(const onnx::Model& model, const std::string& folder) {
  TensorMap tensors;
  std::size_t i = 0;
  for (const onnx::ValueDef* input : model.feeds()) {
    const std::string path = data_file(folder, "input", i++);
    if (path.empty()) break;
    const std::optional<Tensor> given = input->optional ? onnx::read_optional(path) : onnx::read_tensor(path);
    if (given) tensors.emplace(input->name, as_dtype(*given, input->dtype.value_or(given->dtype())));
  }
  if (!data_file(folder, "input", i).empty()) throw Error(Code::file, "{}: it has more inputs than its model", folder);
  return tensors;
}

std::vector<std::string> data_sets(const std::string& folder) {
  std::vector<std::string> sets;
  for (const std::string& name : local_files().list(folder))
    if (name.starts_with("test_data_set_")) sets.push_back(folder + "/" + name);
  return sets;
}

std::string refused(const onnx::Model& model) {
  for (const auto* values : {&model.graph.inputs, &model.graph.outputs})
    for (const onnx::ValueDef& value : *values)
      if (!value.refused.empty()) return formatted("{:?} is {}", value.name, as_is(value.refused));
  return {};
}

/// Places each op, also in the bodies of loops and branches, on one of two tasks.
void place_at_random(Graph& graph, std::uint64_t seed) {
  for (OpId id = 0; id < graph.size(); ++id) {
    Annotation annotation = graph.op(id).annotation();
    const std::uint64_t draw = Hasher(seed).add(graph.op(id).name()).digest();
    annotation.device = DeviceSpec::parse(draw % 2 == 0 ? "/task:0" : "/task:1");
    graph.annotate(id, annotation);
  }
  for (std::uint32_t i = 0; i < graph.subgraphs(); ++i) place_at_random(graph.subgraph(SubgraphRef{i}), seed + i + 1);
}

std::vector<Tensor> run_on(Graph& graph, int tasks, const TensorMap& feeds) {
  ClusterOptions options;
  options.tasks = tasks;
  options.threads = 1;
  options.transport = "inproc";
  Session session(graph, Cluster::connect(options));
  Values fetches;
  for (const Entry::Named& fetch : graph.entry("predict").fetches) fetches.push_back(graph.value(fetch.value));
  return session.run(fetches, feeds);
}

/// The reason why a data set fails; empty if it passes.
std::string run_data_set(const onnx::Model& model, const std::string& folder, const Tolerance& tolerance,
                         const onnx::Evaluate& evaluate, std::uint64_t seed) {
  const std::vector<Tensor> expected = read_outputs(folder);
  onnx::ImportOptions options{.sizes = {}, .values = read_inputs(model, folder), .dims = {}, .evaluate = evaluate};
  for (const auto& [name, tensor] : options.values) options.sizes.emplace(name, tensor.sizes());
  const onnx::Imported imported = onnx::import_model(model, options);
  TensorMap feeds = options.values;
  for (const std::string& name : imported.by_value) feeds.erase(name);
  const std::vector<Tensor> results = run_on(*imported.graph, 1, feeds);
  if (results.size() != expected.size())
    return std::to_string(results.size()) + " outputs, not " + std::to_string(expected.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (std::string why = difference(results[i], as_dtype(expected[i], results[i].dtype()), tolerance); !why.empty())
      return "output " + std::to_string(i) + ": " + why;
  place_at_random(*imported.graph, seed);
  const std::vector<Tensor> on_two = run_on(*imported.graph, 2, feeds);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i].same_bits(on_two[i])) return "output " + std::to_string(i) + " has other bits on two tasks";
  return {};
}

/// An error as one line.
std::string line_of(const Error& error) {
  std::string text = error.text();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

ConformanceCase run_conformance_case(const std::string& folder, std::uint64_t seed) {
  ConformanceCase result{name_of_folder(folder), Result::failed, {}};
  static const onnx::Evaluate evaluate = constant_evaluator();
  try {
    const onnx::Model model = onnx::read_model(model_of(folder));
    if (const std::string why = refused(model); !why.empty()) return {result.name, Result::skipped, why};
    const std::vector<std::string> sets = data_sets(folder);
    if (sets.empty()) return {result.name, Result::skipped, "it has no data"};
    const Tolerance tolerance = tolerance_of(folder);
    for (const std::string& set : sets) {
      result.reason = run_data_set(model, set, tolerance, evaluate, Hasher(seed).add(result.name).digest());
      if (!result.reason.empty()) return result;
    }
    result.result = Result::passed;
  } catch (const Error& error) {
    result.reason = line_of(error);
  }
  return result;
}

std::vector<std::string> conformance_folders(std::span<const std::string> given) {
  std::vector<std::string> folders;
  for (const std::string& folder : given) {
    const std::size_t before = folders.size();
    if (local_files().exists(model_of(folder))) folders.push_back(folder);
    if (folders.size() == before)
      for (const std::string& name : local_files().list(folder))
        if (const std::string inner = folder + "/" + name; local_files().exists(model_of(inner)))
          folders.push_back(inner);
    if (folders.size() == before)
      throw Error(Code::usage, "{}: neither it nor a folder in it has a model.onnx", folder);
  }
  return folders;
}

}  // namespace ferry
