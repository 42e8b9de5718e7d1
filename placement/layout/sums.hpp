// Sums: finds chains of additions. Their terms may be added in another order.
#pragma once

#include <unordered_map>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// A sum that is not complete: its terms, and the nodes that will add them (one fewer than terms).
struct OpenSum {
  std::vector<PValueId> terms;
  std::vector<NodeId> nodes;
};

/// The sums of a program. An addition continues in another addition if that is the only reader of its result, on the
/// same devices. Then the terms of both can be added in any order. A result with an annotated layout is a value that
/// the user wants, and ends the sum.
class Sums {
 public:
  explicit Sums(const Program& program);

  /// Whether the node is an addition: its OpDef says that it is linear in both inputs together and reduces by a sum,
  /// and all three values have one type.
  [[nodiscard]] bool is_addition(const Node& node) const;
  /// True if the node is an addition that continues in another one.
  [[nodiscard]] bool is_continued(NodeId node) const;
  /// The sum that ends in this addition. Its terms are the node's inputs. An input with an open sum is replaced by the
  /// terms of that sum. The last of its nodes is `node`.
  [[nodiscard]] OpenSum take_sum(NodeId node);
  /// Leaves the sum of `node` open: a later addition continues it.
  void leave_open(NodeId node, OpenSum sum);

 private:
  const Program& program_;
  std::vector<NodeId> reader_;  // of each value: its only reader; kNone: none, or several
  std::unordered_map<PValueId, OpenSum> open_;
};

}  // namespace ferry
