// Recomputing for the backward pass what was made in a scope of Graph::remade(), in place of keeping it.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Copies ops of remade scopes, in their own graph: each at most once, when its value is first asked for.
class Remaker {
 public:
  explicit Remaker(Graph& graph) : graph_(graph) {}

  /// The value that the gradient of the op `user` reads in place of `value`: a copy if it was made in a remade scope,
  /// else itself. It is also itself, so kept, when `user` is in another remade scope.
  [[nodiscard]] Value read_by(OpId user, ValueId value);

 private:
  /// Whether a copy is made: not of ops that must not run twice, nor of those that run once for all steps.
  [[nodiscard]] bool is_remade(OpId op, std::uint32_t scope) const;
  /// The ops of its scope that the op needs and that have no copy yet, in topological order; the op itself is last.
  [[nodiscard]] std::vector<OpId> needed(OpId op) const;
  void make(OpId op);
  /// The value's copy if there is one, else the value itself.
  [[nodiscard]] Value latest(ValueId value) const;

  Graph& graph_;
  std::map<OpId, Values> copies_;
};

}  // namespace ferry
