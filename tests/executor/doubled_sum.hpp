// A graph over two tasks: the input x is doubled on one and summed on the other.
#pragma once

#include <string>

#include "graph/graph.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry::test {

struct DoubledSum {
  /// Takes the devices of the two ops.
  DoubledSum(const std::string& doubling, const std::string& summing) {
    const Value x = graph.input("x", DType::float32, {"n"});
    {
      const Scope there = graph.device(doubling);
      doubled = x + x;
    }
    const Scope there = graph.device(summing);
    total = sum(doubled);
  }

  Graph graph;
  Value doubled, total;
};

}  // namespace ferry::test
