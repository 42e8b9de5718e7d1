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

  /// By the op's facts it is linear in both inputs together and its `reduce` is a sum; all three values have one type.
  [[nodiscard]] bool adds(const Node& node) const;
  /// The node's result is a term of another addition and nothing else.
  [[nodiscard]] bool goes_on(NodeId node) const;
  /// What the addition has to add: its inputs, the terms of those that were left open in their place. Its nodes end
  /// with `node`.
  [[nodiscard]] OpenSum take(NodeId node);
  /// `node`, which goes on, does not add yet.
  void leave_open(NodeId node, OpenSum sum);

 private:
  const Program& program_;
  std::vector<NodeId> reader_;  // of each value; kNone: nobody, or more than one
  std::unordered_map<PValueId, OpenSum> open_;
};

}  // namespace ferry
