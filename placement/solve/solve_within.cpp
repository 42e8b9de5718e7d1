#include "placement/solve/solve_within.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ferry {
namespace {

class BranchAndBound {
 public:
  BranchAndBound(const Problem& problem, const MemoryUse& use, std::int64_t limit, const Solution& known,
                 const SearchLimits& limits)
      : problem_(problem), use_(use), limit_(limit), limits_(limits), best_(known) {}

  Solution run() {
    open_.emplace(0, ChoiceSet{});
    while (!open_.empty() && !is_enough(open_.begin()->first) && solves_ < limits_.solves) {
      ChoiceSet set = std::move(open_.extract(open_.begin()).mapped());
      divide(std::move(set));
    }
    best_.bound = std::min(best_.value, closed_);
    if (!open_.empty()) best_.bound = std::min(best_.bound, open_.begin()->first);
    return best_;
  }

 private:
  /// A set of choices: all choices of the problem except the forbidden ones.
  struct ChoiceSet {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> forbidden;  // variable, choice
    std::int64_t bound = 0;  // every solution of the set that fits costs at least this
    std::int64_t price = 0;  // the price with which its search begins
  };
  /// A solution at a price of memory.
  struct PricedSolution {
    std::int64_t price = 0, value = 0;
    MemoryUse::Peak peak;
    std::vector<std::uint32_t> choices;
  };

  [[nodiscard]] bool is_enough(std::int64_t bound) const {
    return bound >= best_.value - best_.value / limits_.precision;
  }

  /// Raises the set's bound, and divides the set in two if the bound does not suffice.
  void divide(ChoiceSet set) {
    Problem rest = problem_;
    for (const auto& [variable, choice] : set.forbidden) rest.costs[variable][choice] = kImpossible;
    std::optional<PricedSolution> over, under;  // the latest that does not fit, and the latest that fits
    for (int step = 0; step < kPrices; ++step) {
      const std::optional<PricedSolution> priced = solve_set(rest, set);
      if (!priced || is_enough(set.bound)) return close(set.bound);
      const bool fits = priced->peak.bytes <= limit_;
      if (fits && priced->price == 0) return close(set.bound);
      (fits ? under : over) = priced;
      const std::int64_t price = next_price(over, under, set.price);
      if (price == set.price) break;
      set.price = price;
    }
    if (!over) return close(set.bound);
    const std::optional<Division> division = division_of(rest, *over);
    if (!division) return;
    ChoiceSet other = set;
    for (std::uint32_t choice = 0; choice < division->is_first.size(); ++choice)
      if (rest.costs[division->variable][choice] < kImpossible)
        (division->is_first[choice] ? other : set).forbidden.emplace_back(division->variable, choice);
    open_.emplace(other.bound, std::move(other));
    open_.emplace(set.bound, std::move(set));
  }

  void close(std::int64_t bound) { closed_ = std::min(closed_, bound); }

  /// Solves `rest` at the set's price and raises the set's bound. Returns nullopt if no choices are possible.
  std::optional<PricedSolution> solve_set(const Problem& rest, ChoiceSet& set) {
    Solution solution = solve(set.price == 0 ? rest : use_.priced(rest, {set.price, points_}));
    ++solves_;
    if (solution.value >= kImpossible) {
      set.bound = best_.value;
      return std::nullopt;
    }
    set.bound = std::max(set.bound, bound_without_price(solution.bound, set.price, limit_));
    PricedSolution priced{set.price, problem_.value(solution.choices), use_.peak(problem_, solution.choices),
                          std::move(solution.choices)};
    if (std::ranges::find(points_, priced.peak.point) == points_.end()) points_.push_back(priced.peak.point);
    if (priced.peak.bytes <= limit_ && priced.value < best_.value) {
      best_.value = priced.value;
      best_.choices = priced.choices;
    }
    return priced;
  }

