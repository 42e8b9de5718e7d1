// Values made again for the backward pass: what Graph::remade() asks for.
#pragma once

#include <map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Makes ops of remade scopes again, in their own graph and each at most once, at the time when somebody first asks.
class Remaker {
 public:
  explicit Remaker(Graph& graph) : graph_(graph) {}

  /// `value` as the gradient of the op `user` is to read it: itself, or its copy when it was made in a remade scope;
  /// what goes from one such scope into another is kept.
  [[nodiscard]] Value read_by(OpId user, ValueId value);

 private:
  /// Not of ops that must not run twice, nor of those that cost nothing to keep.
  [[nodiscard]] bool is_remade(OpId op, std::uint32_t scope) const;
  /// What the op needs of its scope, in order, the op last.
  [[nodiscard]] std::vector<OpId> needed(OpId op) const;
  void make(OpId op);
  /// The copy, or the value itself.
  [[nodiscard]] Value latest(ValueId value) const;

  Graph& graph_;
  std::map<OpId, Values> copies_;
};

}  // namespace ferry
