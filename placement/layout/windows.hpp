// Windows: ops that read a value at other positions, such as slices and pads. If a window is split along a dim that it
// reads at other positions, each task needs a halo: rows of its neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/types/halo.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// The elements that a compute node reads of its input 0, if its output is a window of this input (OpDef::window) and
/// no size is bounded.
[[nodiscard]] std::optional<WindowOf> window_of(const Program& program, const Node& node);

/// The dims along which a compute node slides windows (OpDef::slides), if it does and no size is bounded.
[[nodiscard]] std::vector<SlidingDim> sliding_dims(const Program& program, const Node& node);

/// An axis of a mesh along which the input of a window is split, in a dim that the window cuts.
struct CutAxis {
  std::size_t axis = 0, dim = 0;
};

/// The CutAxis values for an input with that layout, ordered by axis. Empty if two axes split the same cut dim.
[[nodiscard]] std::vector<CutAxis> cut_axes(const WindowOf& window, const Shape& input, const Layout& layout);

/// The attributes of a kWindow and of a kCutHalo; `halo` has the rows read along `dim`. With rows_attrs(), the window
/// has the elements of a value of that shape at their own positions, and each task has the rows that it reads.
[[nodiscard]] Attrs window_attrs(const WindowOf& window, const Halo& halo, std::size_t dim);
[[nodiscard]] Attrs rows_attrs(const Shape& shape, const Halo& halo, std::size_t dim);
[[nodiscard]] Attrs halo_attrs(const Halo& halo, std::size_t dim);

/// The most rows that one task gets.
[[nodiscard]] std::int64_t most_rows_got(const Halo& halo);

}  // namespace ferry
