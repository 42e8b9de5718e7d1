#include "placement/strategy.hpp"

#include <optional>

#include "graph/index_notation.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

/// One way for one axis.
struct Choice {
  std::vector<AxisLayout> inputs, outputs;
};

class AxisChooser {
 public:
  AxisChooser(const Program& program, const Node& node, const IndexSpace* space, const std::vector<Layout>& given,
              const std::vector<Layout>& wanted, std::size_t axis, const std::vector<bool>& taken)
      : program_(program),
        node_(node),
        space_(space),
        given_(given),
        wanted_(wanted),
        axis_(axis),
        taken_(taken),
        members_(program.where(node).axes[axis]) {}

  /// The cheapest choice, and the letter that it splits (-1: none).
  std::pair<Choice, int> best() {
    consider(replicated_choice(), -1);
    if (members_ == 1 || space_ == nullptr) return {*best_, letter_};
    for (int letter = 0; letter < static_cast<int>(space_->sizes.size()); ++letter)
      if (const auto choice = split_choice(letter)) consider(*choice, letter);
    if (const auto choice = linear_choice()) consider(*choice, -1);
    return {*best_, letter_};
  }

 private:
  Choice replicated_choice() const {
    return {std::vector<AxisLayout>(node_.inputs), std::vector<AxisLayout>(node_.outputs)};
  }

  std::optional<Choice> split_choice(int letter) const {
    const auto l = static_cast<std::size_t>(letter);
    if (space_->whole[l] || taken_[l] || space_->sizes[l].bounded()) return std::nullopt;
    Choice choice = replicated_choice();
    bool asked = false;
    for (std::size_t i = 0; i < node_.inputs; ++i)
      for (std::size_t d = 0; d < space_->inputs[i].size(); ++d) {
        if (space_->inputs[i][d] != letter || space_->broadcast[i][d]) continue;
        choice.inputs[i] = split(static_cast<int>(d));
        asked = asked || given_[i][axis_] == choice.inputs[i];
      }
    for (std::size_t o = 0; o < node_.outputs; ++o) {
      const AxisLayout out = output_layout(letter, o);
      if (out.kind == Kind::partial && node_.def->reduce == Reduce::none) return std::nullopt;
      choice.outputs[o] = out;
      asked = asked || (!wanted_[o].empty() && wanted_[o][axis_] == out);
    }
    if (!asked) return std::nullopt;
    return choice;
  }

  AxisLayout output_layout(int letter, std::size_t output) const {
    const auto& dims = space_->outputs[output];
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d] == letter) return split(static_cast<int>(d));
    return partial(node_.def->reduce);
  }

  std::optional<Choice> linear_choice() const {
    if (node_.def->linear == 0) return std::nullopt;
    Choice choice = replicated_choice();
    for (std::size_t i = 0; i < node_.inputs; ++i) {
      if (i < 32 && (node_.def->linear >> i & 1U) == 0) continue;  // an op of more inputs is linear in all or none
      choice.inputs[i] = partial(Reduce::sum);
      if (given_[i][axis_] != choice.inputs[i]) return std::nullopt;
    }
    for (AxisLayout& output : choice.outputs) output = partial(Reduce::sum);
    return choice;
  }

  void consider(const Choice& choice, int letter) {
    std::int64_t cost = 0;
    for (std::size_t i = 0; i < node_.inputs; ++i) {
      if (is_unread(program_, node_, i)) continue;
      const std::int64_t bytes = program_.values[program_.inputs(node_)[i]].type.bytes();
      const std::int64_t moved = reshard_bytes(given_[i][axis_], choice.inputs[i], bytes, members_);
      if (moved < 0) return;
      cost += moved;
    }
    bool matches = true;
    for (std::size_t o = 0; o < node_.outputs; ++o) {
      if (wanted_[o].empty()) continue;
      const std::int64_t bytes = program_.values[node_.first_output + o].type.bytes();
      const std::int64_t moved = reshard_bytes(choice.outputs[o], wanted_[o][axis_], bytes, members_);
      if (moved < 0) return;
      cost += moved;
      matches = matches && choice.outputs[o] == wanted_[o][axis_];
    }
    // Later candidates win ties with the replicated one, and those that give what is wanted win over those that do not.
    const bool better =
        !best_ || cost < cost_ || (cost == cost_ && (matches > matches_ || (matches == matches_ && replicated_)));
    if (!better) return;
    replicated_ = !best_.has_value();
    best_ = choice;
    cost_ = cost;
    matches_ = matches;
    letter_ = letter;
  }

  const Program& program_;
  const Node& node_;
  const IndexSpace* space_;
  const std::vector<Layout>&given_, &wanted_;
  std::size_t axis_;
  const std::vector<bool>& taken_;
  std::int64_t members_;

  std::optional<Choice> best_;
  std::int64_t cost_ = 0;
  bool matches_ = false, replicated_ = false;
  int letter_ = -1;
};

}  // namespace

bool is_unread(const Program& program, const Node& node, std::size_t input) {
  return input < 32 && (node.def->unread >> input & 1U) != 0 &&
         !program.values[program.inputs(node)[input]].type.shape.bounded();
}

std::int64_t reshard_bytes(const AxisLayout& from, const AxisLayout& to, std::int64_t bytes, std::int64_t members) {
  if (from == to || members == 1) return 0;
  if (to.kind == Kind::partial) return -1;
  if (from.kind == Kind::replicated) return 0;  // a part is cut out locally
  const std::int64_t others = bytes / members * (members - 1) + bytes % members;
  return from.kind == Kind::partial && to.kind == Kind::replicated ? 2 * others : others;
}

Strategy choose_strategy(const Program& program, const Node& node, const std::vector<Layout>& given,
                         const std::vector<Layout>& wanted) {
  const std::size_t axes = program.where(node).axes.size();
  Strategy strategy{std::vector<Layout>(node.inputs, Layout(axes)), std::vector<Layout>(node.outputs, Layout(axes))};
  std::optional<IndexSpace> space;
  if (!node.def->index.empty() || node.def->index_of != nullptr) {
    const ProgramFacts facts(program, program.inputs(node), *node.attrs);
    space = bind_index(notation_of(*node.def, facts), facts);
    for (std::size_t o = 0; o < node.outputs; ++o)
      for (std::size_t d = 0; d < space->outputs[o].size(); ++d) {
        Dim& size = space->sizes[static_cast<std::size_t>(space->outputs[o][d])];
        if (!size.known()) size = program.values[node.first_output + o].type.shape[static_cast<int>(d)];
      }
  }
  std::vector<bool> taken(space ? space->sizes.size() : 0, false);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto [choice, letter] =
        AxisChooser(program, node, space ? &*space : nullptr, given, wanted, axis, taken).best();
    if (letter >= 0) taken[static_cast<std::size_t>(letter)] = true;
    for (std::size_t i = 0; i < node.inputs; ++i) strategy.inputs[i][axis] = choice.inputs[i];
    for (std::size_t o = 0; o < node.outputs; ++o) strategy.outputs[o][axis] = choice.outputs[o];
  }
  return strategy;
}

}  // namespace ferry
