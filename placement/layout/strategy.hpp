// How one op may lie on a mesh: from its index notation, the cheapest of the legal layouts.
#pragma once

#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Layouts of all inputs and outputs of one op.
struct Strategy {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  /// For each axis, the input whose layout asked for the choice; kOutput: an output's annotation or hint did; kNone:
  /// nothing did.
  std::vector<std::uint32_t> asked;
  static constexpr std::uint32_t kOutput = kNone - 1;
};

/// Whether the node uses only the sizes of this input: then it may lie anywhere, and nothing is moved for it.
[[nodiscard]] bool is_unread(const Program& program, const Node& node, std::size_t input);

/// The layouts that the node's outputs are annotated with on a mesh; empty where they are free.
[[nodiscard]] std::vector<Layout> annotated_layouts(const Node& node, const Where& where);

/// The node whose annotation asked for the strategy's split along an axis where an output did (Strategy::kOutput): this
/// node, or the one that its hint names. kNone: no annotation did.
[[nodiscard]] NodeId asking_output(const Program& program, NodeId id, const Strategy& strategy, std::size_t axis);

/// The node whose annotation caused the choice along an axis. If an input asked for it, `of_input` gives the cause of
/// that value's layout. kNone: no annotation did.
template <class OfInput>
[[nodiscard]] NodeId cause_of(const Program& program, NodeId id, const Strategy& strategy, std::size_t axis,
                              const OfInput& of_input) {
  const std::uint32_t asked = strategy.asked[axis];
  if (asked == kNone) return kNone;
  return asked == Strategy::kOutput ? asking_output(program, id, strategy, axis)
                                    : of_input(program.inputs(program.nodes[id])[asked]);
}

/// The layout of a value once its partial results are joined.
[[nodiscard]] Layout joined(Layout layout);

/// The time that one task computes for the node, as its operands are laid, in picoseconds. A rough estimate, rather too
/// high: letters that are contracted count whole.
[[nodiscard]] std::int64_t computing_cost(const Program& program, const Node& node);

/// Chooses the layouts that take the least time, over all axes of the mesh together: what each task computes, and its
/// messages (conversion.hpp). Counted are the conversions of the inputs, those of the outputs to what is wanted, and
/// the join that a partial output needs sooner or later. Along an axis an op is split only by a letter along which an
/// input, or what is `wanted` of an output, is split there already. Ties, axis by axis: what gives the wanted
/// layouts as they are, then partial sums that pass through, then the first split letter, then replicated. `given`: the
/// inputs' layouts on the node's mesh, `wanted`: the outputs' annotations, or hints; empty where free.
[[nodiscard]] Strategy choose_strategy(const Program& program, const Node& node, const std::vector<Layout>& given,
                                       const std::vector<Layout>& wanted);

}  // namespace ferry
