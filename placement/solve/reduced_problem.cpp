#include "placement/solve/reduced_problem.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace ferry {

ReducedProblem::ReducedProblem(const Problem& problem)
    : costs_(problem.costs), tables_(costs_.size()), originals_(costs_.size()), gone_(costs_.size()) {
  for (std::size_t variable = 0; variable < costs_.size(); ++variable) {
    originals_[variable].resize(costs_[variable].size());
    std::iota(originals_[variable].begin(), originals_[variable].end(), 0U);
  }
  for (const Problem::Edge& edge : problem.edges) add_table(edge.a, edge.b, edge.costs);
}

void ReducedProblem::add_table(std::uint32_t a, std::uint32_t b, const std::vector<std::int64_t>& table) {
  std::vector<std::int64_t>&ab = tables_[a][b], &ba = tables_[b][a];
  ab.resize(table.size());
  ba.resize(table.size());
  const std::size_t rows = size(a), columns = size(b);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      std::int64_t& cost = ab[i * columns + j];
      cost = add_costs(cost, table[i * columns + j]);
      ba[j * rows + i] = cost;
    }
}

void ReducedProblem::reduce() {
  std::set<std::uint32_t> changed;
  for (const std::uint32_t variable : remaining_variables()) changed.insert(variable);
  while (!changed.empty()) {
    const std::uint32_t variable = *changed.begin();
    changed.erase(changed.begin());
    if (gone_[variable]) continue;
    std::vector<std::uint32_t> neighbours;
    for (const auto& [other, table] : tables_[variable]) neighbours.push_back(other);
    const bool fewer = remove_dominated(variable);
    const bool eliminated = size(variable) == 1 || neighbours.size() <= 2;
    if (eliminated) eliminate(variable);
    if (fewer || eliminated) changed.insert(neighbours.begin(), neighbours.end());
  }
}

bool ReducedProblem::remove_dominated(std::uint32_t variable) {
  std::vector<bool> kept(size(variable), true);
  for (std::size_t worse = 0; worse < kept.size(); ++worse)
    for (std::size_t better = 0; better < kept.size() && kept[worse]; ++better)
      if (better != worse && kept[better] && dominates(variable, better, worse)) kept[worse] = false;
  if (std::ranges::find(kept, false) == kept.end()) return false;
  keep(variable, kept);
  return true;
}

/// Whether `better` never costs more than `worse`, for all choices of the neighbours.
bool ReducedProblem::dominates(std::uint32_t variable, std::size_t better, std::size_t worse) const {
  std::int64_t least = costs_[variable][worse] - costs_[variable][better];
  for (const auto& [other, table] : tables_[variable]) {
    const std::size_t columns = size(other);
    std::int64_t of_table = kImpossible;
    for (std::size_t j = 0; j < columns; ++j)
      of_table = std::min(of_table, table[worse * columns + j] - table[better * columns + j]);
    least += of_table;
    if (least < -kImpossible) return false;
  }
  return least >= 0;
}

void ReducedProblem::keep(std::uint32_t variable, const std::vector<bool>& kept) {
  const std::size_t before = size(variable);
  const auto kept_of = [&](auto& all) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < before; ++i)
      if (kept[i]) all[at++] = all[i];
    all.resize(at);
  };
  for (auto& [other, table] : tables_[variable]) {
    const std::size_t columns = size(other);
    std::vector<std::int64_t> fewer;
    for (std::size_t i = 0; i < before; ++i)
      if (kept[i])
        fewer.insert(fewer.end(), table.begin() + static_cast<std::ptrdiff_t>(i * columns),
                     table.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
    std::vector<std::int64_t>& back = tables_[other][variable];
    const std::size_t now = fewer.size() / columns;
    back.resize(fewer.size());
    for (std::size_t i = 0; i < now; ++i)
      for (std::size_t j = 0; j < columns; ++j) back[j * now + i] = fewer[i * columns + j];
    table = std::move(fewer);
  }
  kept_of(costs_[variable]);
  kept_of(originals_[variable]);
}

