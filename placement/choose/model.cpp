#include "placement/choose/model.hpp"

#include <algorithm>

#include "placement/layout/conversion.hpp"

namespace ferry {

ChosenLayouts LayoutModel::layouts(std::span<const std::uint32_t> choices) const {
  ChosenLayouts chosen;
  for (const auto& [node, of] : ways_) chosen.ways.emplace(node, of.second[choices[of.first]]);
  for (const auto& [value, of] : laid_) chosen.laid.emplace(value, of.second[choices[of.first]]);
  for (const auto& [value, of] : conversions_)
    if (const Layout& layout = of.second[choices[of.first]]; !is_partial(layout))
      chosen.converted.emplace(value, layout);
  return chosen;
}

std::vector<std::uint32_t> LayoutModel::choices(const Program& program, const ChosenLayouts& chosen) const {
  const auto index = [](const auto& all, const auto& is_chosen) {
    return static_cast<std::uint32_t>(std::ranges::find_if(all, is_chosen) - all.begin());
  };
  std::vector<std::uint32_t> choices(problem_.costs.size(), 0);
  for (const auto& [node, of] : ways_) {
    const Way& way = chosen.ways.at(node);
    choices[of.first] =
        index(of.second, [&](const Way& other) { return other.inputs == way.inputs && other.outputs == way.outputs; });
  }
  for (const auto& [value, of] : laid_) {
    const Layout& laid = chosen.laid.at(value);
    choices[of.first] = index(of.second, [&](const Layout& other) { return other == laid; });
  }
  for (const auto& [value, of] : conversions_) {
    const auto converted = chosen.converted.find(value);  // if there is none, the value keeps its op's layout
    const PValue& made = program.values[value];
    const Layout layout = converted != chosen.converted.end()
                              ? converted->second
                              : chosen.ways.at(made.producer).outputs[value - program.nodes[made.producer].outputs[0]];
    choices[of.first] = index(of.second, [&](const Layout& other) { return other == layout; });
  }
  return choices;
}

std::optional<std::uint32_t> LayoutModel::variable(const Program& program, NodeId node) const {
  if (const auto found = ways_.find(node); found != ways_.end()) return found->second.first;
  const Range outputs = program.nodes[node].outputs;
  const auto found = outputs.count == 0 ? laid_.end() : laid_.find(outputs[0]);
  return found == laid_.end() ? std::nullopt : std::optional(found->second.first);
}

std::string LayoutModel::text(const Program& program, NodeId node, std::uint32_t choice) const {
  const auto found = ways_.find(node);
  if (found == ways_.end()) return str(laid_.at(program.nodes[node].outputs[0]).second[choice]);
  std::string text;
  for (const Layout& input : found->second.second[choice].inputs) text += str(input) + " ";
  text += "->";
  for (const Layout& output : found->second.second[choice].outputs) text += " " + str(output);
  return text;
}

}  // namespace ferry
