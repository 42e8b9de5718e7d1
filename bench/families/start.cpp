// The time that a user waits for the first result, and the memory that it takes.
#include "bench/benchmark.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/graph.hpp"
#include "ops/math/math.hpp"

namespace ferry::bench {
namespace {

constexpr int kRuns = 11;

/// `ferry run` of c = a + b on one task: the time from the start of the process to its end, and its peak resident
/// memory.
std::vector<Figure> first_result() {
  const ScratchFolder folder;
  const std::string file = folder.file("add.pb");
  Graph g;
  g.fetch("run", "c", g.constant({1, 2, 3}) + g.constant({10, 20, 30}));
  save_graph(g, file);
  std::vector<double> milliseconds, mebibytes;
  for (int i = 0; i < kRuns; ++i) {
    const ProgramResult run = run_program({this_program(), "run", file, "--tasks", "1"});
    milliseconds.push_back(run.seconds * 1e3);
    mebibytes.push_back(run.resident_mib);
  }
  Figure time, memory;
  time.ferry = median(milliseconds);
  memory.part = "resident";
  memory.unit = "MiB";
  memory.ferry = median(mebibytes);
  return {time, memory};
}

}  // namespace

std::vector<Benchmark> start_benchmarks() {
  return {{"start", "ms", Benchmark::Better::lower, "", first_result}};
}

}  // namespace ferry::bench
