// mesh_graphs FIRST COUNT [sim|auto] [FOLDER]: the random graphs over meshes of COUNT seeds, from FIRST on, against an
// evaluator that knows neither plans nor tasks. With `sim` they run on simulated devices; with `auto` ferry places them
// by itself, around the annotations that they have. All entries run in turn on one session, for two rounds; their
// fetches must have the same bits, and each task must send the traffic of its plan. No graph may be refused. Prints
// each seed that fails, with the fewest ops with which it does, and writes that graph into FOLDER.
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/error.hpp"
#include "executor/session/session.hpp"
#include "graph/file/graph_file.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/mesh_graph.hpp"

namespace {

using namespace ferry;

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.text();
  }
  return {};
}

bool simulated = false, placed_by_itself = false;

/// Messages cost almost nothing, so that placement by itself spreads small graphs, too.
PlanningCosts cheap_messages() {
  PlanningCosts costs;
  costs.compute.wait = 1;
  costs.on_host = costs.between_hosts = {.latency_seconds = 0, .bytes_per_second = 1e15};
  return costs;
}

std::string difference(std::uint64_t seed, const test::MeshGraph& made) {
  ClusterOptions job{
      .tasks = made.tasks, .threads = 1 + static_cast<int>(seed % 2), .transport = "inproc", .jobs = made.jobs};
  if (simulated) job.simulated = seed;
  if (simulated && seed % 2 == 1) job.invariant = made.tasks;  // GPUs fold sums themselves
  if (placed_by_itself) job.costs = cheap_messages();
  const Cluster cluster = Cluster::connect(std::move(job));
  SessionOptions options;
  if (placed_by_itself) options.plan.placing = Placing::automatic;
  options.plan.fuse_from = seed % 3 == 0 ? 2 : 0;
  Session session(*made.graph, cluster, options);
  test::Evaluator evaluator(*made.graph);
  TensorMap feeds;
  for (const Value& input : made.inputs) feeds[input.name()] = test::integers_for(seed, input);
  for (int round = 0; round < (simulated ? 3 : 2); ++round)  // devices: given one by one, captured, replayed
    for (std::size_t r = 0; r < made.requests.size(); ++r) {
      RunRequest request;
      request.fetches = made.requests[r].fetches;
      request.targets = made.requests[r].targets;
      request.feeds = feeds;
      std::vector<Tensor> got, wanted;
      const std::string error = error_of([&] { got = session.run(request); });
      const std::string expected = error_of([&] { wanted = evaluator.run(request.fetches, feeds, request.targets); });
      if (error.empty() != expected.empty()) return error.empty() ? "not refused: " + expected : error;
      if (!error.empty()) return {};  // both refuse: extents do not fit; the session has ended
      const std::string where = "round " + std::to_string(round) + ", request " + std::to_string(r) + ": ";
      for (std::size_t i = 0; i < got.size(); ++i)
        if (!got[i].same_bits(wanted[i]))
          return where + request.fetches[i].name() + " is " + got[i].type().str() + " " + got[i].str() + ", not " +
                 wanted[i].type().str() + " " + wanted[i].str();
      for (const TaskStats& task : session.stats().tasks)
        if (task.measured != task.planned) return where + "task " + std::to_string(task.task) + ": traffic";
    }
  return {};
}

std::string difference(std::uint64_t seed, int ops) {
  return difference(seed, test::mesh_graph(seed, ops));
}

int ops_of(std::uint64_t seed) {
  return 3 + static_cast<int>(seed * 7 % 40);
}

/// The fewest ops with which the seed's graph fails.
int fewest(std::uint64_t seed) {
  for (int ops = 0;; ++ops)
    if (ops == ops_of(seed) || !difference(seed, ops).empty()) return ops;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const std::string_view mode = argc > 3 ? argv[3] : "";
  simulated = mode == "sim";
  placed_by_itself = mode == "auto";
  const char* const folder = argc > (simulated || placed_by_itself ? 4 : 3) ? argv[argc - 1] : nullptr;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (difference(seed, ops_of(seed)).empty()) continue;
    ++failed;
    const int ops = fewest(seed);
    if (folder != nullptr)
      save_graph(*test::mesh_graph(seed, ops).graph, std::string(folder) + "/" + std::to_string(seed) + ".pbtxt");
    std::printf("seed %llu, %d ops: %s\n", static_cast<unsigned long long>(seed), ops, difference(seed, ops).c_str());
  }
  std::printf("%llu of %llu random graphs over meshes are as they should be\n",
              static_cast<unsigned long long>(count - failed), static_cast<unsigned long long>(count));
  return failed == 0 ? 0 : 1;
}
