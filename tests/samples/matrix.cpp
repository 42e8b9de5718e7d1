// Plans and verifies every entry of graph files on every number of tasks and threads:
//
//     matrix MOST_TASKS MOST_THREADS FILE.pb…
//
// Prints a line for each plan: file, entry, tasks, threads, the exit code that `ferry check` would have, and the error,
// separated by tabs. Open sizes of inputs are taken to be 8.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/op/core_ops.hpp"
#include "kernels/kernel.hpp"
#include "ops/op_set.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"
#include "runner/options/selection.hpp"

using namespace ferry;

namespace {

Signature signature_of(const Graph& graph, const Selection& selection) {
  Signature signature;
  for (const Value& fetch : selection.request.fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : selection.request.targets) signature.targets.push_back(target.op().id());
  const std::vector<bool> needed = needed_ops(graph, selection);
  for (OpId id = 0; id < graph.size(); ++id) {
    if (!needed[id] || &graph.op(id).def() != &kInput) continue;
    const ValueId value = graph.op(id).output(0);
    std::vector<std::int64_t> sizes = graph.type(value).shape.sizes();
    for (std::int64_t& size : sizes) size = size < 0 ? 8 : size;
    signature.feeds.push_back({value, 0, std::move(sizes)});
  }
  return signature;
}

void check(const std::string& file, Graph& graph, const std::string& entry, int tasks, int threads) {
  int code = 0;
  std::string reason;
  try {
    const Selection selection = select_entry(graph, entry, {});
    const Topology topology = Topology::local(tasks, threads);
    const Verdict verdict = verify(make_plan(graph, signature_of(graph, selection), topology, cpu_kernels()).plan);
    if (!verdict.pass) reason = "the plan is refused: " + verdict.reason;
    code = static_cast<int>(verdict.pass ? Code::ok : Code::plan);
  } catch (const Error& error) {
    code = static_cast<int>(error.code());
    reason = error.text();
  }
  std::printf("%s\t%s\t%d\t%d\t%d\t%s\n", file.c_str(), entry.c_str(), tasks, threads, code,
              escaped(reason, 2000).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  for (int f = 3; f < argc; ++f) {
    const std::string file = argv[f];
    const std::unique_ptr<Graph> graph = load_graph(file, default_ops());
    std::vector<std::string> entries;
    for (const auto& [name, entry] : graph->entries()) entries.push_back(name);
    for (const std::string& entry : entries)
      for (int tasks = 1; tasks <= std::atoi(argv[1]); ++tasks)
        for (int threads = 1; threads <= std::atoi(argv[2]); ++threads) check(file, *graph, entry, tasks, threads);
  }
  return 0;
}
