#include "tests/executor/one_task.hpp"

#include <cstdlib>

#include "executor/job/job_state.hpp"
#include "executor/session/session.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/random_graph.hpp"

namespace ferry::test {
namespace {

struct Outcome {
  std::vector<Tensor> fetched;
  RunStats stats;
};

constexpr int kGpus = 2;  // that a task has if they are simulated

/// Makes plans send values of GPUs by way of the hosts, in chunks of 64 bytes.
void send_in_chunks(Topology& topology) {
  topology.on_host.latency_seconds = topology.host_gpu.latency_seconds = 0;
  for (TaskInfo& task : topology.tasks) task.gpu_group = task.memory_group = -1;
}

Outcome run(std::uint64_t seed, int tasks, std::int64_t fuse_from, int steps, bool simulated = false) {
  const RandomGraph made = random_graph(seed, 10 + static_cast<int>(seed % 50), tasks, simulated ? kGpus : 0);
  ClusterOptions job{.tasks = tasks, .threads = 1, .jobs = ""};
  if (simulated) job.simulated = seed;
  const Cluster cluster = Cluster::connect(std::move(job));
  if (simulated && seed % 3 == 0) send_in_chunks(cluster.state().topology);
  SessionOptions options;
  options.plan.fuse_from = fuse_from;
  if (std::getenv("FERRY_TEST_COMPILE") != nullptr) options.run.compile_after = 0;
  Session session(*made.graph, cluster, options);
  RunRequest request;
  request.fetches = made.fetches;
  request.targets = made.targets;
  request.steps = steps;
  for (const Value& input : made.inputs) request.feeds[input.name()] = tensor_for(seed, input);
  std::vector<Tensor> fetched = session.run(request);
  return {std::move(fetched), session.stats()};
}

/// The fetches if the ops of the graph run one by one, without a plan.
std::vector<Tensor> evaluated(std::uint64_t seed, int steps) {
  const RandomGraph made = random_graph(seed, 10 + static_cast<int>(seed % 50), 1);
  Evaluator evaluator(*made.graph);
  Evaluator::Feeds feeds;
  for (const Value& input : made.inputs) feeds[std::string(input.name())] = tensor_for(seed, input);
  for (int step = 1; step < steps; ++step) static_cast<void>(evaluator.run(made.fetches, feeds, made.targets));
  return evaluator.run(made.fetches, feeds, made.targets);
}

}  // namespace

std::string differs_from_one_task(std::uint64_t seed, int tasks, bool simulated) {
  const int steps = simulated ? 3 : 2;  // the third step replays the work that the second step has captured
  const Outcome alone = run(seed, 1, 0, steps), spread = run(seed, tasks, seed % 2 == 0 ? 2 : 0, steps, simulated);
  for (const RunStats& stats : {alone.stats, spread.stats})
    for (const TaskStats& task : stats.tasks)
      if (task.measured != task.planned)
        return "task " + std::to_string(task.task) + " of " + std::to_string(stats.tasks.size()) + ": traffic";
  const std::vector<Tensor> unplanned = evaluated(seed, steps);
  for (std::size_t i = 0; i < alone.fetched.size(); ++i)
    if (!alone.fetched[i].same_bits(unplanned[i]))
      return "fetch " + std::to_string(i) + ": " + alone.fetched[i].str() + " on one task, " + unplanned[i].str() +
             " without a plan";
  for (std::size_t i = 0; i < alone.fetched.size(); ++i)
    if (!alone.fetched[i].same_bits(spread.fetched[i]))
      return "fetch " + std::to_string(i) + ": " + alone.fetched[i].str() + " on one task, " + spread.fetched[i].str() +
             " on " + std::to_string(tasks);
  return {};
}

}  // namespace ferry::test
