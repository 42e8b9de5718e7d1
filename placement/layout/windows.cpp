#include "placement/layout/windows.hpp"

#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/control/comm.hpp"

namespace ferry {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<Reads> as_it_is(const Shape& shape) {
  std::vector<Reads> dims;
  for (int d = 0; d < shape.rank(); ++d) dims.push_back({0, 1, shape[d].size()});
  return dims;
}

/// A slice of `whole`, or its inverse, which puts the elements back into their places.
std::optional<WindowOf> slice_window(const Attrs& attrs, const Shape& whole, bool back) {
  WindowOf window{as_it_is(whole), 0};
  const auto &axes = attrs.get<Ints>("axes"), &begin = attrs.get<Ints>("begin"), &end = attrs.get<Ints>("end"),
             &step = attrs.get<Ints>("step");
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t dim = axes[k] < 0 ? axes[k] + whole.rank() : axes[k];
    Reads& reads = window.dims[static_cast<std::size_t>(dim)];
    if (back && step[k] != 1) return std::nullopt;
    const SliceRange range = slice_range(whole[static_cast<int>(dim)].size(), begin[k], end[k], step[k]);
    reads = back ? Reads{-range.first, 1, reads.size} : Reads{range.first, step[k], range.count};
  }
  return window;
}

WindowOf pad_window(const Attrs& attrs, const Shape& input) {
  WindowOf window{as_it_is(input), attrs.get<double>("value")};
  const auto &low = attrs.get<Ints>("low"), &high = attrs.get<Ints>("high");
  for (std::size_t d = 0; d < low.size(); ++d) {
    window.dims[d].begin = -low[d];
    window.dims[d].size += low[d] + high[d];
  }
  return window;
}

WindowOf same_window(const Attrs& attrs) {
  WindowOf window{{}, attrs.get<double>("value")};
  const auto &begin = attrs.get<Ints>("begin"), &step = attrs.get<Ints>("step"), &size = attrs.get<Ints>("size");
  for (std::size_t d = 0; d < begin.size(); ++d) window.dims.push_back({begin[d], step[d], size[d]});
  return window;
}

void add(Attrs& attrs, const Halo& halo, std::size_t dim) {
  Ints reads;
  for (const Reads& one : halo.reads) reads.insert(reads.end(), {one.begin, one.step, one.size});
  attrs.set("dim", static_cast<std::int64_t>(dim));
  attrs.set("parts", halo.parts);
  attrs.set("reads", std::move(reads));
}

}  // namespace

std::optional<WindowOf> window_of(const Program& program, const Node& node) {
  if (node.kind != NodeKind::compute || node.inputs == 0 || node.outputs != 1) return std::nullopt;
  const Shape& input = program.values[program.inputs(node)[0]].type.shape;
  const Shape& output = program.values[node.first_output].type.shape;
  if (input.bounded() || output.bounded()) return std::nullopt;
  if (node.role() == OpRole::window) return same_window(*node.attrs);
  if (node.def->name == "Slice") return slice_window(*node.attrs, input, false);
  if (node.def->name == "Unslice") return slice_window(*node.attrs, output, true);
  if (node.def->name == "Pad") return pad_window(*node.attrs, input);
  return std::nullopt;
}

std::vector<CutAxis> cut_axes(const WindowOf& window, const Shape& input, const Layout& layout) {
  std::vector<CutAxis> cut;
  for (std::size_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].kind != AxisLayout::Kind::split) continue;
    const auto dim = static_cast<std::size_t>(layout[axis].dim);
    if (!window.cuts(dim, input[layout[axis].dim].size())) continue;
    if (std::ranges::count(layout, layout[axis]) > 1) return {};
    cut.push_back({axis, dim});
  }
  return cut;
}

Attrs window_attrs(const WindowOf& window, const Halo& halo, std::size_t dim) {
  Ints begin, step, size;
  for (const Reads& reads : window.dims) {
    begin.push_back(reads.begin);
    step.push_back(reads.step);
    size.push_back(reads.size);
  }
  Attrs attrs{
      {"begin", std::move(begin)}, {"size", std::move(size)}, {"step", std::move(step)}, {"value", window.fill}};
  add(attrs, halo, dim);
  return attrs;
}

Attrs halo_attrs(const Halo& halo, std::size_t dim) {
  Attrs attrs;
  add(attrs, halo, dim);
  return attrs;
}

std::int64_t most_rows_got(const Halo& halo) {
  std::int64_t most = 0;
  for (std::int64_t task = 0; task < halo.parts; ++task) most = std::max(most, halo.rows_got(task));
  return most;
}

}  // namespace ferry
