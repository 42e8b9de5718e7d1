#include "placement/layout/strategy.hpp"

#include <algorithm>
#include <optional>

#include "graph/op/index_notation.hpp"
#include "graph/op/op_time.hpp"
#include "graph/op/op_work.hpp"
#include "ops/control/comm.hpp"
#include "placement/layout/conversion.hpp"
#include "placement/layout/windows.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

/// One way to lay out the op along one axis.
struct Choice {
  std::vector<AxisLayout> inputs, outputs;
  bool parallel = false;        ///< each task computes its part
  int letter = -1;              ///< with a divisor, that is split; -1: none
  std::uint32_t asked = kNone;  ///< as in Strategy
  std::uint32_t slides = kNone;
};

std::optional<IndexSpace> space_of(const Program& program, const Node& node) {
  std::vector<Type> outputs;
  for (const PValueId output : node.outputs) outputs.push_back(program.values[output].type);
  return index_space(*node.def, ProgramFacts(program, program.inputs(node), *node.attrs), outputs);
}

/// What a message among tasks that are to be apart costs: more than all else.
constexpr std::int64_t kApart = 1'000'000'000'000'000;

class Chooser {
 public:
  Chooser(const Program& program, const Node& node, const std::vector<Layout>& given, const std::vector<Layout>& wanted)
      : program_(program),
        node_(node),
        where_(program.where(node)),
        space_(space_of(program, node)),
        window_(window_of(program, node)),
        slides_(sliding_dims(program, node)),
        given_(given),
        wanted_(wanted),
        tried_{std::vector<Layout>(node.inputs, Layout(where_.axes.size())),
               std::vector<Layout>(node.outputs.count, Layout(where_.axes.size())),
               std::vector<std::uint32_t>(where_.axes.size(), kNone),
               std::vector<std::uint32_t>(where_.axes.size(), kNone)},
        parallel_(where_.axes.size(), false),
        letters_(where_.axes.size(), -1) {}

  Strategy best() {
    for (std::size_t axis = 0; axis < where_.axes.size(); ++axis) choices_.push_back(choices(axis));
    try_from(0);
    FERRY_ASSERT(best_, "no layout for " + program_.name(node_));
    return *best_;
  }

 private:
  /// The candidates for an axis; at a tie the first wins.
  std::vector<Choice> choices(std::size_t axis) const {
    std::vector<Choice> found;
    if (where_.axes[axis] > 1 && space_) {
      if (auto choice = linear_choice(axis)) found.push_back(std::move(*choice));
      for (int letter = 0; letter < static_cast<int>(space_->sizes.size()); ++letter)
        if (auto choice = split_choice(axis, letter)) found.push_back(std::move(*choice));
    }
    if (where_.axes[axis] > 1 && window_)
      for (int dim = 0; dim < static_cast<int>(window_->dims.size()); ++dim)
        if (auto choice = window_choice(axis, dim)) found.push_back(std::move(*choice));
    if (where_.axes[axis] > 1)
      for (std::uint32_t number = 0; number < slides_.size(); ++number)
        if (auto choice = sliding_choice(axis, number)) found.push_back(std::move(*choice));
    found.push_back(replicated_choice());
    return found;
  }

  Choice replicated_choice() const {
    return {std::vector<AxisLayout>(node_.inputs), std::vector<AxisLayout>(node_.outputs.count)};
  }

  std::optional<Choice> split_choice(std::size_t axis, int letter) const {
    const auto l = static_cast<std::size_t>(letter);
    if (space_->whole[l] || space_->sizes[l].bounded()) return std::nullopt;
    if (space_->divisor[l] % where_.axes[axis] != 0) return std::nullopt;
    Choice choice = replicated_choice();
    for (std::uint32_t i = 0; i < node_.inputs; ++i)
      for (std::size_t d = 0; d < space_->inputs[i].size(); ++d) {
        if (space_->inputs[i][d] != letter || space_->broadcast[i][d]) continue;
        choice.inputs[i] = split(static_cast<int>(d));
        if (choice.asked == kNone && given_[i][axis] == choice.inputs[i]) choice.asked = i;
      }
    for (std::size_t o = 0; o < node_.outputs.count; ++o) {
      const AxisLayout out = output_layout(letter, o);
      if (out.kind == Kind::partial && node_.def->reduce == Reduce::none) return std::nullopt;
      choice.outputs[o] = out;
      const bool wanted = !wanted_[o].empty() && wanted_[o][axis] == out;
      if (choice.asked == kNone && wanted) choice.asked = Strategy::kOutput;
    }
    if (choice.asked == kNone) return std::nullopt;
    choice.parallel = true;
    if (space_->divisor[l] != 0) choice.letter = letter;
    return choice;
  }

