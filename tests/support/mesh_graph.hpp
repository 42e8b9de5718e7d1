// Random graphs over meshes, for properties that must hold wherever values lie.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

struct MeshGraph {
  /// The fetches and targets of one run.
  struct Request {
    std::vector<Value> fetches;
    std::vector<Value> targets;  ///< assigns of variables
  };
  std::unique_ptr<Graph> graph;
  std::vector<Request> requests;  ///< to be run in turn
  std::vector<Value> inputs;      ///< Input ops; feed them with integers_for
  int tasks = 1;                  ///< how many its meshes and devices need
  std::string jobs;               ///< the jobs of the tasks, in the form of --jobs
};

/// A graph of about `ops` ops that depends on the seed alone; with fewer ops it is the beginning of the same graph. It
/// has values of four dtypes, some with sizes of 0 and 1 and some with a bounded first dim, and loops, branches and
/// variables. Values have no annotation, are on one task, or are on a mesh of one or two axes with a random layout. All
/// of its numbers are integers that its dtypes hold exactly, so that no order of summing changes a bit.
[[nodiscard]] MeshGraph mesh_graph(std::uint64_t seed, int ops);

/// The integers that the seed gives to an input.
[[nodiscard]] Tensor integers_for(std::uint64_t seed, const Value& input);

}  // namespace ferry::test
