// Training steps of a network, whole programs against whole programs.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/benchmark.hpp"
#include "bench/process.hpp"
#include "bench/scratch_folder.hpp"
#include "graph/graph_file.hpp"
#include "ops/broadcast.hpp"
#include "ops/linalg.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/nn.hpp"
#include "ops/optim.hpp"
#include "ops/random.hpp"
#include "ops/reduce.hpp"

namespace ferry::bench {
namespace {

constexpr int kPairs = 5;
constexpr int kSteps = 400;
constexpr std::int64_t kBatch = 64;  // of each process

/// Processes, and threads of each.
struct Setting {
  int processes = 1, threads = 1;
  [[nodiscard]] std::string str() const { return std::to_string(processes) + "x" + std::to_string(threads); }
};

/// 784-512-512-10 with momentum SGD; every process has its rows of one batch.
void save_mlp(const std::string& file, int processes) {
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  const std::int64_t rows = kBatch * processes;
  Value x = g.variable("images", normal(g, {rows, 784})).laid({split(0)});
  const Value labels = g.variable("labels", argmax(normal(g, {rows, 10}))).laid({split(0)});
  Values variables;
  const std::int64_t sizes[] = {784, 512, 512, 10};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    variables.push_back(g.variable(layer + "/weights", normal(g, {sizes[i], sizes[i + 1]}, 0, 0.05)));
    variables.push_back(g.variable(layer + "/bias", broadcast_to(g.constant(0.0F), {sizes[i + 1]})));
    x = matmul(x, variables[2 * i]) + variables[2 * i + 1];
    if (i < 2) x = relu(x);
  }
  const Value loss = mean(softmax_cross_entropy(x, labels));
  for (const Value& update : momentum(loss, variables, 0.01)) g.target("train", update);
  save_graph(g, file);
}

double by_ferry(const std::string& graph, const std::string& stats, Setting setting) {
  std::vector<std::string> command;
  if (setting.processes > 1) command = {"mpirun", "--oversubscribe", "-np", std::to_string(setting.processes)};
  for (const std::string& word :
       {this_program(), std::string("run"), graph, std::string("--threads"), std::to_string(setting.threads),
        std::string("--steps"), std::to_string(kSteps), std::string("--stats"), stats})
    command.push_back(word);
  static_cast<void>(run_program(command, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}));
  std::ifstream file(stats);
  return 1 / nlohmann::json::parse(file)["step_seconds"]["median"].get<double>();
}

/// Nothing where PyTorch is not installed.
std::optional<double> by_pytorch(Setting setting) {
  const std::string steps =
      run_program({"python3", "-W", "ignore", beside_this_program("train_mlp.py"), std::to_string(setting.processes),
                   std::to_string(setting.threads), std::to_string(kSteps)})
          .output;
  if (steps.empty()) return std::nullopt;
  return std::stod(steps);
}

std::vector<Figure> train_mlp(Setting setting) {
  const ScratchFolder folder;
  const std::string graph = folder.file("mlp.pb"), stats = folder.file("stats.json");
  save_mlp(graph, setting.processes);
  const auto ferry = [&] { return by_ferry(graph, stats, setting); };
  if (by_pytorch(setting)) return {compare(kPairs, ferry, [&] { return *by_pytorch(setting); })};
  return {alone(kPairs, ferry)};
}

}  // namespace

std::vector<Benchmark> train_benchmarks() {
  std::vector<Benchmark> all;
  for (const Setting setting : {Setting{1, 1}, Setting{1, 2}, Setting{2, 1}})
    all.push_back({"train.mlp." + setting.str(), "steps/s", Benchmark::Better::higher, "PyTorch",
                   [setting] { return train_mlp(setting); }});
  return all;
}

}  // namespace ferry::bench
