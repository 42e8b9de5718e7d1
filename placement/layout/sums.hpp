// Sums of more than two values: which of their additions may come in another order.
#pragma once

#include <unordered_map>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// A sum that is not complete: its terms, and the nodes that are to add them, one fewer.
struct OpenSum {
  std::vector<PValueId> terms;
  std::vector<NodeId> nodes;
};

/// The sums of a program. An addition goes on in another one if that alone reads its result, on the same devices: what
/// is added up so has no order of its own. A result with an annotated layout is a value that the user wants, and ends
/// the sum.
class Sums {
 public:
  explicit Sums(const Program& program);

  /// Whether the node is an addition: by its op's facts linear in both inputs together, with a sum as `reduce`; all
  /// three values have one type.
  [[nodiscard]] bool adds(const Node& node) const;
  /// Whether the node's result is a term of another addition and nothing else.
  [[nodiscard]] bool goes_on(NodeId node) const;
  /// The sum that the addition completes: its terms are the inputs, or in place of an input that was left open the
  /// terms of that. Its nodes end with `node`.
  [[nodiscard]] OpenSum take(NodeId node);
  /// Leaves the sum of `node`, which goes on, to a later addition.
  void leave_open(NodeId node, OpenSum sum);

 private:
  const Program& program_;
  std::vector<NodeId> reader_;  // of each value; kNone: nobody, or more than one
  std::unordered_map<PValueId, OpenSum> open_;
};

}  // namespace ferry
