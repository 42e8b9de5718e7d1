#include "bench/graphs/train_graphs.hpp"

#include "bench/processes/process.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/layers.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"

namespace ferry::bench {
namespace {

constexpr double kRate = 0.01;

/// A network that is being built: the output of its last layer (at first the images), and its variables so far.
struct Network {
  Graph& graph;
  Value x;
  Values variables;

  void dense(std::int64_t inputs, std::int64_t outputs) {
    const Value weights = variable("weights", {inputs, outputs});
    x = matmul(x, weights) + variable("bias", {outputs});
  }
  void convolution(std::int64_t inputs, std::int64_t outputs) {
    x = conv2d(x, variable("filter", {outputs, inputs, 5, 5}), {.padding = same_padding(5)});
    x = relu(x + variable("bias", {outputs, 1, 1}));
    x = max_pool2d(x, {2, 2}, {.strides = {2, 2}});
  }
  Value variable(const std::string& what, const Ints& sizes) {
    const std::string name = "layer" + std::to_string(variables.size() / 2) + "/" + what;
    variables.push_back(graph.variable(name, normal(graph, dims_of(sizes), 0, 0.05)));
    return variables.back();
  }
  static Shape dims_of(const Ints& sizes) { return Shape(std::span<const std::int64_t>(sizes)); }
};

void mlp(Network& network) {
  network.dense(784, 512);
  network.x = relu(network.x);
  network.dense(512, 512);
  network.x = relu(network.x);
  network.dense(512, 10);
}

void cnn(Network& network) {
  network.x = reshape(network.x, {-1, 1, 28, 28});
  network.convolution(1, 32);
  network.convolution(32, 64);
  network.x = reshape(network.x, {-1, 3136});
  network.dense(3136, 1024);
  network.x = relu(network.x);
  network.dense(1024, 10);
}

void save_step(Graph& g, const Value& loss, const Values& variables, const std::string& file) {
  for (const Value& update : momentum(loss, variables, kRate)) g.target("train", update);
  save_graph(g, file);
}

/// Saves a training step of a classifier of images: 784 numbers each, ten classes.
void save_classifier(const std::string& file, int processes, void (*build)(Network& network)) {
  constexpr std::int64_t kBatch = 64;
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  const std::int64_t rows = kBatch * processes;
  Network network{g, g.variable("images", normal(g, {rows, 784})).laid({split(0)}), {}};
  const Value labels = g.variable("labels", argmax(normal(g, {rows, 10}))).laid({split(0)});
  build(network);
  save_step(g, mean(softmax_cross_entropy(network.x, labels)), network.variables, file);
}

void save_sample(const std::string& name, std::vector<std::string> options, const std::string& file) {
  std::vector<std::string> words = {beside_this_program(name), "--save-graph", file};
  words.insert(words.end(), options.begin(), options.end());
  static_cast<void>(run_program(words));
}

}  // namespace

void save_mlp(const std::string& file, int processes) {
  save_classifier(file, processes, mlp);
}

void save_cnn(const std::string& file, int processes) {
  save_classifier(file, processes, cnn);
}

void save_lstm(const std::string& file, int processes) {
  constexpr std::int64_t kTexts = 32, kLength = 50, kCharacters = 128, kWidth = 128, kHidden = 256;
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  nn::Parameters parameters(g);
  const nn::Embedding characters(parameters, "characters", kCharacters, kWidth);
  const nn::Lstm first(parameters, "first", kWidth, kHidden), second(parameters, "second", kHidden, kHidden);
  const nn::Dense out(parameters, "out", kHidden, kCharacters);

  const Value drawn = uniform(g, {kTexts * processes, kLength + 1}, 0, kCharacters);
  const Value text = g.variable("text", cast(drawn, DType::int32)).laid({split(0)});
  const Value seen = transpose(characters(slice(text, 1, 0, kLength)), {1, 0, 2});
  const Value logits = out(second(first(seen).y).y);
  const Value next = transpose(slice(text, 1, 1, kLength + 1), {1, 0});
  save_step(g, mean(softmax_cross_entropy(logits, next)), parameters.trained(), file);
}

void save_charlm(const std::string& file, int processes) {
  save_sample("charlm", {"--tp", "1", "--batch", std::to_string(16 * processes)}, file);
}

void save_resnet50(const std::string& file, int processes) {
  save_sample("resnet50", {"--dtype", "float32", "--size", "224", "--batch", std::to_string(8 * processes)}, file);
}

}  // namespace ferry::bench
