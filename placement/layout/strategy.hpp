// How one op may lie on a mesh: from its index notation, the cheapest of the legal layouts.
#pragma once

#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Layouts of all inputs and outputs of one op.
struct Strategy {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  /// Of each axis, the input whose layout asked for the choice; kOutput: an output's annotation or hint did; kNone:
  /// nobody.
  std::vector<std::uint32_t> asked;
  static constexpr std::uint32_t kOutput = kNone - 1;
};

/// Of this input the node uses the sizes only: it may lie anywhere and nothing is moved for it.
[[nodiscard]] bool is_unread(const Program& program, const Node& node, std::size_t input);

/// The layouts that the node's outputs are annotated with on a mesh; empty where they are free.
[[nodiscard]] std::vector<Layout> annotated_layouts(const Node& node, const Where& where);

/// Whose annotation asked for the strategy's split along an axis, if an output did (Strategy::kOutput): the node's own,
/// or the one that its hint goes back to. kNone: nobody's.
[[nodiscard]] NodeId asking_output(const Program& program, NodeId id, const Strategy& strategy, std::size_t axis);

/// Whose annotation the choice along an axis goes back to: of an input that asked for it, what `of_input` says of that
/// value; kNone: nobody's.
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

/// What a task that is in it computes for the node, as its operands are laid, in picoseconds, roughly; rather too much:
/// letters that are contracted count whole.
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
