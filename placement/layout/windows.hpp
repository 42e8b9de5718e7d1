// Windows: ops that read a value at other places, such as slices and pads. Where they are split along a dim that they
// do not read as it is, each task needs a halo: rows that its neighbours have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/types/halo.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// What an op of one value gives: its element at k[d] along each dim d is the one at dims[d].begin + k[d] *
/// dims[d].step of input 0, or `fill` where that is outside.
struct WindowOf {
  std::vector<Reads> dims;
  double fill = 0;

  /// Whether dim d, of `size` in the input, is not read as it is.
  [[nodiscard]] bool cuts(std::size_t d, std::int64_t size) const {
    return dims[d] != Reads{.begin = 0, .step = 1, .size = size};
  }
};

/// What a compute node gives, if that is a window of its input 0 and no size is bounded: a slice, a pad, the gradient
/// of a slice without steps, or kWindow.
[[nodiscard]] std::optional<WindowOf> window_of(const Program& program, const Node& node);

/// An axis of a mesh along which the input of a window is split, in a dim that the window cuts.
struct CutAxis {
  std::size_t axis = 0, dim = 0;
};

/// These axes, if the input lies in that layout, ordered by axis; empty if two axes split one such dim.
[[nodiscard]] std::vector<CutAxis> cut_axes(const WindowOf& window, const Shape& input, const Layout& layout);

/// The attributes of a kWindow and of a kCutHalo; `halo` is what is read along `dim`.
[[nodiscard]] Attrs window_attrs(const WindowOf& window, const Halo& halo, std::size_t dim);
[[nodiscard]] Attrs halo_attrs(const Halo& halo, std::size_t dim);

/// Of the tasks, the most rows that one of them gets.
[[nodiscard]] std::int64_t most_rows_got(const Halo& halo);

}  // namespace ferry
