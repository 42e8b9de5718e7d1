// Conversions: the steps that turn one layout of a value into another, and what they cost. Plain functions of layouts:
// the strategies are compared with them, and reshard adds the nodes they name.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/types/layout.hpp"
#include "graph/types/shape.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// One step: along one axis of the mesh. replicated -> split is a local cut, partial -> replicated an all-reduce,
/// partial -> split a reduce-scatter, split -> replicated an all-gather, split -> split an all-to-all.
struct ConversionStep {
  std::size_t axis = 0;
  AxisLayout before, after;
  bool operator==(const ConversionStep&) const = default;
};

/// The steps from one layout to another of the same mesh. Local cuts come as early as they may, joins of partial values
/// before gathers, so that as little as possible moves. Where several axes split one dim, the earlier axis cuts first:
/// an axis is cut or joined only while no later axis splits that dim.
/// `to` may be partial only where `from` is.
[[nodiscard]] std::vector<ConversionStep> conversion(const Layout& from, const Layout& to);

/// The bytes of one part of a value in `layout` on `where`: its elements divided by the number of parts, rounded up.
[[nodiscard]] std::int64_t part_bytes(const Type& type, const Layout& layout, const Where& where);

/// The time that one task's messages of the conversion take, in picoseconds, by the links that each axis of `where`
/// uses. An integer, so that all compilers choose alike. Negative: not possible (a value cannot be made partial).
[[nodiscard]] std::int64_t conversion_cost(const Program& program, const Type& type, const Where& where,
                                           const Layout& from, const Layout& to);

}  // namespace ferry
