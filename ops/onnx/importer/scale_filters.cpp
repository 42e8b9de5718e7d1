#include "ops/onnx/importer/scale_filters.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace ferry::onnx {
namespace {

class Scaler {
 public:
  explicit Scaler(GraphDef& graph) : graph_(graph) {
    for (const auto& [name, tensor] : graph.initializers) known_.emplace(name, tensor);
    for (const ValueDef& input : graph.inputs) known_.erase(input.name);
    for (const ModelNode& node : graph.nodes)
      if (node.outputs.size() == 1) add_known(node);
    count_reads(graph);
  }

  void run() {
    std::unordered_map<std::string, std::size_t> makers;  // by the name of a value: the index of the Conv that makes it
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      ModelNode& node = graph_.nodes[i];
      if (node.full_op() == "Conv" && node.outputs.size() == 1) makers.emplace(node.outputs[0], i);
      if (node.full_op() != "BatchNormalization" || node.inputs.size() != 5) continue;
      const auto conv = makers.find(node.inputs[0]);
      if (conv != makers.end() && reads_[node.inputs[0]] == 1 && fold_norm(node, graph_.nodes[conv->second]))
        node = {node.name, "Identity", {}, {}, {node.inputs[0]}, {node.outputs[0]}, {}};
    }
  }

 private:
  /// Adds the output of a Constant to the known tensors, and the output of an Identity of a known tensor: exporters
  /// store equal weights once and refer to them by Identity nodes.
  void add_known(const ModelNode& node) {
    if (node.full_op() == "Constant") {
      const Attribute* const value = node.find("value");
      const auto* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(&value->value);
      if (tensor != nullptr) known_.emplace(node.outputs[0], *tensor);
    } else if (node.full_op() == "Identity" && node.inputs.size() == 1) {
      const auto same = known_.find(node.inputs[0]);
      if (same != known_.end()) known_.emplace(node.outputs[0], Tensor(same->second));
    }
  }

  void count_reads(const GraphDef& graph) {
    for (const ModelNode& node : graph.nodes) {
      for (const std::string& input : node.inputs) ++reads_[input];
      for (const GraphDef* body : node.bodies()) count_reads(*body);
    }
    for (const ValueDef& output : graph.outputs) ++reads_[output.name];
  }

  /// The float32 vector `name` with one number for each channel; null if it is not known or does not fit.
  [[nodiscard]] const Tensor* find_known(const std::string& name, std::int64_t channels) const {
    const auto found = known_.find(name);
    const bool fits = found != known_.end() && found->second.dtype() == DType::float32 && found->second.rank() == 1 &&
                      found->second.count() == channels;
    return fits ? &found->second : nullptr;
  }

  [[nodiscard]] static bool is_for_inference(const ModelNode& norm) {
    const auto is_zero = [](const Attribute* attribute) {
      const auto* number = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->value);
      return attribute == nullptr || (number != nullptr && *number == 0);
    };
    return is_zero(norm.find("training_mode")) && norm.find("spatial") == nullptr && norm.outputs.size() == 1;
  }

  /// Changes the filter and the bias of `conv` so that it also does the work of `norm`. Returns false and changes
  /// nothing if the filter, the bias or the inputs of `norm` are not known.
  bool fold_norm(const ModelNode& norm, ModelNode& conv) {
    const auto filter = conv.inputs.size() < 2 ? known_.end() : known_.find(conv.inputs[1]);
    if (filter == known_.end() || filter->second.dtype() != DType::float32 || filter->second.rank() < 3 ||
        filter->second.count() == 0 || !is_for_inference(norm))
      return false;
    const std::int64_t channels = filter->second.sizes()[0];
    const Tensor *scale = find_known(norm.inputs[1], channels), *offset = find_known(norm.inputs[2], channels),
                 *mean = find_known(norm.inputs[3], channels), *variance = find_known(norm.inputs[4], channels);
    const bool has_bias = conv.inputs.size() > 2 && !conv.inputs[2].empty();
    const Tensor* const bias = has_bias ? find_known(conv.inputs[2], channels) : nullptr;
    const bool all = scale != nullptr && offset != nullptr && mean != nullptr && variance != nullptr;
    if (!all || (has_bias && bias == nullptr)) return false;
    const Attribute* given = norm.find("epsilon");
    const double* number = given == nullptr ? nullptr : std::get_if<double>(&given->value);
    if (given != nullptr && number == nullptr) return false;
    const double epsilon = number == nullptr ? 1e-5 : *number;

    Tensor scaled(DType::float32, filter->second.sizes()), shift(DType::float32, {channels});
    const std::span<const float> taps = filter->second.data<float>();
    const auto of_channel = static_cast<std::int64_t>(taps.size()) / channels;
    for (std::int64_t k = 0; k < channels; ++k) {
      const double factor = scale->number(k) / std::sqrt(variance->number(k) + epsilon);
      const double before = bias == nullptr ? 0 : bias->number(k);
      if (!std::isfinite(factor)) return false;
      shift.mutable_data<float>()[k] = static_cast<float>(offset->number(k) + (before - mean->number(k)) * factor);
      for (std::int64_t i = k * of_channel; i < (k + 1) * of_channel; ++i)
        scaled.mutable_data<float>()[i] = static_cast<float>(taps[i] * factor);
    }
    conv.inputs.resize(3);
    conv.inputs[1] = add(norm.outputs[0] + " filter", std::move(scaled));
    conv.inputs[2] = add(norm.outputs[0] + " bias", std::move(shift));
    return true;
  }

  std::string add(std::string name, Tensor tensor) {
    while (reads_.contains(name) || known_.contains(name)) name += "'";
    known_.emplace(name, tensor);
    graph_.initializers.emplace_back(name, std::move(tensor));
    return name;
  }

  GraphDef& graph_;
  std::unordered_map<std::string, Tensor> known_;
  std::unordered_map<std::string, std::size_t> reads_;
};

}  // namespace

GraphDef scale_filters(GraphDef graph, std::int64_t opset) {
  constexpr std::int64_t kForInference = 7;  // from this version on, a single output means inference
  if (opset >= kForInference) Scaler(graph).run();
  return graph;
}

}  // namespace ferry::onnx
