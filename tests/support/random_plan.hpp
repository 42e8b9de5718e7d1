// Plans of random graphs with all that a plan may have: transfers, collectives over meshes, split values with uneven
// parts, variables, loops and branches, nested too, with messages inside.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.hpp"
#include "placement/plan/plan.hpp"
#include "placement/planner.hpp"

namespace ferry::test {

struct RandomPlanOptions {
  int ops = 12;                ///< about
  int tasks = 4;               ///< of one host
  int hosts = 1;               ///< that share the tasks
  bool shares_memory = false;  ///< the tasks of a host do
  bool control = true;         ///< loops and branches
  std::int64_t fuse_from = PlanOptions().fuse_from;
};

/// A random graph on a mesh and on single tasks, as random_plan has it.
struct RandomMeshGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Value> fetches;
  std::vector<Value> targets;  ///< assigns of variables
  Topology topology;
};
[[nodiscard]] RandomMeshGraph random_mesh_graph(std::uint64_t seed, const RandomPlanOptions& options);

/// The plan of a random graph on a mesh over all tasks (of four: 2 × 2 too) and on single tasks, that the seed alone
/// decides.
[[nodiscard]] Plan random_plan(std::uint64_t seed, const RandomPlanOptions& options);

}  // namespace ferry::test
