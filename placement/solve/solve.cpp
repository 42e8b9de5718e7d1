#include <algorithm>
#include <utility>
#include <vector>

#include "placement/solve/eliminate.hpp"
#include "placement/solve/message_passing.hpp"
#include "placement/solve/problem.hpp"
#include "placement/solve/reduced_problem.hpp"

namespace ferry {
namespace {

/// The problem with only these choices of each variable.
Problem with_choices(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& kept) {
  Problem few;
  for (std::size_t variable = 0; variable < kept.size(); ++variable) {
    std::vector<std::int64_t> costs;
    for (const std::uint32_t choice : kept[variable]) costs.push_back(problem.costs[variable][choice]);
    few.add(std::move(costs));
  }
  for (const Problem::Edge& edge : problem.edges) {
    const std::size_t columns = problem.costs[edge.b].size();
    Problem::Edge& made = few.edges.emplace_back(Problem::Edge{edge.a, edge.b, {}});
    made.costs.reserve(kept[edge.a].size() * kept[edge.b].size());
    for (const std::uint32_t a : kept[edge.a])
      for (const std::uint32_t b : kept[edge.b]) made.costs.push_back(edge.costs[a * columns + b]);
  }
  return few;
}

class Solver {
 public:
  Solver(const Problem& problem, const SolveLimits& limits) : problem_(problem), limits_(limits), reduced_(problem) {
    reduced_.reduce();
    rest_ = reduced_.rest();
  }

  Solution run() {
    if (const auto exact = eliminate_all(rest_, limits_.table)) {
      keep_if_better(*exact);
      best_.bound = best_.value;
    } else {
      pass_messages();
    }
    return best_;
  }

 private:
  void pass_messages() {
    MessagePassing messages(rest_);
    int due = std::min(kFirstSearch, limits_.passes);  // the pass after which choices are searched
    for (int pass = 1; pass <= limits_.passes && !is_solved(); ++pass) {
      messages.pass();
      best_.bound = add_costs(reduced_.constant(), messages.bound());
      if (pass != due) continue;
      due = std::min(4 * due, limits_.passes);
      messages.improve();
      keep_if_better(messages.best());
      eliminate_nearly_best(messages);
    }
  }

  [[nodiscard]] bool is_solved() const {
    return !best_.choices.empty() && best_.value - best_.bound <= best_.bound / limits_.precision;
  }

  /// Searches exactly among the choices that are nearly best by message passing. If a range of choices was small enough
  /// for exact elimination, tries a wider range.
  void eliminate_nearly_best(const MessagePassing& messages) {
    for (const std::int64_t share : {1'000'000'000, 1'000'000, 10'000}) {
      if (is_solved()) return;
      const std::vector<std::vector<std::uint32_t>> kept = nearly_best(messages, best_.bound / share);
      ReducedProblem few(with_choices(rest_, kept));
      few.reduce();
      const auto of_few = eliminate_all(few.rest(), limits_.table);
      if (!of_few) return;
      std::vector<std::uint32_t> found = few.expand(*of_few);
      for (std::size_t variable = 0; variable < found.size(); ++variable)
        found[variable] = kept[variable][found[variable]];
      keep_if_better(found);
    }
  }

  /// For each variable, the choices that cost at most `more` more than the best by message passing, ascending; and the
  /// choice of the best solution.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> nearly_best(const MessagePassing& messages,
                                                                    std::int64_t more) const {
    std::vector<std::vector<std::uint32_t>> kept(rest_.costs.size());
    for (std::uint32_t variable = 0; variable < kept.size(); ++variable)
      for (std::uint32_t choice = 0; choice < rest_.costs[variable].size(); ++choice)
        if (messages.excess(variable, choice) <= more || messages.best()[variable] == choice)
          kept[variable].push_back(choice);
    return kept;
  }

  void keep_if_better(const std::vector<std::uint32_t>& of_rest) {
    std::vector<std::uint32_t> choices = reduced_.expand(of_rest);
    const std::int64_t value = problem_.value(choices);
    if (!best_.choices.empty() && value >= best_.value) return;
    best_.choices = std::move(choices);
    best_.value = value;
  }

  static constexpr int kFirstSearch = 12;

  const Problem& problem_;
  const SolveLimits& limits_;
  ReducedProblem reduced_;
  Problem rest_;
  Solution best_;
};

}  // namespace

std::int64_t Problem::value(std::span<const std::uint32_t> choices) const {
  std::int64_t sum = 0;
  for (std::size_t variable = 0; variable < costs.size(); ++variable)
    sum = add_costs(sum, costs[variable][choices[variable]]);
  for (const Edge& edge : edges)
    sum = add_costs(sum, edge.costs[choices[edge.a] * costs[edge.b].size() + choices[edge.b]]);
  return sum;
}

Solution solve(const Problem& problem, const SolveLimits& limits) {
  return Solver(problem, limits).run();
}

}  // namespace ferry
