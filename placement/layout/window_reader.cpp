#include "placement/layout/window_reader.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "ops/control/comm.hpp"

namespace ferry {

bool inputs_once(const Program& program, const Node& node) {
  return std::ranges::all_of(program.inputs(node),
                             [&](PValueId input) { return program.nodes[program.values[input].producer].once; });
}

void WindowReader::cut(NodeId id, PValueId source, const Layout& layout, const std::vector<NodeId>& causes) {
  std::optional<WindowOf> left = window_of(program_, program_.nodes[id]);
  PValueId value = program_.inputs(program_.nodes[id])[0];
  const std::vector<CutAxis> cuts = cut_axes(*left, program_.values[value].type.shape, layout);
  if (!cuts.empty()) bring_halos(id, source, value, layout, causes);
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    const CutAxis& cut = cuts[k];
    Reads& reads = left->dims[cut.dim];
    const Halo all = halo_for(value, cut, reads, k == 0 ? reads_of(source, layout, cut.dim) : std::vector{reads});
    const PValueId halo = [&] {
      const auto asking = reasons_.asking(id, causes);
      return to_.halo(value, cut, all);
    }();
    if (k + 1 == cuts.size()) return become_window(id, value, halo, window_attrs(*left, all, cut.dim));
    const WindowOf part = only(*left, value, cut.dim);
    value = to_.window(value, halo, part, window_attrs(part, all, cut.dim));
    reasons_.laid(value, causes);
    reads = {0, 1, reads.size};
  }
}

WindowReader::SlidingCuts WindowReader::sliding_cuts(const Node& node, const std::vector<std::uint32_t>& numbers,
                                                     const std::vector<Layout>& given) const {
  SlidingCuts cuts;
  if (std::ranges::all_of(numbers, [](std::uint32_t number) { return number == kNone; })) return cuts;
  cuts.resize(node.inputs);
  const std::vector<SlidingDim> slides = sliding_dims(program_, node);
  for (std::size_t axis = 0; axis < numbers.size(); ++axis) {
    if (numbers[axis] == kNone) continue;
    for (const SlidingDim::Input& input : slides[numbers[axis]].inputs) {
      const auto i = static_cast<std::size_t>(input.input);
      const PValueId value = program_.inputs(node)[i];
      const std::int64_t whole = program_.values[value].type.shape[input.dim].size();
      if (most_rows_got({whole, program_.where(node).axes[axis], {input.reads}}) == 0) continue;
      const bool here = program_.values[to_.current(value)].where == node.where && given[i][axis] == replicated();
      const SlidingCut cut{{axis, static_cast<std::size_t>(input.dim)}, input.reads, here};
      cuts[i].insert(here ? cuts[i].begin() : cuts[i].end(), cut);
    }
  }
  return cuts;
}

void WindowReader::read_rows(NodeId id, const SlidingCuts& cuts, const std::vector<NodeId>& causes) {
  const auto operand = [&](std::size_t i) -> PValueId& { return program_.inputs(program_.nodes[id])[i]; };
  for (std::size_t i = 0; i < cuts.size(); ++i)  // all halos are sent before a task waits for one
    if (!cuts[i].empty()) static_cast<void>(bring_rows(id, operand(i), cuts[i][0], causes));
  for (std::size_t i = 0; i < cuts.size(); ++i)
    for (const SlidingCut& one : cuts[i]) {
      const PValueId value = operand(i), halo = bring_rows(id, value, one, causes);
      const PValueId rows = to_.rows(value, halo, one.cut, one.reads);
      reasons_.laid(rows, causes);
      operand(i) = rows;
    }
  if (!cuts.empty()) program_.nodes[id].once = program_.nodes[id].once && inputs_once(program_, program_.nodes[id]);
}

PValueId WindowReader::bring_rows(NodeId id, PValueId value, const SlidingCut& one, const std::vector<NodeId>& causes) {
  if (one.here) return kNone;
  const auto asking = reasons_.asking(id, causes);
  const PValue& from = program_.values[value];
  const std::int64_t whole = from.type.shape[static_cast<int>(one.cut.dim)].size();
  return to_.halo(value, one.cut, {whole, program_.wheres[from.where].axes[one.cut.axis], {one.reads}});
}

void WindowReader::record_windows(PValueId source) {
  const auto [at, fresh] = windows_.try_emplace(source);
  if (!fresh) return;
  for (const NodeId user : users_[source])
    if (program_.inputs(program_.nodes[user])[0] == source)
      if (auto window = window_of(program_, program_.nodes[user])) at->second.push_back(std::move(*window));
}

void WindowReader::bring_halos(NodeId id, PValueId source, PValueId value, const Layout& layout,
                               const std::vector<NodeId>& causes) {
  const auto asking = reasons_.asking(id, causes);
  for (const auto& [cut, reads] : first_cuts(source, layout))
    static_cast<void>(to_.halo(value, cut, halo_for(value, cut, reads, reads_of(source, layout, cut.dim))));
}

std::vector<Reads> WindowReader::reads_of(PValueId source, const Layout& layout, std::size_t dim) const {
  std::vector<Reads> all;
  for (const auto& [cut, reads] : first_cuts(source, layout))
    if (cut.dim == dim) all.push_back(reads);
  return all;
}

std::vector<std::pair<CutAxis, Reads>> WindowReader::first_cuts(PValueId source, const Layout& layout) const {
  std::vector<std::pair<CutAxis, Reads>> all;
  for (const WindowOf& window : windows_.at(source)) {
    const std::vector<CutAxis> cuts = cut_axes(window, program_.values[source].type.shape, layout);
    if (!cuts.empty()) all.emplace_back(cuts[0], window.dims[cuts[0].dim]);
  }
  return all;
}

WindowOf WindowReader::only(WindowOf window, PValueId value, std::size_t dim) const {
  const Shape& shape = program_.values[value].type.shape;
  for (std::size_t d = 0; d < window.dims.size(); ++d)
    if (d != dim) window.dims[d] = {0, 1, shape[static_cast<int>(d)].size()};
  return window;
}

void WindowReader::become_window(NodeId id, PValueId value, PValueId halo, Attrs attrs) {
  Node& node = program_.nodes[id];
  node.def = &kWindow;
  node.attrs = &program_.added_attrs.emplace_back(std::move(attrs));
  node.first_input = static_cast<std::uint32_t>(program_.operands.size());
  program_.operands.push_back(value);
  if (halo != kNone) program_.operands.push_back(halo);
  node.inputs = halo == kNone ? 1 : 2;
  node.once = node.once && inputs_once(program_, program_.nodes[id]);
}

Halo WindowReader::halo_for(PValueId value, const CutAxis& cut, const Reads& reads,
                            const std::vector<Reads>& others) const {
  const std::int64_t whole = program_.values[value].type.shape[static_cast<int>(cut.dim)].size();
  const std::int64_t parts = program_.wheres[program_.values[value].where].axes[cut.axis];
  Halo all{whole, parts, others};
  const auto key = [](const Reads& one) { return std::tuple(one.begin, one.step, one.size); };
  std::ranges::sort(all.reads, {}, key);
  all.reads.erase(std::unique(all.reads.begin(), all.reads.end()), all.reads.end());
  std::int64_t rows = 0;
  for (const Reads& one : all.reads) rows += most_rows_got({whole, parts, {one}});
  return most_rows_got(all) <= rows ? all : Halo{whole, parts, {reads}};
}

}  // namespace ferry
