#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <memory>

#include "base/system/clock.hpp"
#include "bench/graphs/null_graphs.hpp"

namespace ferry::bench {
namespace {

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct FlowGraph {
  FlowGraph(const NullGraph& from, int threads)
      : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)), arena(threads) {
    arena.execute([&] { graph = std::make_unique<tbb::flow::graph>(); });
    for (const auto& needs : from.needs) {
      nodes.push_back(std::make_unique<Node>(*graph, [](const tbb::flow::continue_msg&) {}));
      for (std::uint32_t need : needs) tbb::flow::make_edge(*nodes[need], *nodes.back());
    }
  }

  double run() {
    const TimePoint begin = system_clock().now();
    arena.execute([&] {
      nodes.front()->try_put({});
      graph->wait_for_all();
    });
    const auto time = std::chrono::duration<double, std::nano>(system_clock().now() - begin);
    return time.count() / static_cast<double>(nodes.size());
  }

  tbb::global_control limit;
  tbb::task_arena arena;
  std::unique_ptr<tbb::flow::graph> graph;
  std::vector<std::unique_ptr<Node>> nodes;
};

}  // namespace

NullRun null_run_by_tbb(const NullGraph& graph, int threads) {
  const auto flow = std::make_shared<FlowGraph>(graph, threads);
  return [flow] { return flow->run(); };
}

}  // namespace ferry::bench
