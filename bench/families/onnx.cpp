// ONNX models, unchanged, run by `ferry run` and by onnxruntime, each in a process of its own.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "bench/benchmark.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "graph/types/tensor.hpp"

namespace ferry::bench {
namespace {

struct Model {
  std::string name, input;
  DType dtype;
  std::vector<std::int64_t> sizes;
  int steps;
};

/// Pseudorandom numbers from 0 to 255, the same in each run.
Tensor feed_of(const Model& model) {
  Tensor feed(model.dtype, model.sizes);
  std::uint32_t number = 1;
  dispatch(model.dtype, [&](auto zero) {
    for (auto& element : feed.mutable_data<decltype(zero)>()) {
      number = number * 1664525 + 1013904223;
      element = static_cast<decltype(zero)>(number >> 24);
    }
  });
  return feed;
}

double by_ferry(const Model& model, const std::string& feed, const std::string& stats, int threads) {
  static_cast<void>(run_program({this_program(), "run", beside_this_program(model.name + ".onnx"), "--feed",
                                 model.input + "=" + feed, "--tasks", "1", "--threads", std::to_string(threads),
                                 "--steps", std::to_string(model.steps), "--stats", stats}));
  std::ifstream file(stats);
  return nlohmann::json::parse(file)["step_seconds"]["median"].get<double>() * 1e3;
}

/// Milliseconds of a step by onnxruntime; nullopt where it is not installed.
std::optional<double> by_onnxruntime(const Model& model, const std::string& feed, int threads) {
  const std::string ms =
      run_program({"python3", "-W", "ignore", beside_this_program("onnx.py"), beside_this_program(model.name + ".onnx"),
                   model.input, feed, std::to_string(threads), std::to_string(model.steps)})
          .output;
  if (ms.empty()) return std::nullopt;
  return std::stod(ms);
}

std::vector<Figure> step(const Model& model, int threads) {
  const ScratchFolder folder;
  const std::string feed = folder.file("feed.npy"), stats = folder.file("stats.json");
  const Tensor tensor = feed_of(model);
  write_npy(local_files(), feed, model.dtype == DType::int32 ? "<i4" : "<f4", tensor.sizes(), tensor.bytes());
  const auto ferry = [&] { return by_ferry(model, feed, stats, threads); };
  if (by_onnxruntime(model, feed, threads))
    return {compare(kPairs, ferry, [&] { return *by_onnxruntime(model, feed, threads); })};
  return {alone(kPairs, ferry)};
}

}  // namespace

std::vector<Benchmark> onnx_benchmarks() {
  static const Model kModels[] = {{"magika", "bytes", DType::int32, {2, 2048}, 40},
                                  {"light_squeezenet", "data_0", DType::float32, {1, 3, 224, 224}, 60}};
  std::vector<Benchmark> all;
  for (const Model& model : kModels)
    for (const int threads : {1, 2})
      all.push_back({"onnx." + model.name + "." + std::to_string(threads), "ms", Benchmark::Better::lower,
                     "onnxruntime", [&model, threads] { return step(model, threads); }});
  return all;
}

}  // namespace ferry::bench
