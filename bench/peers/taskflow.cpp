#include <taskflow/taskflow.hpp>

#include <memory>

#include "base/system/clock.hpp"
#include "bench/graphs/null_graphs.hpp"

namespace ferry::bench {
namespace {

struct Flow {
  Flow(const NullGraph& from, int threads) : executor(static_cast<std::size_t>(threads)) {
    std::vector<tf::Task> tasks;
    tasks.reserve(from.needs.size());
    for (const auto& needs : from.needs) {
      tasks.push_back(graph.emplace([] {}));
      for (std::uint32_t need : needs) tasks[need].precede(tasks.back());
    }
  }

  double run() {
    const TimePoint begin = system_clock().now();
    executor.run(graph).wait();
    const auto time = std::chrono::duration<double, std::nano>(system_clock().now() - begin);
    return time.count() / static_cast<double>(graph.num_tasks());
  }

  tf::Executor executor;
  tf::Taskflow graph;
};

}  // namespace

NullRun null_run_by_taskflow(const NullGraph& graph, int threads) {
  const auto flow = std::make_shared<Flow>(graph, threads);
  return [flow] { return flow->run(); };
}

}  // namespace ferry::bench
