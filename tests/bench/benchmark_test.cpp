#include "bench/benchmark.hpp"

#include <doctest/doctest.h>

#include <set>

#include "bench/null_graphs.hpp"

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
      if (const NullRun peer = null_run_by_tbb(graph, threads)) CHECK(peer() > 0);
    }
  }
}
