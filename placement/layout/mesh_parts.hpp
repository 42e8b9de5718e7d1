// Parts of a mesh: the devices that have the same coordinates as one of them but along some axes.
#pragma once

#include <cstddef>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// A set of axes: one entry for each.
using Axes = std::vector<bool>;

/// The positions in `mesh.tasks` that have the coordinates of `corner` except along `free`; in the mesh's order.
[[nodiscard]] std::vector<std::size_t> positions(const Where& mesh, std::size_t corner, const Axes& free);

/// The devices at positions(mesh, corner, axes) as a mesh of these axes, which a value is split along as along those of
/// the whole mesh; the mesh itself when its other axes have one task each.
[[nodiscard]] WhereId part_of_mesh(Program& program, WhereId mesh, std::size_t corner, const Axes& axes);

/// Groups along `axes`, one for each position that differs from `corner` along `others`. The position itself stands at
/// the same place in each: Members::root.
[[nodiscard]] Members groups_along(Program& program, WhereId mesh, std::size_t corner, const Axes& others,
                                   const Axes& axes);

}  // namespace ferry
