// Training steps of a network by `ferry run` and by PyTorch, each in processes of its own.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/benchmark.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/array/reshape.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"

namespace ferry::bench {
namespace {

constexpr std::int64_t kBatch = 64;  // rows for each process

/// Processes, and threads of each.
struct Setting {
  int processes = 1, threads = 1;
  [[nodiscard]] std::string str() const { return std::to_string(processes) + "x" + std::to_string(threads); }
};

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

/// 784-512-512-10.
void mlp(Network& network) {
  network.dense(784, 512);
  network.x = relu(network.x);
  network.dense(512, 512);
  network.x = relu(network.x);
  network.dense(512, 10);
}

/// 5 x 5 convolutions to 32 and 64 channels, each with 2 x 2 pooling, then 3136-1024-10.
void cnn(Network& network) {
  network.x = reshape(network.x, {-1, 1, 28, 28});
  network.convolution(1, 32);
  network.convolution(32, 64);
  network.x = reshape(network.x, {-1, 3136});
  network.dense(3136, 1024);
  network.x = relu(network.x);
  network.dense(1024, 10);
}

struct Training {
  std::string name;
  void (*build)(Network& network);
  int steps;
};

/// Saves the graph of a training step with momentum SGD; the rows of a batch are split over the processes.
void save_training(const std::string& file, const Training& training, int processes) {
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  const std::int64_t rows = kBatch * processes;
  Network network{g, g.variable("images", normal(g, {rows, 784})).laid({split(0)}), {}};
  const Value labels = g.variable("labels", argmax(normal(g, {rows, 10}))).laid({split(0)});
  training.build(network);
  const Value loss = mean(softmax_cross_entropy(network.x, labels));
  for (const Value& update : momentum(loss, network.variables, 0.01)) g.target("train", update);
  save_graph(g, file);
}

double by_ferry(const std::string& graph, const std::string& stats, Setting setting, int steps) {
  std::vector<std::string> command;
  if (setting.processes > 1) command = {"mpirun", "--oversubscribe", "-np", std::to_string(setting.processes)};
  for (const std::string& word :
       {this_program(), std::string("run"), graph, std::string("--threads"), std::to_string(setting.threads),
        std::string("--steps"), std::to_string(steps), std::string("--stats"), stats})
    command.push_back(word);
  static_cast<void>(run_program(command, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}));
  std::ifstream file(stats);
  return 1 / nlohmann::json::parse(file)["step_seconds"]["median"].get<double>();
}

/// Steps per second by PyTorch; nullopt where it is not installed.
std::optional<double> by_pytorch(const Training& training, Setting setting) {
  const std::string steps =
      run_program({"python3", "-W", "ignore", beside_this_program("train.py"), training.name,
                   std::to_string(setting.processes), std::to_string(setting.threads), std::to_string(training.steps)})
          .output;
  if (steps.empty()) return std::nullopt;
  return std::stod(steps);
}

std::vector<Figure> train(const Training& training, Setting setting) {
  const ScratchFolder folder;
  const std::string graph = folder.file("graph.pb"), stats = folder.file("stats.json");
  save_training(graph, training, setting.processes);
  const auto ferry = [&] { return by_ferry(graph, stats, setting, training.steps); };
  if (by_pytorch(training, setting)) return {compare(kPairs, ferry, [&] { return *by_pytorch(training, setting); })};
  return {alone(kPairs, ferry)};
}

}  // namespace

std::vector<Benchmark> train_benchmarks() {
  static const Training kTrainings[] = {{"mlp", mlp, 400}, {"cnn", cnn, 40}};
  std::vector<Benchmark> all;
  for (const Training& training : kTrainings)
    for (const Setting setting : {Setting{1, 1}, Setting{1, 2}, Setting{2, 1}})
      all.push_back({"train." + training.name + "." + setting.str(), "steps/s", Benchmark::Better::higher, "PyTorch",
                     [&training, setting] { return train(training, setting); }});
  return all;
}

}  // namespace ferry::bench
