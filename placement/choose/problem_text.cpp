#include "placement/choose/problem_text.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace ferry {
namespace {

/// The problem and its memory as in the JSON format: one interval and one list of usages for each node.
struct Nodes {
  Problem problem;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> intervals;
  std::vector<std::vector<std::int64_t>> usages;
  std::vector<std::uint32_t> choices;
};

std::string list_text(const auto& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(std::to_string(number));
  return "[" + join(texts, ", ") + "]";
}

std::string lists_text(const auto& lists) {
  std::vector<std::string> texts;
  for (const auto& list : lists) texts.push_back(list_text(list));
  return "[" + join(texts, ",\n") + "]";
}

/// An edge that keeps a node equal to a variable: choice i of the node needs choice of_variable[i] of the variable; any
/// other choice of the variable is impossible.
Problem::Edge agreement(const Problem& problem, std::uint32_t variable, std::uint32_t node,
                        const std::vector<std::uint32_t>& of_variable) {
  Problem::Edge edge{variable, node, {}};
  for (std::uint32_t choice = 0; choice < problem.costs[variable].size(); ++choice)
    for (const std::uint32_t other : of_variable) edge.costs.push_back(choice == other ? 0 : kImpossible);
  return edge;
}

void add_node(Nodes& nodes, const MemoryUse::Use& use) {
  const auto rows = static_cast<std::uint32_t>(nodes.problem.costs[use.a].size());
  const std::uint32_t columns = use.a == use.b ? 1 : static_cast<std::uint32_t>(nodes.problem.costs[use.b].size());
  std::vector<std::uint32_t> of_a, of_b;
  for (std::uint32_t i = 0; i < rows; ++i)
    for (std::uint32_t j = 0; j < columns; ++j) {
      of_a.push_back(i);
      of_b.push_back(j);
    }
  const std::uint32_t node = nodes.problem.add(std::vector<std::int64_t>(of_a.size()));
  nodes.intervals.emplace_back(use.begin, use.end);
  nodes.usages.push_back(use.bytes);
  nodes.choices.push_back(nodes.choices[use.a] * columns + (use.a == use.b ? 0 : nodes.choices[use.b]));
  nodes.problem.edges.push_back(agreement(nodes.problem, use.a, node, of_a));
  if (use.a != use.b) nodes.problem.edges.push_back(agreement(nodes.problem, use.b, node, of_b));
}

Nodes nodes_of(const Problem& problem, const MemoryUse& memory, std::span<const std::uint32_t> choices) {
  Nodes nodes{problem, {}, {}, {choices.begin(), choices.end()}};
  nodes.intervals.resize(problem.costs.size());
  for (const std::vector<std::int64_t>& costs : problem.costs) nodes.usages.emplace_back(costs.size());
  for (const MemoryUse::Use& use : memory.uses()) {
    auto& [begin, end] = nodes.intervals[use.a];
    if (use.a != use.b || begin != end) {
      add_node(nodes, use);
      continue;
    }
    begin = use.begin;
    end = use.end;
    nodes.usages[use.a] = use.bytes;
  }
  return nodes;
}

}  // namespace

ProblemText problem_text(const Problem& problem, const MemoryUse& memory, std::span<const std::uint32_t> choices) {
  const Nodes nodes = nodes_of(problem, memory, choices);
  std::vector<std::vector<std::uint32_t>> intervals, ends;
  for (const auto& [begin, end] : nodes.intervals) intervals.push_back({begin, end});
  std::vector<std::vector<std::int64_t>> costs;
  for (const Problem::Edge& edge : nodes.problem.edges) {
    ends.push_back({edge.a, edge.b});
    costs.push_back(edge.costs);
  }
  return {"\"nodes\": {\"intervals\": " + lists_text(intervals) + ",\n\"costs\": " + lists_text(nodes.problem.costs) +
              ",\n\"usages\": " + lists_text(nodes.usages) + "},\n\"edges\": {\"nodes\": " + lists_text(ends) +
              ",\n\"costs\": " + lists_text(costs) + "}",
          list_text(nodes.choices)};
}

std::string problem_file(const Program& program, const std::string& name, std::int64_t bound,
                         std::optional<std::int64_t> limit) {
  const auto in_units = [&](std::int64_t picoseconds) { return std::to_string(picoseconds / program.cost_unit); };
  return "{\"problem\": {\"name\": \"" + name + "\",\n" + program.problem.problem +
         (limit ? ",\n\"usage_limit\": " + std::to_string(*limit) : "") +
         "},\n\"solution\": {\"picoseconds_of_cost\": " + std::to_string(program.cost_unit) +
         ", \"value\": " + in_units(program.chosen_cost) + ", \"bound\": " + in_units(bound) +
         ",\n\"choices\": " + program.problem.choices + "}}\n";
}

}  // namespace ferry