  /// A window is split along a dim that it cuts: each task gets the rows that it reads and others have.
  std::optional<Choice> window_choice(std::size_t axis, int dim) const {
    if (!window_->cuts(static_cast<std::size_t>(dim), input_type().shape[dim].size())) return std::nullopt;
    Choice choice = replicated_choice();
    choice.inputs[0] = choice.outputs[0] = split(dim);
    if (given_[0][axis] == split(dim))
      choice.asked = 0;
    else if (!wanted_[0].empty() && wanted_[0][axis] == split(dim))
      choice.asked = Strategy::kOutput;
    else
      return std::nullopt;
    choice.parallel = true;
    return choice;
  }

  /// A dim along which windows slide is split: each task gets the rows that its windows read and others have.
  std::optional<Choice> sliding_choice(std::size_t axis, std::uint32_t number) const {
    const SlidingDim& slides = slides_[number];
    Choice choice = replicated_choice();
    for (const SlidingDim::Input& input : slides.inputs) {
      const auto i = static_cast<std::uint32_t>(input.input);
      choice.inputs[i] = split(input.dim);
      if (choice.asked == kNone && given_[i][axis] == choice.inputs[i]) choice.asked = i;
    }
    if (slides.output < 0 && node_.def->reduce == Reduce::none) return std::nullopt;
    choice.outputs[0] = slides.output < 0 ? partial(node_.def->reduce) : split(slides.output);
    if (choice.asked == kNone && !wanted_[0].empty() && wanted_[0][axis] == choice.outputs[0])
      choice.asked = Strategy::kOutput;
    if (choice.asked == kNone) return std::nullopt;
    choice.parallel = true;
    choice.slides = number;
    return choice;
  }

  const Type& input_type(int input = 0) const {
    return program_.values[program_.inputs(node_)[static_cast<std::size_t>(input)]].type;
  }

  /// The time of the halos; none if two axes split one dim that is read through windows.
  std::optional<std::int64_t> halos() const {
    if (!slides_.empty()) return sliding_halos();
    if (!window_) return 0;
    const Layout& layout = tried_.inputs[0];
    std::int64_t cost = 0;
    std::vector<bool> seen(window_->dims.size());
    for (std::size_t axis = 0; axis < layout.size(); ++axis) {
      if (layout[axis].kind != Kind::split) continue;
      const auto dim = static_cast<std::size_t>(layout[axis].dim);
      const std::int64_t whole = input_type().shape[layout[axis].dim].size();
      if (!window_->cuts(dim, whole)) continue;
      if (seen[dim]) return std::nullopt;
      seen[dim] = true;
      const std::int64_t rows = most_rows_got({whole, where_.axes[axis], {window_->dims[dim]}});
      cost += message_cost(program_, where_, axis, row_bytes(input_type(), layout, where_, axis, rows));
    }
    return cost;
  }

  std::optional<std::int64_t> sliding_halos() const {
    std::int64_t cost = 0;
    std::vector<bool> seen(slides_.size());
    for (std::size_t axis = 0; axis < tried_.slides.size(); ++axis) {
      const std::uint32_t number = tried_.slides[axis];
      if (number == kNone) continue;
      if (seen[number]) return std::nullopt;
      seen[number] = true;
      for (const SlidingDim::Input& input : slides_[number].inputs) {
        if (given_[static_cast<std::size_t>(input.input)][axis] == replicated()) continue;  // all rows are there
        const Type& type = input_type(input.input);
        const std::int64_t rows = most_rows_got({type.shape[input.dim].size(), where_.axes[axis], {input.reads}});
        const Layout& layout = tried_.inputs[static_cast<std::size_t>(input.input)];
        cost += message_cost(program_, where_, axis, row_bytes(type, layout, where_, axis, rows));
      }
    }
    return cost;
  }

