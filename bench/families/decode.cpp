// Tokens of a language model by `ferry run` and by llama.cpp, one at a time, each in its own process.
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/benchmark.hpp"
#include "bench/graphs/decoder.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"

namespace ferry::bench {
namespace {

constexpr int kTokens = 64;

struct Decoding {
  std::string name, peer;
  Weights weights;
};

/// Milliseconds of a token by ferry.
double by_ferry(const std::string& graph, const std::string& stats, int threads) {
  static_cast<void>(
      run_program({this_program(), "run", graph, "--entry", "decode", "--tasks", "1", "--device", "cpu", "--threads",
                   std::to_string(threads), "--steps", std::to_string(kTokens), "--stats", stats}));
  std::ifstream file(stats);
  return nlohmann::json::parse(file)["step_seconds"]["median"].get<double>() * 1e3;
}

/// Milliseconds of a token by llama.cpp; nullopt if it is not installed. The first call writes the model to `model`.
std::optional<double> by_llama(const std::string& model, const Decoding& decoding, int threads) {
  const std::string ms = run_program({"python3", "-W", "ignore", beside_this_program("decode.py"), model, decoding.name,
                                      std::to_string(threads), std::to_string(kTokens)})
                             .output;
  if (ms.empty()) return std::nullopt;
  return std::stod(ms);
}

std::vector<Figure> decode(const Decoding& decoding, int threads) {
  const ScratchFolder folder;
  const std::string graph = folder.file("graph.pb"), model = folder.file("model.gguf");
  save_decoder(graph, decoding.weights);
  const auto ferry = [&] { return by_ferry(graph, folder.file("stats.json"), threads); };
  if (!by_llama(model, decoding, threads)) return {measure_alone(kPairs, ferry)};
  Figure figure = compare(kPairs, ferry, [&] { return *by_llama(model, decoding, threads); });
  figure.peer = decoding.peer;
  return {figure};
}

}  // namespace

std::vector<Benchmark> decode_benchmarks() {
  static const Decoding kDecodings[] = {{"float32", "llama.cpp, F32", Weights::float32},
                                        {"int8", "llama.cpp, Q8_0", Weights::int8}};
  std::vector<Benchmark> all;
  for (const Decoding& decoding : kDecodings)
    for (const int threads : {1, 2})
      all.push_back({"decode." + decoding.name + "." + std::to_string(threads), "ms", Benchmark::Better::lower,
                     "llama.cpp", [&decoding, threads] { return decode(decoding, threads); }});
  return all;
}

}  // namespace ferry::bench
