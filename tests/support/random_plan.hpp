// Plans of random graphs with all that a plan may have: transfers, collectives over meshes, split values with uneven
// parts, variables, and loops and branches, some of them nested, with messages inside.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.hpp"
#include "placement/planner.hpp"
#include "plan/plan.hpp"

namespace ferry::test {

struct RandomPlanOptions {
  int ops = 12;                ///< about how many
  int tasks = 4;               ///< on all hosts
  int hosts = 1;               ///< the tasks are spread over them
  bool shares_memory = false;  ///< among the tasks of a host
  bool control = true;         ///< loops and branches
  std::int64_t fuse_from = PlanOptions().fuse_from;
};

/// The random graph on a mesh and on single tasks that random_plan() plans.
struct RandomMeshGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Value> fetches;
  std::vector<Value> targets;  ///< assigns of variables
  Topology topology;
};
[[nodiscard]] RandomMeshGraph random_mesh_graph(std::uint64_t seed, const RandomPlanOptions& options);

/// The plan of a random graph on a mesh over all tasks (of four tasks sometimes 2 × 2) and on single tasks; it depends
/// on the seed and options alone.
[[nodiscard]] Plan random_plan(std::uint64_t seed, const RandomPlanOptions& options);

}  // namespace ferry::test
