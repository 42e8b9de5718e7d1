// How one op may lie on a mesh: from its index notation, the cheapest of the legal layouts.
#pragma once

#include <vector>

#include "placement/program.hpp"

namespace ferry {

/// Layouts of all inputs and outputs of one op.
struct Strategy {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
};

/// Of this input the node uses the sizes only: it may lie anywhere and nothing is moved for it.
[[nodiscard]] bool is_unread(const Program& program, const Node& node, std::size_t input);

/// Bytes that one task sends to turn a value of `bytes` from one layout into another, along one axis of `members`
/// tasks. Negative: not possible.
[[nodiscard]] std::int64_t reshard_bytes(const AxisLayout& from, const AxisLayout& to, std::int64_t bytes,
                                         std::int64_t members);

/// Chooses, axis by axis, the layouts that move the fewest bytes. An op is split only along a letter along which an
/// input (or the annotation `wanted` of an output) is split already. Ties: what matches the annotation, then partial
/// sums that pass through, then the first split letter, then replicated. `given`: the inputs' layouts on the node's
/// mesh, `wanted`: empty where free.
[[nodiscard]] Strategy choose_strategy(const Program& program, const Node& node, const std::vector<Layout>& given,
                                       const std::vector<Layout>& wanted);

}  // namespace ferry
