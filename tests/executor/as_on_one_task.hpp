// What random programs over a mesh have in common: they are run on one task and on several, and must give the same
// bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executor/session/session.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

/// A graph and its fetches.
struct Fetched {
  Graph graph;
  std::vector<Value> fetches;
};

/// A mesh y=rows, x=*, or x=*, and a layout of values along one or two of their first dims, as the dice fall.
struct SplitOver {
  Layout layout;
  MeshId mesh;

  SplitOver(Graph& g, Dice& dice, std::int64_t rows) {
    const bool grid = dice.one_in(2);
    layout = grid ? Layout{split(0), split(1)} : Layout{split(dice.below(2))};
    mesh = grid ? g.mesh({{"y", rows}, {"x", Mesh::kOpen}}, "/task:*") : g.mesh("x", "/task:*");
  }
};

/// build(made, seed, rows) makes the program of a seed on the mesh y=rows, x=*, or x=*. Runs it on one task and on
/// several, with `simulated` on simulated devices. There, kernels are fused on values of `fuse_from` elements and more,
/// and op by op on one task if that is given. Returns the differences, or the place where traffic is not as planned.
template <class Build>
std::string difference_from_one_task(const Build& build, std::uint64_t seed, bool simulated,
                                     std::optional<std::int64_t> fuse_from = {}) {
  static constexpr int kGrids[][2] = {{2, 1}, {1, 2}, {1, 3}, {2, 2}, {1, 5}, {2, 3}, {3, 2}, {4, 2}};
  const auto& grid = kGrids[seed % std::size(kGrids)];
  std::string wrong;
  const auto run = [&](const Fetched& made, int tasks) {
    ClusterOptions job{.tasks = tasks, .threads = 1 + static_cast<int>(seed % 2), .transport = "inproc"};
    if (simulated) job.simulated = seed;
    SessionOptions options;
    if (fuse_from) options.plan.fuse_from = tasks == 1 ? 0 : *fuse_from;
    Session session(made.graph, Cluster::connect(std::move(job)), options);
    std::vector<Tensor> got = session.run(made.fetches);
    for (const TaskStats& task : session.stats().tasks)
      if (task.measured != task.planned) wrong = "task " + std::to_string(task.task) + ": traffic";
    return got;
  };
  Fetched one, many;
  build(one, seed, 1);
  build(many, seed, grid[0]);
  const std::vector<Tensor> wanted = run(one, 1), got = run(many, grid[0] * grid[1]);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!got[i].same_bits(wanted[i]))
      return many.fetches[i].name() + " is " + got[i].type().str() + " " + got[i].str() + ", not " +
             wanted[i].type().str() + " " + wanted[i].str();
  return wrong;
}

}  // namespace ferry::test
