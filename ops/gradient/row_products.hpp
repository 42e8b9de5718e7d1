// RowProducts: the gradient of a matrix by which several values of few rows are multiplied, such as the weights of a
// recurrent layer. The gradient is one product over the rows of all values, instead of a sum of one product for each
// value.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Groups of the products [...,k] [k,n] in a graph. The products of a group compute the gradient of their common matrix
/// together. They have factors of one type, on one device or mesh, with so few rows that copying the rows costs less
/// than adding up the products. Ops in a scope of Graph::remade() are in no group, because the scope's values would be
/// kept. A graph of microbatches has no groups, because the microbatches would wait for each other.
class RowProducts {
 public:
  /// Finds the groups among the ops up to `last`. `wanted` marks the values that get a gradient.
  RowProducts(const Graph& graph, OpId last, const std::vector<bool>& wanted);

  /// Whether the gradient of the op's input 1 is computed with other ops of its group.
  [[nodiscard]] bool has(OpId op) const { return group_of_.contains(op); }
  /// Stores the factors of the gradient of input 1 of an op in a group: `a` is input 0 of the op, `dy` the gradient of
  /// its output.
  void store_factors(const Op& op, const Value& a, const Value& dy);
  /// Returns the gradient of the matrix if `op` is the first op of its group and a gradient has reached the group; else
  /// an undefined value. Call it from the last op to the first, so that the factors of the whole group are stored.
  [[nodiscard]] Value finish(OpId op);

 private:
  struct Group {
    std::vector<OpId> ops;
    Values left, right;  ///< the gradient is the sum of left' right; factors of the last op come first
  };
  /// Whether the op multiplies a value of few rows by a matrix.
  [[nodiscard]] static bool is_few_rows(const Op& op);
  [[nodiscard]] static bool is_alike(const Op& a, const Op& b);

  std::vector<Group> groups_;
  std::unordered_map<OpId, std::size_t> group_of_;
};

}  // namespace ferry
