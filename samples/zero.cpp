// Data parallel with the training state split over the tasks (Rajbhandari et al., 2020), in four entries that compute
// the same: `data_parallel` splits only the batch, `zero1` also the optimizer's state, `zero2` also the gradients,
// `zero3` also the weights, which are gathered again for the backward pass. The entries differ only in annotations;
// ferry finds the reduce-scatter of the gradients and the all-gathers of the weights.
//
//     build/samples/zero --tasks 4 --entry zero3 --steps 20
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <string>
#include <vector>

namespace {

using ferry::replicated;
using ferry::split;
using ferry::Value;
using ferry::Values;

constexpr std::int64_t kBatch = 96, kInputs = 20, kHidden = 36, kOutputs = 12;

/// A variable of layer `name`; split by rows if `cut`.
Value variable(ferry::Graph& g, const std::string& name, const Value& initial, bool cut) {
  return g.variable(name, initial).laid({cut ? split(0) : replicated()});
}

/// One layer. Split weights are gathered for it and again for its gradients; in between no task has them whole.
Value tanh_layer(ferry::Graph& g, const Value& x, const Value& weights, bool cut) {
  if (!cut) return ferry::tanh(ferry::matmul(x, weights));
  auto part = g.remade();
  return ferry::tanh(ferry::matmul(x, ferry::identity(weights).laid({replicated()})));
}

void add_training(ferry::Graph& g, int stage) {
  const std::string entry = stage == 0 ? "data_parallel" : "zero" + std::to_string(stage);
  auto names = g.name(entry);
  const Value x = ferry::uniform(g, {kBatch, kInputs}, -1, 1).laid({split(0)});
  const std::vector<std::int64_t> sizes{kInputs, kHidden, kOutputs};
  Values weights, speeds;
  Value y = x;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const std::string layer = "layer" + std::to_string(i + 1);
    const ferry::Shape shape{sizes[i], sizes[i + 1]};
    weights.push_back(
        variable(g, layer + "/weights", ferry::normal(g, shape, 0, 0.2, ferry::DType::float32, 7), stage >= 3));
    speeds.push_back(variable(g, layer + "/speed",
                              g.constant(ferry::Tensor(ferry::DType::float32, {sizes[i], sizes[i + 1]})), stage >= 1));
    y = tanh_layer(g, y, weights.back(), stage >= 3);
  }
  const Value wanted = ferry::slice(x, 1, 0, kOutputs) * 0.5;
  const Value loss = ferry::mean(ferry::square(y - wanted));
  const Values gradients = ferry::gradients(loss, weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Value gradient = stage >= 2 ? ferry::identity(gradients[i]).laid({split(0)}) : gradients[i];
    const Value speed = speeds[i] * 0.9 + gradient;
    g.target(entry, ferry::assign(speeds[i], speed));
    g.target(entry, ferry::assign(weights[i], weights[i] - speed * 0.5));
  }
  g.fetch(entry, "loss", loss);
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("dp"));
  for (int stage : {0, 1, 2, 3}) add_training(g, stage);
  return ferry::run_main(argc, argv, g);
}
