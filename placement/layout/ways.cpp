#include "placement/layout/ways.hpp"

#include <algorithm>

#include "placement/layout/conversion.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

std::optional<IndexSpace> space_of(const Program& program, const Node& node) {
  std::vector<Type> outputs;
  for (const PValueId output : node.outputs) outputs.push_back(program.values[output].type);
  return index_space(*node.def, ProgramFacts(program, program.inputs(node), *node.attrs), outputs);
}

}  // namespace

Ways::Ways(const Program& program, const Node& node)
    : program_(program),
      node_(node),
      where_(program.where(node)),
      space_(space_of(program, node)),
      window_(window_of(program, node)),
      slides_(sliding_dims(program, node)) {}

std::vector<AxisWay> Ways::along(std::size_t axis) const {
  std::vector<AxisWay> found;
  const auto add = [&](std::optional<AxisWay> way) {
    if (way) found.push_back(*std::move(way));
  };
  if (where_.axes[axis] > 1) {
    if (space_) {
      add(linear_way());
      for (int letter = 0; letter < static_cast<int>(space_->sizes.size()); ++letter) add(split_way(axis, letter));
    }
    if (window_)
      for (int dim = 0; dim < static_cast<int>(window_->dims.size()); ++dim) add(window_way(dim));
    for (std::uint32_t number = 0; number < slides_.size(); ++number) add(sliding_way(number));
  }
  found.push_back(replicated_way());
  return found;
}

std::vector<Way> Ways::combined() const {
  const std::size_t axes = where_.axes.size();
  std::vector<std::vector<AxisWay>> choices;
  for (std::size_t axis = 0; axis < axes; ++axis) choices.push_back(along(axis));
  std::vector<Way> found;
  Way way{std::vector<Layout>(node_.inputs, Layout(axes)), std::vector<Layout>(node_.outputs.count, Layout(axes)),
          std::vector<std::uint32_t>(axes, kNone)};
  std::vector<int> letters(axes, -1);
  const auto combine = [&](const auto& self, std::size_t axis) -> void {
    if (axis == axes) {
      const auto is_same = [&](const Way& other) { return other.inputs == way.inputs && other.outputs == way.outputs; };
      if (std::ranges::none_of(found, is_same)) found.push_back(way);
      return;
    }
    for (const AxisWay& choice : choices[axis]) {
      const auto same = [&](int letter) { return letter >= 0 && letter == choice.letter; };
      if (std::any_of(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(axis), same)) continue;
      for (std::size_t i = 0; i < node_.inputs; ++i) way.inputs[i][axis] = choice.inputs[i];
      for (std::size_t o = 0; o < node_.outputs.count; ++o) way.outputs[o][axis] = choice.outputs[o];
      way.slides[axis] = choice.slides;
      letters[axis] = choice.letter;
      self(self, axis + 1);
    }
  };
  combine(combine, 0);
  return found;
}

AxisWay Ways::replicated_way() const {
  return {std::vector<AxisLayout>(node_.inputs), std::vector<AxisLayout>(node_.outputs.count)};
}

/// The way in which partial sums pass through the op. There is none if the op also reads the same value in an input in
/// which it is not linear, as in x * x. Then the whole sum is needed anyway, so nothing is saved. An infinity in the
/// sum would also meet parts that are 0 or have the other sign.
std::optional<AxisWay> Ways::linear_way() const {
  if (node_.def->linear == 0) return std::nullopt;
  AxisWay way = replicated_way();
  const auto inputs = program_.inputs(node_);
  bool any = false;
  for (std::uint32_t i = 0; i < node_.inputs; ++i) {
    if (!is_linear_in(i)) continue;
    way.inputs[i] = partial(Reduce::sum);
    any = true;
    for (std::uint32_t other = 0; other < node_.inputs; ++other)
      if (inputs[other] == inputs[i] && !is_linear_in(other) && !is_unread(program_, node_, other)) return std::nullopt;
  }
  if (!any) return std::nullopt;
  for (AxisLayout& output : way.outputs) output = partial(Reduce::sum);
  return way;
}

std::optional<AxisWay> Ways::split_way(std::size_t axis, int letter) const {
  const auto l = static_cast<std::size_t>(letter);
  if (space_->whole[l] || space_->sizes[l].bounded()) return std::nullopt;
  if (space_->divisor[l] % where_.axes[axis] != 0) return std::nullopt;
  AxisWay way = replicated_way();
  for (std::uint32_t i = 0; i < node_.inputs; ++i)
    for (std::size_t d = 0; d < space_->inputs[i].size(); ++d)
      if (space_->inputs[i][d] == letter && !space_->broadcast[i][d]) way.inputs[i] = split(static_cast<int>(d));
  for (std::size_t o = 0; o < node_.outputs.count; ++o) {
    way.outputs[o] = output_layout(letter, o);
    if (way.outputs[o].kind == Kind::partial && node_.def->reduce == Reduce::none) return std::nullopt;
  }
  way.parallel = true;
  if (space_->divisor[l] != 0) way.letter = letter;
  return way;
}

