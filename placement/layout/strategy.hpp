// Strategies: chooses the cheapest layouts that an op may have on a mesh by its index notation.
#pragma once

#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// The chosen way of one op, with the cause of the choice.
struct Strategy : Way {
  /// For each axis, the input with the layout that led to the choice; kOutput: an output's annotation or hint did;
  /// kNone: nothing did.
  std::vector<std::uint32_t> asked;
  static constexpr std::uint32_t kOutput = kNone - 1;
};

/// The annotated layouts of the node's outputs; empty for outputs without an annotation, and on a single device.
[[nodiscard]] std::vector<Layout> annotated_layouts(const Program& program, const Node& node, const Where& where);

/// The annotated node if an output led to the strategy's choice along an axis (Strategy::kOutput): this node, or the
/// node in the output's hint. kNone if no output did, or if there is no annotation.
[[nodiscard]] NodeId output_cause(const Program& program, NodeId id, const Strategy& strategy, std::size_t axis);

/// The node with the annotation that caused the choice along an axis; kNone: there is none. If an input led to the
/// choice, of_input(value) returns the cause of that value's layout.
template <class OfInput>
[[nodiscard]] NodeId cause_of(const Program& program, NodeId id, const Strategy& strategy, std::size_t axis,
                              const OfInput& of_input) {
  const std::uint32_t asked = strategy.asked[axis];
  if (asked == kNone) return kNone;
  return asked == Strategy::kOutput ? output_cause(program, id, strategy, axis)
                                    : of_input(program.inputs(program.nodes[id])[asked]);
}

/// The layout of a value after its partial results are reduced: partial axes become replicated.
[[nodiscard]] Layout reduced_layout(Layout layout);

/// Chooses the layouts with the least time, over all axes of the mesh together. The time is the computing time of a
/// task plus the time of its messages (conversion.hpp). The messages convert the inputs, convert the outputs to the
/// `wanted` layouts, and reduce-scatter a partial output, because its readers need that. Along an axis, an op is split
/// only by a letter that already splits an input, or a `wanted` output, along that axis. At a tie, layouts win that
/// give the wanted layouts without a conversion. Further ties are broken axis by axis, in this order: partial sums that
/// pass through, the first split letter, replicated. `given`: the inputs' layouts on the node's mesh; `wanted`: the
/// outputs' annotations or hints, empty if an output's layout is free.
[[nodiscard]] Strategy choose_strategy(const Program& program, const Node& node, const std::vector<Layout>& given,
                                       const std::vector<Layout>& wanted);

}  // namespace ferry
