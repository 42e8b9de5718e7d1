// Random graphs on random placements, for properties that must hold for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.hpp"

namespace ferry::test {

struct RandomGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Value> fetches;
  std::vector<Value> targets;  ///< assigns of variables
  std::vector<Value> inputs;   ///< Input ops; feed them with tensor_for
};

/// A graph of about `ops` ops that depends on the seed alone: elementwise ops, matrix products, reductions, reshapes,
/// slices and variables of several dtypes, some with sizes of 0 and 1. Ops have no annotation or are on one of `tasks`
/// tasks (at most four). If tasks have `gpus`, ops are on a GPU, on the CPU or on the default device. With tasks = 1
/// and gpus = 0 it is the same graph, all on task 0.
[[nodiscard]] RandomGraph random_graph(std::uint64_t seed, int ops, int tasks, int gpus = 0);

/// The tensor that the seed gives to an input.
[[nodiscard]] Tensor tensor_for(std::uint64_t seed, const Value& input);

}  // namespace ferry::test
