#include "placement/solve/memory_use.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ferry {
namespace {

std::int64_t bytes_of(const MemoryUse::Use& use, const Problem& problem, std::span<const std::uint32_t> choices) {
  if (use.a == use.b) return use.bytes[choices[use.a]];
  return use.bytes[choices[use.a] * problem.costs[use.b].size() + choices[use.b]];
}

}  // namespace

MemoryUse::Peak MemoryUse::peak(const Problem& problem, std::span<const std::uint32_t> choices) const {
  std::map<std::uint32_t, std::int64_t> changes;  // by point
  for (const Use& use : uses_) {
    const std::int64_t bytes = bytes_of(use, problem, choices);
    changes[use.begin] += bytes;
    changes[use.end] -= bytes;
  }
  Peak peak;
  std::int64_t now = 0;
  for (const auto& [point, change] : changes) {
    now += change;
    if (now > peak.bytes) peak = {now, point};
  }
  return peak;
}

Problem MemoryUse::priced(const Problem& problem, const MemoryPrice& price) const {
  Problem priced = problem;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> edges;
  for (std::size_t edge = 0; edge < priced.edges.size(); ++edge)
    edges.emplace(std::pair(priced.edges[edge].a, priced.edges[edge].b), edge);
  const auto all = static_cast<std::int64_t>(price.points.size());
  for (const Use& use : uses_) {
    const std::int64_t points =
        std::ranges::count_if(price.points, [&](std::uint32_t point) { return use.begin <= point && point < use.end; });
    if (points == 0) continue;
    if (use.a != use.b && !edges.contains({use.a, use.b})) {
      edges.emplace(std::pair(use.a, use.b), priced.edges.size());
      priced.edges.push_back({use.a, use.b, std::vector<std::int64_t>(use.bytes.size())});
    }
    std::vector<std::int64_t>& costs =
        use.a == use.b ? priced.costs[use.a] : priced.edges[edges.at({use.a, use.b})].costs;
    for (std::size_t choice = 0; choice < costs.size(); ++choice)
      costs[choice] = add_costs(costs[choice], cost_of_bytes(use.bytes[choice] * points / all, price.of_kibibyte));
  }
  return priced;
}

}  // namespace ferry
