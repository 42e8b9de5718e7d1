// GraphFacts: the OpFacts of an op in a graph.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The facts of an op with these inputs and attributes. Holds references to the inputs, the attributes and the graph.
/// They must not change while it lives.
///
///     std::string notation = notation_of(op.def(), GraphFacts(op));
class GraphFacts final : public OpFacts {
 public:
  GraphFacts(const Graph& graph, std::span<const ValueId> inputs, const Attrs& attrs)
      : graph_(graph), inputs_(inputs), attrs_(attrs) {}
  explicit GraphFacts(const Op& op) : GraphFacts(op.graph(), op.inputs(), op.attrs()) {}

  [[nodiscard]] int inputs() const override { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] const Type& input(int i) const override { return graph_.type(inputs_[i]); }
  [[nodiscard]] const Attrs& attrs() const override { return attrs_; }
  [[nodiscard]] const Tensor* constant(int i) const override { return graph_.constant_value(inputs_[i]); }
  [[nodiscard]] std::vector<Type> results(std::string_view name) const override;

 private:
  const Graph& graph_;
  std::span<const ValueId> inputs_;
  const Attrs& attrs_;
};

}  // namespace ferry
#pragma GCC visibility pop
