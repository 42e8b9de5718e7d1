// MessagePassing: sequential tree-reweighted message passing on a problem.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/choose/problem.hpp"

namespace ferry {

/// Improves a lower bound pass by pass, and finds good choices on the way. The bound is exact: messages are integers,
/// and a share of a cost that is rounded is rounded down. The problem must outlive it.
class MessagePassing {
 public:
  explicit MessagePassing(const Problem& problem);

  /// One pass forwards, which also chooses, and one pass backwards, which gives a bound.
  void pass();
  /// Improves the best choices, variable by variable, until no single change helps.
  void improve();

  /// A lower bound of the costs of all choices.
  [[nodiscard]] std::int64_t bound() const { return bound_; }
  /// The best choices found, and their cost.
  [[nodiscard]] const std::vector<std::uint32_t>& best() const { return best_; }
  [[nodiscard]] std::int64_t best_value() const { return best_value_; }
  /// Estimates how much dearer the whole becomes with this choice of a variable: 0 for the best one.
  [[nodiscard]] std::int64_t excess(std::size_t variable, std::size_t choice) const {
    return excess_[variable][choice];
  }

 private:
  struct Edge {
    std::size_t a = 0, b = 0;
    const std::vector<std::int64_t>* by_a;  // the costs, with the choices of a as rows
    std::vector<std::int64_t> by_b;         // the costs, with the choices of b as rows
    std::vector<std::int64_t> to_a, to_b;   // messages
  };
  struct Node {
    const std::vector<std::int64_t>* costs = nullptr;
    std::vector<std::size_t> before, after;  // edges to earlier and to later nodes
    std::int64_t shares = 1;                 // the number of chains that divide its costs
  };

  void forwards();
  void backwards();
  /// The node's costs with the messages of all its edges.
  [[nodiscard]] std::vector<std::int64_t> gathered(std::size_t node) const;
  /// Chooses for a node, given the choices of the nodes before it.
  void choose(std::size_t node, std::vector<std::uint32_t>& choices) const;
  void consider(const std::vector<std::uint32_t>& choices);

  const Problem& problem_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::int64_t>> excess_;
  std::vector<std::uint32_t> best_;
  std::int64_t best_value_ = 0, bound_ = 0;
};

}  // namespace ferry
