// The gradient of a matrix that several values of few rows are multiplied by, such as the weights of a recurrent layer.
// It is one product over the rows of all values, instead of the sum of one product for each value.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/value.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {

/// The products [...,k] [k,n] of a graph that get their gradients with respect to the matrix together: products by one
/// matrix, of values of one type, on one device or mesh. They have so few rows that to copy these costs less than to
/// add up the products. There are none in a scope of Graph::remade(), because the scope's values would be kept, and
/// none in a graph of microbatches, because these would wait for each other.
class RowProducts {
 public:
  /// Of the ops up to `last`; `wanted` are the values with a gradient.
  RowProducts(const Graph& graph, OpId last, const std::vector<bool>& wanted);

  /// Whether the gradient of the op's input 1 is made with others.
  [[nodiscard]] bool has(OpId op) const { return group_of_.contains(op); }
  /// Keeps the factors of the gradient of input 1 of such an op.
  void keep(OpId op, GradCtx& context);
  /// The gradient of the matrix if `op` is the first of those that are made together, and a gradient has reached one of
  /// them: ops are visited from the last to the first. Else undefined.
  [[nodiscard]] Value finish(OpId op);

 private:
  struct Group {
    std::vector<OpId> ops;
    Values left, right;  ///< the gradient is the sum of left' right; the last one comes first
  };
  /// Whether the op multiplies rows by a matrix, and they are few.
  [[nodiscard]] static bool is_few_rows(const Op& op);
  [[nodiscard]] static bool is_alike(const Op& a, const Op& b);

  std::vector<Group> groups_;
  std::unordered_map<OpId, std::size_t> group_of_;
};

}  // namespace ferry
