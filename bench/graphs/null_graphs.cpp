#include "bench/graphs/null_graphs.hpp"

#include <memory>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "bench/graphs/one_task.hpp"
#include "placement/planner.hpp"
#include "plan/plan.hpp"

namespace ferry::bench {
namespace {

constexpr std::int64_t kSteps = 20;

struct Job {
  Job(const NullGraph& from, int threads) {
    const Value x = graph.input("x", DType::float32, {});
    Values made;
    for (const auto& needs : from.needs) {
      Values inputs;
      for (std::uint32_t need : needs) inputs.push_back(made[need]);
      if (inputs.empty()) inputs.push_back(x);
      made.push_back(graph.add(kNothing, inputs, {}, SourceLine())[0]);
    }
    request.fetches = {made.back()};
    request.feeds["x"] = Tensor(DType::float32, {});
    request.steps = kSteps;
    session = one_task_session(graph, threads);
    require_all(from.needs.size());
  }

  /// Checks that no op was folded, merged or left out.
  void require_all(std::size_t ops) const {
    const Plan& plan = session->plan(request).plan;
    std::size_t planned = 0;
    for (const Instruction& i : plan.classes[0].instructions)
      planned += i.what == Opcode::kernel && plan.string(i.op) == kNothing.name ? 1 : 0;
    if (planned != ops) throw Error(Code::bug, "of {} ops that do nothing {} are in the plan", ops, planned);
  }

  Graph graph;
  RunRequest request;
  std::unique_ptr<Session> session;
};

}  // namespace

NullGraph null_chain(std::uint32_t ops) {
  NullGraph graph;
  graph.needs.resize(ops);
  for (std::uint32_t i = 1; i < ops; ++i) graph.needs[i] = {i - 1};
  return graph;
}

NullGraph null_random(std::uint32_t ops) {
  NullGraph graph;
  graph.needs.resize(ops);
  std::vector<bool> needed(ops, false);
  std::uint64_t state = 1;
  for (std::uint32_t i = 1; i + 1 < ops; ++i) {
    for (int k = 0; k < 2; ++k) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const auto earlier = static_cast<std::uint32_t>((state >> 33) % i);
      graph.needs[i].push_back(earlier);
      needed[earlier] = true;
    }
  }
  for (std::uint32_t i = 0; i + 1 < ops; ++i)
    if (!needed[i]) graph.needs.back().push_back(i);
  return graph;
}

NullGraph null_wavefront(std::uint32_t side) {
  NullGraph graph;
  graph.needs.resize(std::size_t{side} * side);
  for (std::uint32_t row = 0; row < side; ++row) {
    for (std::uint32_t column = 0; column < side; ++column) {
      auto& needs = graph.needs[std::size_t{row} * side + column];
      if (row > 0) needs.push_back((row - 1) * side + column);
      if (column > 0) needs.push_back(row * side + column - 1);
    }
  }
  return graph;
}

NullGraph null_wide(std::uint32_t ops) {
  NullGraph graph;
  graph.needs.resize(ops);
  for (std::uint32_t i = 1; i + 1 < ops; ++i) {
    graph.needs[i] = {0};
    graph.needs.back().push_back(i);
  }
  return graph;
}

NullRun null_run_by_ferry(const NullGraph& graph, int threads) {
  const auto job = std::make_shared<Job>(graph, threads);
  const auto ops = static_cast<double>(graph.needs.size());
  return [job, ops] {
    const TimePoint begin = system_clock().now();
    static_cast<void>(job->session->run(job->request));
    const auto time = std::chrono::duration<double, std::nano>(system_clock().now() - begin);
    return time.count() / ops / static_cast<double>(kSteps);
  };
}

}  // namespace ferry::bench