/// The way in which a window is split along a dim that it cuts. Each task gets the rows that it reads and that other
/// tasks have.
std::optional<AxisWay> Ways::window_way(int dim) const {
  if (!window_->cuts(static_cast<std::size_t>(dim), input_type(0).shape[dim].size())) return std::nullopt;
  AxisWay way = replicated_way();
  way.inputs[0] = way.outputs[0] = split(dim);
  way.parallel = true;
  return way;
}

/// The way in which a dim is split along which windows slide. Each task gets the rows that its windows read and that
/// other tasks have.
std::optional<AxisWay> Ways::sliding_way(std::uint32_t number) const {
  const SlidingDim& slides = slides_[number];
  if (slides.output < 0 && node_.def->reduce == Reduce::none) return std::nullopt;
  AxisWay way = replicated_way();
  for (const SlidingDim::Input& input : slides.inputs) way.inputs[input.input] = split(input.dim);
  way.outputs[0] = slides.output < 0 ? partial(node_.def->reduce) : split(slides.output);
  way.parallel = true;
  way.slides = number;
  return way;
}

AxisLayout Ways::output_layout(int letter, std::size_t output) const {
  const auto& dims = space_->outputs[output];
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d] == letter) return split(static_cast<int>(d));
  return partial(node_.def->reduce);
}

/// Whether the op is linear in the input, together with other inputs. Inputs from number 31 on share one bit.
bool Ways::is_linear_in(std::uint32_t input) const {
  return (node_.def->linear_in(input_type(input).dtype) >> std::min(input, 31U) & 1U) != 0;
}

std::optional<std::int64_t> Ways::halo_cost(const Way& way, const std::vector<Layout>& given) const {
  if (!slides_.empty()) return sliding_halos(way, given);
  return window_ ? window_halos(way.inputs[0]) : 0;
}

std::optional<std::int64_t> Ways::window_halos(const Layout& layout) const {
  std::int64_t cost = 0;
  std::vector<bool> seen(window_->dims.size());
  for (std::size_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].kind != Kind::split) continue;
    const auto dim = static_cast<std::size_t>(layout[axis].dim);
    const std::int64_t whole = input_type(0).shape[layout[axis].dim].size();
    if (!window_->cuts(dim, whole)) continue;
    if (seen[dim]) return std::nullopt;
    seen[dim] = true;
    const std::int64_t rows = most_rows_got({whole, where_.axes[axis], {window_->dims[dim]}});
    cost += message_cost(program_, where_, axis, row_bytes(input_type(0), layout, where_, axis, rows));
  }
  return cost;
}

std::optional<std::int64_t> Ways::sliding_halos(const Way& way, const std::vector<Layout>& given) const {
  std::int64_t cost = 0;
  std::vector<bool> seen(slides_.size());
  for (std::size_t axis = 0; axis < way.slides.size(); ++axis) {
    const std::uint32_t number = way.slides[axis];
    if (number == kNone) continue;
    if (seen[number]) return std::nullopt;
    seen[number] = true;
    for (const SlidingDim::Input& input : slides_[number].inputs) {
      const auto i = static_cast<std::size_t>(input.input);
      if (given[i][axis] == replicated()) continue;  // each task has all rows
      const Type& type = input_type(i);
      const std::int64_t rows = most_rows_got({type.shape[input.dim].size(), where_.axes[axis], {input.reads}});
      cost += message_cost(program_, where_, axis, row_bytes(type, way.inputs[i], where_, axis, rows));
    }
  }
  return cost;
}

OpWork Ways::work(const Way& way, double parts) const {
  if (node_.def->flops_of != nullptr || node_.def->bytes_of != nullptr) return work_of_types(way);
  OpWork work{space_ ? node_.def->flops * space_->points() / parts : 0, 0, kind_of_work(*node_.def)};
  for (std::size_t i = 0; i < node_.inputs; ++i)
    if (!is_unread(program_, node_, i))
      work.bytes += static_cast<double>(part_bytes(input_type(i), way.inputs[i], where_));
  for (std::uint32_t o = 0; o < node_.outputs.count; ++o)
    work.bytes += static_cast<double>(part_bytes(program_.values[node_.outputs[o]].type, way.outputs[o], where_));
  return work;
}

/// The same as work(), from the types of the parts. This takes longer, because it makes types for each way.
OpWork Ways::work_of_types(const Way& way) const {
  OpParts parts;
  std::vector<Type> outputs;
  for (std::size_t i = 0; i < node_.inputs; ++i)
    parts.inputs.push_back(part_type(input_type(i), way.inputs[i], where_));
  for (std::uint32_t o = 0; o < node_.outputs.count; ++o) {
    outputs.push_back(program_.values[node_.outputs[o]].type);
    parts.outputs.push_back(part_type(outputs.back(), way.outputs[o], where_));
  }
  return work_of_parts(*node_.def, ProgramFacts(program_, program_.inputs(node_), *node_.attrs), outputs, parts);
}

const Type& Ways::input_type(std::size_t input) const {
  return program_.values[program_.inputs(node_)[input]].type;
}

}  // namespace ferry
