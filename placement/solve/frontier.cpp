#include "placement/solve/frontier.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "placement/solve/solve_within.hpp"

namespace ferry {
namespace {

using Point = LayoutFrontier::Point;

/// Two neighbouring points are close enough if their memory, or their costs, differ by less than a kFine-th.
constexpr std::int64_t kFine = 50;
constexpr int kFewestSolves = 8;
/// Maximum numbers of calls of solve(): at prices, and in solve_within() for each limit. Large problems get fewer
/// calls.
constexpr std::size_t kMostAtPrices = 20, kMostWithin = 40;
constexpr int kLimits = 4;  // number of memory limits between two solutions

class FrontierSearch {
 public:
  FrontierSearch(const Problem& problem, const MemoryUse& use)
      : problem_(problem),
        use_(use),
        most_solves_(std::max(kFewestSolves, solves_for(problem, kMostAtPrices, kWork))) {}

  LayoutFrontier run(const Solution& solution) {
    add(0, solution);
    const Point& fastest = found_.at(0);
    const std::int64_t highest = highest_price(fastest.bytes);
    std::int64_t price = first_price(fastest.value, fastest.bytes);
    for (int rung = 0; rung < kRungs && price <= highest && solves_ < most_solves_; ++rung, price *= kRatio)
      solve_at(price);
    while (solves_ < most_solves_ && solve_at_widest_step()) {
    }
    for (auto& found : found_) {
      Point& point = found.second;
      if (std::ranges::none_of(frontier_.points, [&](const Point& other) {
            return other.value == point.value && other.bytes == point.bytes;
          }))
        frontier_.points.push_back(std::move(point));
    }
    return std::move(frontier_);
  }

 private:
  /// Solves at a price. If the choices take more memory at another point than at the price's points, adds that point to
  /// them and solves again, up to kTries times.
  void solve_at(std::int64_t of_kibibyte) {
    for (int tries = 0; tries < kTries; ++tries)
      if (!add(of_kibibyte, solve(use_.priced(problem_, {of_kibibyte, points_})))) return;
  }

  /// Adds the solution at a price. Returns whether its peak is at a new point.
  bool add(std::int64_t of_kibibyte, const Solution& solution) {
    ++solves_;
    frontier_.priced.push_back({of_kibibyte, solution.bound});
    const MemoryUse::Peak peak = use_.peak(problem_, solution.choices);
    found_[of_kibibyte] = {solution.choices, problem_.value(solution.choices), peak.bytes};
    if (std::ranges::find(points_, peak.point) != points_.end()) return false;
    points_.push_back(peak.point);
    return true;
  }

  /// Solves at a price between two neighbouring prices. Returns false if no two neighbours differ much in memory.
  bool solve_at_widest_step() {
    std::int64_t widest = 0, price = 0;
    for (auto low = found_.begin(), high = std::next(low); high != found_.end(); low = high++) {
      const std::int64_t middle = low->first + (high->first - low->first) / (low->first == 0 ? 2 : 3);
      const std::int64_t step = low->second.bytes - high->second.bytes;
      if (step <= widest || step <= low->second.bytes / kFine || found_.contains(middle)) continue;
      widest = step;
      price = middle;
    }
    if (widest > 0) solve_at(price);
    return widest > 0;
  }

  static constexpr std::int64_t kRatio = 4;  // factor between neighbouring prices
  static constexpr int kRungs = 6;           // the last price makes memory cost 64 times the time
  static constexpr int kTries = 3;
  static constexpr std::size_t kWork = 400'000;

  const Problem& problem_;
  const MemoryUse& use_;
  const int most_solves_;
  std::map<std::int64_t, Point> found_;  // by price
  std::vector<std::uint32_t> points_;
  LayoutFrontier frontier_;
  int solves_ = 0;
};

/// Adds solutions between two solutions if their costs differ much. The limit of memory of each new solution is below
/// the memory of the solution before.
void add_limited(const Problem& problem, const MemoryUse& use, const Point& fast, const Point& slim,
                 LayoutFrontier& found) {
  constexpr std::size_t kWork = 100'000;
  const int solves = solves_for(problem, kMostWithin, kWork);
  if (slim.value - fast.value <= fast.value / kFine || solves < kFewestSolves) return;
  std::int64_t limit = fast.bytes - 1;
  for (int step = 0; step < kLimits && limit > slim.bytes; ++step) {
    Solution solution = solve_within(problem, use, limit, {slim.choices, slim.value, 0}, {.solves = solves});
    found.limited.push_back({limit, solution.bound});
    const std::int64_t bytes = use.peak(problem, solution.choices).bytes;
    found.points.push_back({std::move(solution.choices), solution.value, bytes});
    limit = std::min(bytes - 1, limit - (fast.bytes - slim.bytes) / kLimits);
  }
}

}  // namespace

LayoutFrontier frontier(const Problem& problem, const MemoryUse& use, const Solution& fastest) {
  LayoutFrontier found = FrontierSearch(problem, use).run(fastest);
  const std::vector<Point> priced = std::exchange(found.points, {});
  for (std::size_t p = 0; p < priced.size(); ++p) {
    if (p > 0) add_limited(problem, use, priced[p - 1], priced[p], found);
    found.points.push_back(priced[p]);
  }
  return found;
}

std::int64_t bound_within(const LayoutFrontier& frontier, std::int64_t most) {
  std::int64_t bound = 0;
  for (const auto& [of_kibibyte, priced] : frontier.priced)
    bound = std::max(bound, bound_without_price(priced, of_kibibyte, most));
  for (const LayoutFrontier::LimitBound& limited : frontier.limited)
    if (most <= limited.bytes) bound = std::max(bound, limited.bound);
  return bound;
}

}  // namespace ferry