  AxisLayout output_layout(int letter, std::size_t output) const {
    const auto& dims = space_->outputs[output];
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d] == letter) return split(static_cast<int>(d));
    return partial(node_.def->reduce);
  }

  /// Whether the op is linear in the input, together with others. An op of more than 32 inputs is linear in all or
  /// none.
  bool is_linear_in(std::uint32_t i) const {
    return (node_.def->linear_in(input_type(static_cast<int>(i)).dtype) >> std::min(i, 31U) & 1U) != 0;
  }

  /// Partial sums pass through. Not where the op also reads a whole value, such as a square does: then the sum is
  /// known, so that nothing is saved, and an infinity in it would meet parts that are 0 or have the other sign.
  std::optional<Choice> linear_choice(std::size_t axis) const {
    if (node_.def->linear == 0) return std::nullopt;
    Choice choice = replicated_choice();
    const auto inputs = program_.inputs(node_);
    for (std::uint32_t i = 0; i < node_.inputs; ++i) {
      if (!is_linear_in(i)) continue;
      choice.inputs[i] = partial(Reduce::sum);
      if (given_[i][axis] != choice.inputs[i]) return std::nullopt;
      for (std::uint32_t other = 0; other < node_.inputs; ++other)
        if (inputs[other] == inputs[i] && !is_linear_in(other) && !is_unread(program_, node_, other))
          return std::nullopt;
      if (choice.asked == kNone) choice.asked = i;
    }
    if (choice.asked == kNone) return std::nullopt;
    for (AxisLayout& output : choice.outputs) output = partial(Reduce::sum);
    return choice;
  }

  /// Tries every combination of choices for the axes from `axis` on.
  void try_from(std::size_t axis) {
    if (axis == where_.axes.size()) return consider();
    for (const Choice& choice : choices_[axis]) {
      for (std::size_t i = 0; i < node_.inputs; ++i) tried_.inputs[i][axis] = choice.inputs[i];
      for (std::size_t o = 0; o < node_.outputs.count; ++o) tried_.outputs[o][axis] = choice.outputs[o];
      parallel_[axis] = choice.parallel;
      letters_[axis] = choice.letter;
      tried_.asked[axis] = choice.asked;
      tried_.slides[axis] = choice.slides;
      try_from(axis + 1);
    }
  }

  /// Whether two axes split a letter whose sizes differ (IndexSpace::divisor).
  bool splits_regrouped_twice() const {
    return std::ranges::any_of(letters_, [&](int l) { return l >= 0 && std::ranges::count(letters_, l) > 1; });
  }

  void consider() {
    const std::optional<std::int64_t> of_halos = halos();
    if (!of_halos || splits_regrouped_twice()) return;
    std::int64_t cost = computing() + *of_halos;
    for (std::size_t i = 0; i < node_.inputs; ++i) {
      if (is_unread(program_, node_, i)) continue;
      const std::int64_t before = cost;
      if (!add_cost(cost, program_.inputs(node_)[i], given_[i], tried_.inputs[i])) return;
      if (program_.apart && cost > before) cost += kApart;
    }
    bool matches = true;
    for (std::uint32_t o = 0; o < node_.outputs.count; ++o) {
      const Layout& to = wanted_[o].empty() ? joined(node_.outputs[o], tried_.outputs[o]) : wanted_[o];
      if (!add_cost(cost, node_.outputs[o], tried_.outputs[o], to)) return;
      matches = matches && (wanted_[o].empty() || tried_.outputs[o] == wanted_[o]);
    }
    if (best_ && (cost > cost_ || (cost == cost_ && matches <= matches_))) return;
    best_ = tried_;
    cost_ = cost;
    matches_ = matches;
  }

  /// The time that the kernel takes on one task, by the slower of arithmetic and memory. Layouts decide in which order
  /// sums are folded, so they are chosen alike for all kinds of devices.
  std::int64_t computing() const { return computing_picoseconds(DeviceKind::cpu, work()); }

  /// The work of a task on its parts in the layouts that are tried.
  OpWork work() const {
    if (node_.def->flops_of != nullptr || node_.def->bytes_of != nullptr) return work_of_types();
    OpWork work{flops(), 0};
    for (std::size_t i = 0; i < node_.inputs; ++i)
      if (!is_unread(program_, node_, i))
        work.bytes +=
            static_cast<double>(part_bytes(program_.values[program_.inputs(node_)[i]].type, tried_.inputs[i], where_));
    for (std::uint32_t o = 0; o < node_.outputs.count; ++o)
      work.bytes += static_cast<double>(part_bytes(program_.values[node_.outputs[o]].type, tried_.outputs[o], where_));
    return work;
  }

  /// The same from the types of the parts. That takes longer, since it makes types for each layout that is tried.
  OpWork work_of_types() const {
    OpParts parts;
    std::vector<Type> outputs;
    for (std::size_t i = 0; i < node_.inputs; ++i)
      parts.inputs.push_back(part_type(program_.values[program_.inputs(node_)[i]].type, tried_.inputs[i], where_));
    for (std::uint32_t o = 0; o < node_.outputs.count; ++o) {
      outputs.push_back(program_.values[node_.outputs[o]].type);
      parts.outputs.push_back(part_type(outputs.back(), tried_.outputs[o], where_));
    }
    return work_of_parts(*node_.def, ProgramFacts(program_, program_.inputs(node_), *node_.attrs), outputs, parts);
  }

  /// The flops of the part of the index space that one task computes.
  double flops() const {
    if (!space_) return 0;
    double points = node_.def->flops * space_->points();
    for (std::size_t axis = 0; axis < parallel_.size(); ++axis)
      if (parallel_[axis]) points /= static_cast<double>(where_.axes[axis]);
    return points;
  }

  bool add_cost(std::int64_t& cost, PValueId value, const Layout& from, const Layout& to) const {
    const std::int64_t more = conversion_cost(program_, program_.values[value].type, where_, from, to);
    cost += more;
    return more >= 0;
  }

  /// The cheapest layout to which a partial output can be reduced: parts along the first dim (a reduce-scatter).
  Layout joined(PValueId value, Layout layout) const {
    const bool scalar = program_.values[value].type.shape.rank() == 0;
    for (AxisLayout& axis : layout)
      if (axis.kind == Kind::partial) axis = scalar ? replicated() : split(0);
    return layout;
  }

  const Program& program_;
  const Node& node_;
  const Where& where_;
  const std::optional<IndexSpace> space_;
  const std::optional<WindowOf> window_;
  const std::vector<SlidingDim> slides_;
  const std::vector<Layout>&given_, &wanted_;
  std::vector<std::vector<Choice>> choices_;
  Strategy tried_;
  std::vector<bool> parallel_;  // by axis: Choice::parallel of the choice in tried_
  std::vector<int> letters_;    // by axis: Choice::letter of it

  std::optional<Strategy> best_;
  std::int64_t cost_ = 0;
  bool matches_ = false;
};

}  // namespace

