// Rematerialization: the backward pass recomputes values of a scope of Graph::remade() instead of keeping them.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Copies ops of remade scopes within their graph, each op at most once, when its value is first needed.
class Remaker {
 public:
  explicit Remaker(Graph& graph) : graph_(graph) {}

  /// The value that the gradient of the op `user` reads in place of `value`: a recomputed copy if `value` was made in a
  /// remade scope, else `value` itself. If `user` is in another remade scope, it also reads `value` itself, which is
  /// therefore kept.
  [[nodiscard]] Value read_by(OpId user, ValueId value);

 private:
  /// Whether the op is in this scope and may be copied. Ops with state, and ops that run once for all steps, may not.
  [[nodiscard]] bool is_remade(OpId op, std::uint32_t scope) const;
  /// The ops of the same scope that `op` needs and that have no copy yet, in topological order; `op` itself is last.
  [[nodiscard]] std::vector<OpId> needed(OpId op) const;
  void make(OpId op);
  /// The value's copy if there is one, else the value itself.
  [[nodiscard]] Value latest(ValueId value) const;

  Graph& graph_;
  std::map<OpId, Values> copies_;
};

}  // namespace ferry
