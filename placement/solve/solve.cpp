#include <algorithm>

#include "placement/solve/message_passing.hpp"
#include "placement/solve/problem.hpp"
#include "placement/solve/reduced_problem.hpp"

namespace ferry {
namespace {

class Solver {
 public:
  Solver(const Problem& problem, const SolveLimits& limits) : problem_(problem), limits_(limits), reduced_(problem) {
    reduced_.reduce();
    rest_ = reduced_.rest();
  }

  Solution run() {
    ReducedProblem exact(rest_);
    if (exact.eliminate_all(limits_.table)) {
      keep_if_better(exact.expand({}));
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
      ReducedProblem few(rest_);
      for (std::uint32_t variable = 0; variable < rest_.costs.size(); ++variable) {
        std::vector<bool> kept(rest_.costs[variable].size());
        for (std::size_t choice = 0; choice < kept.size(); ++choice)
          kept[choice] =
              messages.excess(variable, choice) <= best_.bound / share || messages.best()[variable] == choice;
        few.keep(variable, kept);
      }
      few.reduce();
      if (!few.eliminate_all(limits_.table)) return;
      keep_if_better(few.expand({}));
    }
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
