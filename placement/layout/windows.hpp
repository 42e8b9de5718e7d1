// Windows: ops that read a value at other places, such as slices and pads. Where they are split along a dim that they
// do not read as it is, each task needs a halo: rows that its neighbours have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/types/halo.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// What a compute node reads of its input 0, if it gives a window of that (OpDef::window) and no size is bounded.
[[nodiscard]] std::optional<WindowOf> window_of(const Program& program, const Node& node);

/// The dims along which a compute node slides windows (OpDef::slides), if it does and no size is bounded.
[[nodiscard]] std::vector<SlidingDim> sliding_dims(const Program& program, const Node& node);

/// An axis of a mesh along which the input of a window is split, in a dim that the window cuts.
struct CutAxis {
  std::size_t axis = 0, dim = 0;
};

/// These axes, if the input has that layout, ordered by axis; empty if two axes split one such dim.
[[nodiscard]] std::vector<CutAxis> cut_axes(const WindowOf& window, const Shape& input, const Layout& layout);

/// The attributes of a kWindow and of a kCutHalo; `halo` has the rows read along `dim`. With rows_attrs() the window
/// has the elements of a value of that shape where they are: tasks have the rows that they read.
[[nodiscard]] Attrs window_attrs(const WindowOf& window, const Halo& halo, std::size_t dim);
[[nodiscard]] Attrs rows_attrs(const Shape& shape, const Halo& halo, std::size_t dim);
[[nodiscard]] Attrs halo_attrs(const Halo& halo, std::size_t dim);

/// Of the tasks, the most rows that one of them gets.
[[nodiscard]] std::int64_t most_rows_got(const Halo& halo);

}  // namespace ferry
