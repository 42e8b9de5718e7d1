// Random networks with a training step, for placement by itself.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry::test {

/// How the user of a network has spread it over a mesh of all tasks.
enum class Annotated : std::uint8_t {
  nowhere,         ///< not at all
  data_parallel,   ///< rows are split, variables are whole
  tensor_parallel  ///< of two products in a row, the weights are split by columns and by rows; so are attention's heads
};

struct RandomNetwork {
  Graph graph;
  Values updates;
  Value loss;
};

/// Makes a perceptron, a convolutional network or a transformer, small or large, with sgd, momentum or adam. The seed
/// decides everything but the annotations.
void make_network(RandomNetwork& network, std::uint64_t seed, Annotated annotated);

}  // namespace ferry::test
