// How one op may lie on a mesh: from its index notation, the cheapest of the legal layouts.
#pragma once

#include <vector>

#include "placement/program.hpp"

namespace ferry {

/// Layouts of all inputs and outputs of one op.
struct Strategy {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  /// Of each axis, the input whose layout asked for the choice; kOutput: an output's annotation did; kNone: nobody.
  std::vector<std::uint32_t> asked;
  static constexpr std::uint32_t kOutput = kNone - 1;
};

/// Of this input the node uses the sizes only: it may lie anywhere and nothing is moved for it.
[[nodiscard]] bool is_unread(const Program& program, const Node& node, std::size_t input);

/// Chooses the layouts that take the least time, over all axes of the mesh together: what each task computes, and its
/// messages (conversion.hpp). Counted are the conversions of the inputs, those of the outputs to their annotations, and
/// the join that a partial output needs sooner or later. Along an axis an op is split only by a letter along which an
/// input (or the annotation `wanted` of an output) is split there already. Ties, axis by axis: what gives the annotated
/// layouts as they are, then partial sums that pass through, then the first split letter, then replicated. `given`: the
/// inputs' layouts on the node's mesh, `wanted`: empty where free.
[[nodiscard]] Strategy choose_strategy(const Program& program, const Node& node, const std::vector<Layout>& given,
                                       const std::vector<Layout>& wanted);

}  // namespace ferry