void ReducedProblem::record_elimination(std::uint32_t variable, const std::vector<std::uint32_t>& neighbours,
                                        std::vector<std::uint32_t> best) {
  Elimination& one = eliminations_.emplace_back(Elimination{variable, neighbours, {}, std::move(best)});
  for (const std::uint32_t other : neighbours) one.originals.push_back(originals_[other]);
  for (std::uint32_t& choice : one.best) choice = originals_[variable][choice];
}

void ReducedProblem::eliminate(std::uint32_t variable) {
  // A variable with one choice adds a row of each table to a neighbour's costs. Any other variable has at most two
  // neighbours here.
  if (size(variable) == 1) {
    for (const auto& [other, table] : tables_[variable])
      for (std::size_t j = 0; j < size(other); ++j) costs_[other][j] = add_costs(costs_[other][j], table[j]);
    constant_ = add_costs(constant_, costs_[variable][0]);
    record_elimination(variable, {}, {0});
    return disconnect(variable);
  }
  std::vector<std::uint32_t> neighbours;
  std::vector<const std::vector<std::int64_t>*> tables;
  for (const auto& [other, table] : tables_[variable]) {
    neighbours.push_back(other);
    tables.push_back(&table);
  }
  const std::size_t rows = tables.empty() ? 1 : size(neighbours[0]);
  const std::size_t columns = tables.size() < 2 ? 1 : size(neighbours[1]);
  std::vector<std::int64_t> least(rows * columns, 2 * kImpossible);
  std::vector<std::uint32_t> best(least.size());
  for (std::uint32_t choice = 0; choice < size(variable); ++choice)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        std::int64_t cost = costs_[variable][choice];
        if (!tables.empty()) cost = add_costs(cost, (*tables[0])[choice * rows + i]);
        if (tables.size() == 2) cost = add_costs(cost, (*tables[1])[choice * columns + j]);
        if (cost >= least[i * columns + j]) continue;
        least[i * columns + j] = cost;
        best[i * columns + j] = choice;
      }
  record_elimination(variable, neighbours, std::move(best));
  disconnect(variable);
  if (neighbours.empty()) constant_ = add_costs(constant_, least[0]);
  if (neighbours.size() == 1)
    for (std::size_t i = 0; i < rows; ++i) costs_[neighbours[0]][i] = add_costs(costs_[neighbours[0]][i], least[i]);
  if (neighbours.size() == 2) add_table(neighbours[0], neighbours[1], least);
}

void ReducedProblem::disconnect(std::uint32_t variable) {
  for (const auto& [other, table] : tables_[variable]) tables_[other].erase(variable);
  tables_[variable].clear();
  gone_[variable] = true;
}

std::vector<std::uint32_t> ReducedProblem::remaining_variables() const {
  std::vector<std::uint32_t> variables;
  for (std::uint32_t variable = 0; variable < costs_.size(); ++variable)
    if (!gone_[variable]) variables.push_back(variable);
  return variables;
}

Problem ReducedProblem::rest() const {
  Problem rest;
  std::map<std::uint32_t, std::uint32_t> number;
  for (const std::uint32_t variable : remaining_variables()) number[variable] = rest.add(costs_[variable]);
  for (const auto& [variable, a] : number)
    for (const auto& [other, table] : tables_[variable])
      if (other > variable) rest.edges.push_back({a, number.at(other), table});
  return rest;
}

std::vector<std::uint32_t> ReducedProblem::expand(const std::vector<std::uint32_t>& of_rest) const {
  std::vector<std::uint32_t> choices(costs_.size());
  const std::vector<std::uint32_t> variables = remaining_variables();
  for (std::size_t i = 0; i < variables.size(); ++i) choices[variables[i]] = originals_[variables[i]][of_rest[i]];
  for (std::size_t e = eliminations_.size(); e > 0; --e) {
    const Elimination& one = eliminations_[e - 1];
    std::size_t at = 0;
    for (std::size_t k = 0; k < one.neighbours.size(); ++k) {
      const auto& originals = one.originals[k];
      const auto found = std::ranges::lower_bound(originals, choices[one.neighbours[k]]);
      at = at * originals.size() + static_cast<std::size_t>(found - originals.begin());
    }
    choices[one.variable] = one.best[at];
  }
  return choices;
}

}  // namespace ferry