  /// The price at which both solutions cost the same. If there is only one solution, a multiple or a fraction of its
  /// price.
  [[nodiscard]] std::int64_t next_price(const std::optional<PricedSolution>& over,
                                        const std::optional<PricedSolution>& under, std::int64_t price) const {
    if (!under) return std::min(highest_price(limit_), std::max(first_price(best_.value, limit_), 4 * price));
    if (!over) return price / 4;
    const std::int64_t kibibytes = std::max<std::int64_t>(1, (over->peak.bytes - under->peak.bytes) / 1024);
    const std::int64_t same = (under->value - over->value) / kibibytes;
    return same <= over->price || same >= under->price ? price : same;
  }

  /// A division of a set of choices in two, by the choices of a variable.
  struct Division {
    std::uint32_t variable = 0;
    std::vector<bool> is_first;  // by choice
  };

  /// Divides by the variable with the largest difference between its memory, at the peak of `over`, and its minimum
  /// there: into choices with at least this memory and choices with less. If there is none, divides by a variable of
  /// the largest use of a pair: into its choice and all others. Returns nullopt if no choices have a lower peak.
  [[nodiscard]] std::optional<Division> division_of(const Problem& rest, const PricedSolution& over) const {
    std::map<std::uint32_t, std::vector<std::int64_t>> bytes;  // at the peak, by variable
    std::int64_t widest = 0, largest = 0;
    std::optional<Division> found;
    for (const MemoryUse::Use& use : use_.uses()) {
      if (over.peak.point < use.begin || use.end <= over.peak.point) continue;
      if (use.a == use.b) {
        std::vector<std::int64_t>& sums = bytes[use.a];
        sums.resize(use.bytes.size());
        for (std::size_t choice = 0; choice < sums.size(); ++choice) sums[choice] += use.bytes[choice];
        continue;
      }
      const std::int64_t of_pair = use.bytes[over.choices[use.a] * rest.costs[use.b].size() + over.choices[use.b]];
      for (const std::uint32_t variable : {use.a, use.b}) {
        if (of_pair <= largest || std::ranges::count_if(rest.costs[variable], is_possible) < 2) continue;
        largest = of_pair;
        found = {variable, std::vector<bool>(rest.costs[variable].size())};
        found->is_first[over.choices[variable]] = true;
      }
    }
    for (const auto& [variable, sums] : bytes) {
      const std::int64_t own = sums[over.choices[variable]];
      std::int64_t least = own;
      for (std::size_t choice = 0; choice < sums.size(); ++choice)
        if (is_possible(rest.costs[variable][choice])) least = std::min(least, sums[choice]);
      if (own - least <= widest) continue;
      widest = own - least;
      found = {variable, {}};
      for (const std::int64_t sum : sums) found->is_first.push_back(sum >= own);
    }
    return found;
  }

  static bool is_possible(std::int64_t cost) { return cost < kImpossible; }

  static constexpr int kPrices = 4;  // maximum number of prices for each set

  const Problem& problem_;
  const MemoryUse& use_;
  const std::int64_t limit_;
  const SearchLimits& limits_;
  Solution best_;
  std::multimap<std::int64_t, ChoiceSet> open_;  // by bound
  std::int64_t closed_ = kImpossible;            // the lowest bound of sets that are not divided further
  std::vector<std::uint32_t> points_;
  int solves_ = 0;
};

}  // namespace

int solves_for(const Problem& problem, std::size_t most, std::size_t work) {
  std::size_t choices = 0;
  for (const std::vector<std::int64_t>& costs : problem.costs) choices += costs.size();
  return static_cast<int>(std::min(most, work / std::max<std::size_t>(1, choices)));
}

Solution solve_within(const Problem& problem, const MemoryUse& use, std::int64_t limit, const Solution& known,
                      const SearchLimits& limits) {
  return BranchAndBound(problem, use, limit, known, limits).run();
}

}  // namespace ferry
