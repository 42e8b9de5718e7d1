// Parts of a mesh: the devices that have the same coordinates as a given device, except along some axes.
#pragma once

#include <cstddef>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// A set of axes: for each axis, whether it is in the set.
using Axes = std::vector<bool>;

/// The positions in `mesh.tasks` that have the coordinates of `corner` except along `free`; in the mesh's order.
[[nodiscard]] std::vector<std::size_t> positions(const Where& mesh, std::size_t corner, const Axes& free);

/// The devices at positions(mesh, corner, axes) as a mesh of these axes, with the groupings that the axes have in the
/// whole mesh. The mesh itself if its other axes have one task each.
[[nodiscard]] WhereId part_of_mesh(Program& program, WhereId mesh, std::size_t corner, const Axes& axes);

/// Groups along `axes`, one through each position that differs from `corner` only along `others`. That position has the
/// same index in each group, which is Members::root.
[[nodiscard]] Members groups_along(Program& program, WhereId mesh, std::size_t corner, const Axes& others,
                                   const Axes& axes);

}  // namespace ferry