std::vector<Layout> annotated_layouts(const Node& node, const Where& where) {
  std::vector<Layout> layouts(node.outputs.count);
  const Annotation& annotation = node.graph->op(node.op).annotation();
  if (annotation.mesh == kNoMesh || annotation.layouts.empty() || where.single()) return layouts;
  if (node.def == nullptr || node.role() == OpRole::take_part) return layouts;
  std::copy_n(annotation.layouts.begin(), layouts.size(), layouts.begin());
  return layouts;
}

Layout joined(Layout layout) {
  for (AxisLayout& axis : layout)
    if (axis.kind == AxisLayout::Kind::partial) axis = replicated();
  return layout;
}

NodeId asking_output(const Program& program, NodeId id, const Strategy& strategy, std::size_t axis) {
  if (strategy.asked[axis] != Strategy::kOutput) return kNone;
  const Node& node = program.nodes[id];
  const std::vector<Layout> annotated = annotated_layouts(node, program.where(node));
  for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
    if (!annotated[o].empty() && annotated[o][axis] == strategy.outputs[o][axis]) return id;
    const auto hint = program.hints.find(node.outputs[o]);
    if (hint != program.hints.end() && hint->second.layout[axis] == strategy.outputs[o][axis])
      return hint->second.causes[axis];
  }
  return kNone;
}

Strategy choose_strategy(const Program& program, const Node& node, const std::vector<Layout>& given,
                         const std::vector<Layout>& wanted) {
  return Chooser(program, node, given, wanted).best();
}

}  // namespace ferry
