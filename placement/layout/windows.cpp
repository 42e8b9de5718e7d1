#include "placement/layout/windows.hpp"

#include <algorithm>

namespace ferry {
namespace {

using Ints = std::vector<std::int64_t>;

void add(Attrs& attrs, const Halo& halo, std::size_t dim) {
  Ints reads;
  for (const Reads& one : halo.reads)
    reads.insert(reads.end(),
                 {one.begin, one.step, one.size, one.extent, one.windows.begin, one.windows.step, one.windows.extent});
  attrs.set("dim", static_cast<std::int64_t>(dim));
  attrs.set("parts", halo.parts);
  attrs.set("reads", std::move(reads));
}

}  // namespace

std::optional<WindowOf> window_of(const Program& program, const Node& node) {
  if (node.kind != NodeKind::compute || node.inputs == 0 || node.outputs.count != 1) return std::nullopt;
  const auto bounded = [&](PValueId value) { return program.values[value].type.shape.bounded(); };
  const auto inputs = program.inputs(node);
  if (node.def->window == nullptr || std::ranges::any_of(inputs, bounded) || bounded(node.outputs[0]))
    return std::nullopt;
  return node.def->window(ProgramFacts(program, inputs, *node.attrs));
}

std::vector<SlidingDim> sliding_dims(const Program& program, const Node& node) {
  if (node.kind != NodeKind::compute || node.def->slides == nullptr) return {};
  const auto bounded = [&](PValueId value) { return program.values[value].type.shape.bounded(); };
  const auto inputs = program.inputs(node);
  if (std::ranges::any_of(inputs, bounded) || bounded(node.outputs[0])) return {};
  return node.def->slides(ProgramFacts(program, inputs, *node.attrs));
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

Attrs rows_attrs(const Shape& shape, const Halo& halo, std::size_t dim) {
  WindowOf all;
  for (const std::int64_t size : shape.sizes()) all.dims.push_back({.size = size});
  return window_attrs(all, halo, dim);
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
