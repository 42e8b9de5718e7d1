// Training steps of a network by `ferry run` and by PyTorch, each in its own processes.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/benchmark.hpp"
#include "bench/graphs/train_graphs.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"

namespace ferry::bench {
namespace {

/// The number of processes, and the number of threads of each process.
struct Setting {
  int processes = 1, threads = 1;
  [[nodiscard]] std::string str() const { return std::to_string(processes) + "x" + std::to_string(threads); }
};

struct Training {
  std::string name;
  int steps = 1;
  void (*save)(const std::string& file, int processes) = nullptr;
  int pairs = kPairs;
  std::string data = {};  ///< the folder of files that the graph reads (--data)
};

double by_ferry(const Training& training, const std::string& graph, const std::string& stats, Setting setting) {
  std::vector<std::string> command;
  if (setting.processes > 1) command = {"mpirun", "--oversubscribe", "-np", std::to_string(setting.processes)};
  command.insert(command.end(),
                 {this_program(), "run", graph, "--device", "cpu", "--threads", std::to_string(setting.threads),
                  "--steps", std::to_string(training.steps), "--stats", stats});
  if (!training.data.empty()) command.insert(command.end(), {"--data", training.data});
  static_cast<void>(run_program(command, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}));
  std::ifstream file(stats);
  return 1 / nlohmann::json::parse(file)["step_seconds"]["median"].get<double>();
}

/// Steps per second by PyTorch; nullopt if PyTorch is not installed, or has no compiler. `how`: eager or compiled.
std::optional<double> by_pytorch(const Training& training, Setting setting, const std::string& how) {
  const std::string steps = run_program({"python3", "-W", "ignore", beside_this_program("train.py"), training.name,
                                         std::to_string(setting.processes), std::to_string(setting.threads),
                                         std::to_string(training.steps), how})
                                .output;
  if (steps.empty()) return std::nullopt;
  return std::stod(steps);
}

/// Compares ferry with the faster of PyTorch's eager and compiled modes.
std::vector<Figure> train(const Training& training, Setting setting) {
  if (!training.data.empty() && !std::filesystem::is_directory(training.data))
    throw Skipped{"it reads a text in " + training.data + ", which is not there"};
  const ScratchFolder folder;
  const std::string graph = folder.file("graph.pb"), stats = folder.file("stats.json");
  training.save(graph, setting.processes);
  const auto ferry = [&] { return by_ferry(training, graph, stats, setting); };
  const std::optional<double> eager = by_pytorch(training, setting, "eager");
  if (!eager) return {measure_alone(training.pairs, ferry)};
  const std::string how = by_pytorch(training, setting, "compiled") > eager ? "compiled" : "eager";
  Figure figure = compare(training.pairs, ferry, [&] { return *by_pytorch(training, setting, how); });
  figure.peer = "PyTorch, " + how;
  return {figure};
}

}  // namespace

std::vector<Benchmark> train_benchmarks() {
  static const Training kTrainings[] = {{"mlp", 400, save_mlp},
                                        {"cnn", 40, save_cnn},
                                        {"lstm", 30, save_lstm},
                                        {"charlm", 100, save_charlm, kPairs, "/usr/share/common-licenses"},
                                        {"resnet50", 3, save_resnet50, 3}};
  std::vector<Benchmark> all;
  for (const Training& training : kTrainings)
    for (const Setting setting : {Setting{1, 1}, Setting{1, 2}, Setting{2, 1}})
      all.push_back({"train." + training.name + "." + setting.str(), "steps/s", Benchmark::Better::higher, "PyTorch",
                     [&training, setting] { return train(training, setting); }});
  return all;
}

}  // namespace ferry::bench
