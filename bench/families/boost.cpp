// Training of boosted trees: the sample `boost` compared with XGBoost, each in its own process.
#include <filesystem>

#include "base/text.hpp"
#include "bench/benchmark.hpp"
#include "bench/processes/process.hpp"

namespace ferry::bench {
namespace {

constexpr int kTimes = 50;

/// The folder of the training data.
std::string data() {
  return std::filesystem::path(beside_this_program("agaricus.train.gz")).parent_path().string();
}

/// Milliseconds to train a model from rows in memory, on `tasks` tasks with one thread each.
double by_ferry(int tasks) {
  std::vector<std::string> command;
  if (tasks > 1) command = {"mpirun", "--oversubscribe", "--bind-to", "none", "-np", std::to_string(tasks)};
  command.insert(command.end(), {beside_this_program("boost"), data(), "--times", std::to_string(kTimes)});
  return std::stod(run_program(command, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}).output);
}

/// The time of XGBoost in milliseconds, with `threads` threads; nullopt if XGBoost is not installed.
std::optional<double> by_xgboost(int threads) {
  const std::string ms = run_program({"python3", "-W", "ignore", beside_this_program("boost.py"), data(),
                                      std::to_string(threads), std::to_string(kTimes)})
                             .output;
  if (trimmed(ms).empty()) return std::nullopt;
  return std::stod(ms);
}

std::vector<Figure> training(int threads) {
  if (by_xgboost(threads))
    return {compare(
        kPairs, [&] { return by_ferry(threads); }, [&] { return *by_xgboost(threads); })};
  return {measure_alone(kPairs, [&] { return by_ferry(threads); })};
}

}  // namespace

std::vector<Benchmark> boost_benchmarks() {
  std::vector<Benchmark> all;
  for (const int threads : {1, 2})
    all.push_back({"boost." + std::to_string(threads), "ms", Benchmark::Better::lower, "xgboost",
                   [threads] { return training(threads); }});
  return all;
}

}  // namespace ferry::bench
