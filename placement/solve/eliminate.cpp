#include "placement/solve/eliminate.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

namespace ferry {
namespace {

/// A table over several variables, row-major; the first variable changes slowest.
struct Factor {
  std::vector<std::uint32_t> variables;  // ascending
  std::span<const std::int64_t> costs;   // of the problem, or `made`
  std::vector<std::int64_t> made;
};

class Eliminator {
 public:
  explicit Eliminator(const Problem& problem)
      : problem_(problem),
        factors_of_(problem.costs.size()),
        neighbours_(problem.costs.size()),
        entries_(problem.costs.size()),
        gone_(problem.costs.size()) {
    factors_.reserve(problem.costs.size() + problem.edges.size());
    for (std::uint32_t variable = 0; variable < problem.costs.size(); ++variable)
      add({{variable}, problem.costs[variable], {}});
    for (const Problem::Edge& edge : problem.edges) add({{edge.a, edge.b}, edge.costs, {}});
    for (std::uint32_t variable = 0; variable < problem.costs.size(); ++variable) queue(variable);
  }

  std::optional<std::vector<std::uint32_t>> run(double most) {
    while (!queue_.empty()) {
      const auto [entries, variable] = queue_.top();
      queue_.pop();
      if (gone_[variable] || entries != entries_[variable]) continue;
      if (entries > most) return std::nullopt;
      eliminate(variable);
    }
    return choices();
  }

 private:
  /// An eliminated variable: its best choice for each combination of the choices of its neighbours.
  struct Elimination {
    std::uint32_t variable = 0;
    std::vector<std::uint32_t> neighbours;
    std::vector<std::uint32_t> best;  // row-major in the neighbours' choices
  };
  /// A read position in a factor. The strides are the distances between entries that differ by one in one variable.
  struct ReadPosition {
    std::span<const std::int64_t> costs;
    std::size_t own = 0;             // stride of the variable that is eliminated
    std::vector<std::size_t> steps;  // strides of the other variables
    std::size_t at = 0;
  };

  [[nodiscard]] std::size_t size(std::uint32_t variable) const { return problem_.costs[variable].size(); }

  void add(Factor factor) {
    for (const std::uint32_t variable : factor.variables) {
      factors_of_[variable].push_back(static_cast<std::uint32_t>(factors_.size()));
      for (const std::uint32_t other : factor.variables) {
        std::vector<std::uint32_t>& all = neighbours_[variable];
        const auto place = std::ranges::lower_bound(all, other);
        if (other != variable && (place == all.end() || *place != other)) all.insert(place, other);
      }
    }
    factors_.push_back(std::move(factor));
  }

  /// Puts the variable into the queue, with its table's number of entries. Earlier places of it do not count any more.
  void queue(std::uint32_t variable) {
    auto entries = static_cast<double>(size(variable));
    for (const std::uint32_t other : neighbours_[variable]) {
      entries *= static_cast<double>(size(other));
      if (entries > kMany) break;
    }
    entries_[variable] = entries;
    queue_.emplace(entries, variable);
  }

  void eliminate(std::uint32_t variable) {
    const std::vector<std::uint32_t> others = std::move(neighbours_[variable]);
    std::size_t combinations = 1;
    for (const std::uint32_t other : others) combinations *= size(other);
    std::vector<ReadPosition> reads = reads_of(variable, others);
    std::vector<std::int64_t> least(combinations);
    Elimination& one = eliminations_.emplace_back(Elimination{variable, others, {}});
    one.best.resize(combinations);
    std::vector<std::size_t> chosen(others.size());
    for (std::size_t at = 0; at < combinations; ++at) {
      std::tie(least[at], one.best[at]) = least_of(reads, size(variable));
      step(reads, others, chosen);
    }
    remove(variable, others);
    if (others.empty()) return;
    Factor made{others, {}, std::move(least)};
    made.costs = made.made;
    add(std::move(made));
    for (const std::uint32_t other : others) queue(other);
  }

  [[nodiscard]] std::vector<ReadPosition> reads_of(std::uint32_t variable,
                                                   const std::vector<std::uint32_t>& others) const {
    std::vector<ReadPosition> reads;
    for (const std::uint32_t number : factors_of_[variable]) {
      const Factor& factor = factors_[number];
      ReadPosition read{factor.costs, 0, std::vector<std::size_t>(others.size()), 0};
      std::size_t step = 1;
      for (std::size_t k = factor.variables.size(); k > 0; --k) {
        const std::uint32_t other = factor.variables[k - 1];
        if (other == variable)
          read.own = step;
        else
          read.steps[std::ranges::lower_bound(others, other) - others.begin()] = step;
        step *= size(other);
      }
      reads.push_back(std::move(read));
    }
    return reads;
  }

  /// The minimum over the variable's choices of the sum of the factors, and the choice that has it.
  static std::pair<std::int64_t, std::uint32_t> least_of(const std::vector<ReadPosition>& reads, std::size_t choices) {
    std::pair<std::int64_t, std::uint32_t> found{2 * kImpossible, 0};
    for (std::uint32_t choice = 0; choice < choices; ++choice) {
      std::int64_t cost = 0;
      for (const ReadPosition& read : reads) cost = add_costs(cost, read.costs[read.at + choice * read.own]);
      if (cost < found.first) found = {cost, choice};
    }
    return found;
  }

  /// Advances to the next combination of the other variables' choices.
  void step(std::vector<ReadPosition>& reads, const std::vector<std::uint32_t>& others,
            std::vector<std::size_t>& choices) const {
    for (std::size_t k = others.size(); k > 0; --k) {
      for (ReadPosition& read : reads) read.at += read.steps[k - 1];
      if (++choices[k - 1] < size(others[k - 1])) return;
      for (ReadPosition& read : reads) read.at -= read.steps[k - 1] * size(others[k - 1]);
      choices[k - 1] = 0;
    }
  }

  void remove(std::uint32_t variable, const std::vector<std::uint32_t>& others) {
    for (const std::uint32_t number : factors_of_[variable]) {
      for (const std::uint32_t other : factors_[number].variables)
        if (other != variable) std::erase(factors_of_[other], number);
      factors_[number] = {};
    }
    factors_of_[variable].clear();
    for (const std::uint32_t other : others) std::erase(neighbours_[other], variable);
    gone_[variable] = true;
  }

  /// The best choices of all variables, from the last eliminated one to the first.
  [[nodiscard]] std::vector<std::uint32_t> choices() const {
    std::vector<std::uint32_t> choices(problem_.costs.size());
    for (std::size_t e = eliminations_.size(); e > 0; --e) {
      const Elimination& one = eliminations_[e - 1];
      std::size_t at = 0;
      for (const std::uint32_t other : one.neighbours) at = at * size(other) + choices[other];
      choices[one.variable] = one.best[at];
    }
    return choices;
  }

  static constexpr double kMany = 1e12;  // larger tables are never made

  const Problem& problem_;
  std::vector<Factor> factors_;
  std::vector<std::vector<std::uint32_t>> factors_of_;  // the factors of each variable
  std::vector<std::vector<std::uint32_t>> neighbours_;  // of each variable, ascending
  std::vector<double> entries_;                         // of each variable's table
  std::vector<bool> gone_;
  std::priority_queue<std::pair<double, std::uint32_t>, std::vector<std::pair<double, std::uint32_t>>, std::greater<>>
      queue_;
  std::vector<Elimination> eliminations_;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> eliminate_all(const Problem& problem, double most) {
  return Eliminator(problem).run(most);
}

}  // namespace ferry
