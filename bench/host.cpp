// Two tasks of one host against hand-written MPI: what a message and a sum cost.
#include <cstdio>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "bench/benchmark.hpp"
#include "bench/process.hpp"

namespace ferry::bench {
namespace {

constexpr int kPairs = 15, kWaits = 5;

/// How Open MPI may be tuned for one host. The best of them counts.
struct Tuning {
  const char* name;
  std::vector<std::string> options;
};
const std::vector<Tuning>& tunings() {
  static const std::vector<std::string> eager = {"--mca", "btl_vader_eager_limit", "32768"};
  static const std::vector<std::string> small = {"--mca", "btl_vader_eager_limit", "4096"};
  static const std::vector<std::string> no_cma = {"--mca", "btl_vader_single_copy_mechanism", "none"};
  static const auto joined = [](std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  static const std::vector<Tuning> all = {{"default", small},
                                          {"eager limit 32 KB", eager},
                                          {"no CMA", joined(small, no_cma)},
                                          {"eager limit 32 KB, no CMA", joined(eager, no_cma)}};
  return all;
}

std::vector<Pair> pairs_of(const std::string& output) {
  std::vector<Pair> pairs;
  for (std::string_view line : split(output, '\n')) {
    Pair pair;
    if (std::sscanf(std::string(line).c_str(), "%lf %lf", &pair.ferry, &pair.peer) == 2) pairs.push_back(pair);
  }
  return pairs;
}

std::vector<Pair> measured(const std::string& what, std::int64_t bytes, int pairs,
                           const std::vector<std::string>& options) {
  std::vector<std::string> command = {"mpirun", "--oversubscribe", "-np", "2"};
  command.insert(command.end(), options.begin(), options.end());
  for (const std::string& word :
       {beside_this_program("ferry-bench-tasks"), what, std::to_string(bytes), std::to_string(pairs)})
    command.push_back(word);
  const std::string output =
      run_program(command, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}).output;
  std::vector<Pair> found = pairs_of(output);
  if (found.empty()) throw Error(Code::bug, what + ": mpirun gave no figures");
  return found;
}

/// Measures in a job of two ranks for each tuning; that in which the peer was fastest counts.
std::vector<Figure> against_mpi(const std::string& what, std::int64_t bytes) {
  std::optional<Figure> best;
  for (const Tuning& tuning : tunings()) {
    Figure figure = figure_of(measured(what, bytes, kPairs, tuning.options));
    figure.peer = std::string("raw MPI, ") + tuning.name;
    if (!best || *figure.peer_value < *best->peer_value) best = figure;
  }
  return {*best};
}

struct Size {
  const char* name;
  std::int64_t bytes;
};

}  // namespace

std::vector<Benchmark> host_benchmarks() {
  std::vector<Benchmark> all;
  const auto add = [&](const std::string& what, std::initializer_list<Size> sizes) {
    for (const Size& size : sizes)
      all.push_back({what + "." + size.name, "us", Benchmark::Better::lower, "raw MPI",
                     [what, bytes = size.bytes] { return against_mpi(what, bytes); }});
  };
  const auto add_waiting = [&](const std::string& figure, const char* unit, Benchmark::Better better) {
    all.push_back(
        {"wait.2x2." + figure, unit, better, "MPI_Wait", [figure] {
           return std::vector<Figure>{figure_of(measured("wait." + figure, 4, kWaits, {"--bind-to", "none"}))};
         }});
  };
  add_waiting("latency", "us", Benchmark::Better::lower);
  add_waiting("kept", "%", Benchmark::Better::higher);
  add("hop", {{"4B", 4}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}, {"16MB", 16 << 20}});
  add("handover", {{"16MB", 16 << 20}});
  add("allreduce",
      {{"4B", 4}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}, {"16MB", 16 << 20}, {"64MB", 64 << 20}});
  return all;
}

}  // namespace ferry::bench
