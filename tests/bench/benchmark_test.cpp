#include "bench/benchmark.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "base/error.hpp"
#include "bench/graphs/metg.hpp"
#include "bench/graphs/null_graphs.hpp"
#include "bench/graphs/task_graph.hpp"
#include "executor/session/session.hpp"

using namespace ferry::bench;

TEST_CASE("the median is the middle value, of an even number the upper one") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 3);
  CHECK(median({7}) == 7);
}

TEST_CASE("the ratio is the median of the pairs' ratios") {
  const Figure figure = figure_of({{1, 10}, {2, 4}, {9, 3}});
  CHECK(figure.ferry == 2);
  CHECK(figure.peer_value == 4);
  CHECK(figure.ratio == 0.5);
  CHECK(figure.pairs.size() == 3);
}

TEST_CASE("both sides are measured in turn, after a warm-up that does not count") {
  std::string order;
  double ferry = 0, peer = 0;
  const auto ours = [&] {
    order += 'f';
    return ++ferry;
  };
  const auto theirs = [&] {
    order += 'p';
    return peer += 10;
  };
  const Figure figure = compare(3, ours, theirs);
  CHECK(order == "fpfpfpfp");
  CHECK(figure.ferry == 3);
  CHECK(figure.peer_value == 30);
}

TEST_CASE("benchmarks have names of their own") {
  std::set<std::string> names;
  for (const Benchmark& benchmark : benchmarks()) {
    CAPTURE(benchmark.name);
    CHECK(names.insert(benchmark.name).second);
    CHECK(!benchmark.unit.empty());
    CHECK(benchmark.run != nullptr);
  }
}

TEST_CASE("in graphs of null ops all come to the last one, and run on both sides") {
  for (const NullGraph& graph : {null_chain(50), null_random(50), null_wavefront(7), null_wide(50)}) {
    const std::size_t ops = graph.needs.size();
    std::vector<bool> needed(ops, false);
    needed.back() = true;
    for (std::size_t i = ops; i-- > 0;) {
      CHECK(needed[i]);
      CHECK(graph.needs[i].empty() == (i == 0));
      for (std::uint32_t earlier : graph.needs[i]) {
        CHECK(earlier < i);
        needed[earlier] = true;
      }
    }
    for (int threads : {1, 2}) {
      CHECK(null_run_by_ferry(graph, threads)() > 0);
      for (const auto by_peer : {null_run_by_tbb, null_run_by_taskflow})
        if (const NullRun peer = by_peer(graph, threads)) CHECK(peer() > 0);
    }
  }
}

TEST_CASE("METG lies where half of the peak is kept, between the first grain that keeps it and the one before") {
  const std::vector<Grain> overhead_of_3 = {{1, 4}, {2, 5}, {4, 7}, {8, 11}, {16, 19}};
  CHECK(metg(overhead_of_3) == doctest::Approx(6));
  const std::vector<Grain> exact = {{1, 4}, {3, 6}, {8, 11}};
  CHECK(metg(exact) == doctest::Approx(6));
  const std::vector<Grain> no_overhead = {{1, 1}, {2, 2}};
  CHECK(metg(no_overhead) == 1);
  const std::vector<Grain> disturbed = {{1, 90}, {4, 7}, {8, 90}};
  CHECK(metg(disturbed) == 7);
  const std::vector<Grain> never = {{1, 10}, {2, 11}};
  CHECK(metg(never) == std::numeric_limits<double>::infinity());
}

TEST_CASE("Task Bench's patterns say whose payloads a task takes") {
  using Points = std::vector<std::int64_t>;
  CHECK(points_before("stencil_1d", 5, 0) == Points{0, 1});
  CHECK(points_before("stencil_1d", 5, 3) == Points{2, 3, 4});
  CHECK(points_before("nearest", 5, 3) == Points{1, 2, 3, 4, 5});
  CHECK(points_before("nearest", 5, 7) == Points{5, 6, 7});
  CHECK(points_before("all_to_all", 5, 1) == Points{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(points_before("fft", 3, 2) == Points{1, 2, 3});
  CHECK(points_before("fft", 4, 2) == Points{0, 2, 4});
  CHECK(points_before("fft", 5, 2) == Points{2, 6});
  CHECK(points_before("no_comm", 5, 4) == Points{4});
  CHECK_THROWS_AS(static_cast<void>(points_before("tree", 0, 0)), ferry::Error);
}

TEST_CASE("task graphs check every payload, on one task, two threads and two tasks, and from step to step") {
  set_iterations(2);
  for (const std::string_view pattern : patterns()) {
    CAPTURE(pattern);
    for (const auto& [tasks, threads] : {std::pair(1, 1), std::pair(1, 2), std::pair(2, 1)}) {
      ferry::Graph graph;
      ferry::RunRequest request;
      request.targets = add_task_graph(graph, pattern, 6, tasks);
      request.steps = 3;
      ferry::ClusterOptions cluster;
      cluster.tasks = tasks;
      cluster.threads = threads;
      cluster.transport = "inproc";
      ferry::SessionOptions options;
      options.run.kernels = &kernels_with_points();
      ferry::Session session(graph, ferry::Cluster::connect(cluster), options);
      static_cast<void>(session.run(request));
      for (const auto& [name, value] : session.variables()) {
        const auto* payload = reinterpret_cast<const Payload*>(value.bytes().data());
        CHECK(*payload == Payload{17, name.back() - '0'});
      }
    }
  }
  CHECK_THROWS_AS(check_payload({4, 2}, {4, 3}), ferry::Error);
  CHECK_THROWS_AS(check_payload({3, 3}, {4, 3}), ferry::Error);
}
