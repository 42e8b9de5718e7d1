// MessagePassing: sequential tree-reweighted message passing on a problem.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "placement/solve/problem.hpp"

namespace ferry {

/// Improves a lower bound pass by pass, and finds good choices at the same time. The bound is exact: messages are
/// integers, and shares of a cost are rounded down.
class MessagePassing {
 public:
  explicit MessagePassing(const Problem& problem);

  /// Runs one pass forwards, which also chooses, and one pass backwards, which computes a bound.
  void pass();
  /// Improves the best choices, variable by variable, until no single change helps.
  void improve();

  /// A lower bound of the costs of all choices.
  [[nodiscard]] std::int64_t bound() const { return bound_; }
  /// The best choices found.
  [[nodiscard]] const std::vector<std::uint32_t>& best() const { return best_; }
  /// Estimates the increase of the total cost if a variable has this choice; 0 for the best choice.
  [[nodiscard]] std::int64_t excess(std::size_t variable, std::size_t choice) const {
    return excess_[nodes_[variable].first + choice];
  }

 private:
  using Costs = std::vector<std::int64_t>;
  /// The costs of an edge, row-major.
  struct Table {
    Costs by_a, by_b;  ///< by_a: the choices of a are the rows; by_b: the choices of b are the rows
  };
  struct Edge {
    std::size_t a = 0, b = 0;
    const Table* table = nullptr;
    std::size_t to_a = 0, to_b = 0;  ///< positions of the messages in `messages_`
  };
  struct Node {
    std::size_t first = 0, size = 0;         ///< its choices in `costs_` and `excess_`
    std::vector<std::size_t> before, after;  ///< edges to earlier and to later nodes
    std::int64_t shares = 1;                 ///< the number of chains that divide its costs
  };

  void forwards();
  void backwards();
  /// Writes to `gathered_` the node's costs plus the messages of all its edges.
  void gather(const Node& node);
  /// Sends a message over an edge: a share of the gathered costs, without the receiver's own message `answer`, plus the
  /// edge's costs, which have the receiver's choices as rows. Subtracts the message's minimum from the message, and
  /// returns the minimum.
  std::int64_t send(std::size_t answer, const Costs& edge, std::size_t message, std::size_t size);
  /// Chooses for a node, given the choices of all earlier nodes.
  void choose(std::size_t node, std::vector<std::uint32_t>& choices);
  /// The cost of the choices, read from the shared tables, which the cache has.
  [[nodiscard]] std::int64_t value(const std::vector<std::uint32_t>& choices) const;
  void keep_if_better(const std::vector<std::uint32_t>& choices);
  [[nodiscard]] std::span<const std::int64_t> costs_of(const Node& node) const {
    return std::span(costs_).subspan(node.first, node.size);
  }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::map<Costs, Table> tables_;  ///< the key is Table::by_a and the number of rows
  Costs costs_, messages_, excess_;
  Costs gathered_, share_;  ///< scratch of the current node
  std::vector<std::uint32_t> best_;
  std::int64_t best_value_ = 0, bound_ = 0;
};

}  // namespace ferry
