#include "graph/file/topological.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace ferry {
namespace {

/// Needs grouped by `from`: the items that need item i are at [begin[i], begin[i + 1]).
struct Grouped {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> to;
};

Grouped by_from(std::uint32_t count, std::span<const Need> needs) {
  Grouped grouped{std::vector<std::uint32_t>(count + 1, 0), std::vector<std::uint32_t>(needs.size())};
  for (const Need& need : needs) ++grouped.begin[need.from + 1];
  for (std::uint32_t i = 0; i < count; ++i) grouped.begin[i + 1] += grouped.begin[i];
  std::vector<std::uint32_t> next(grouped.begin.begin(), grouped.begin.end() - 1);
  for (const Need& need : needs) grouped.to[next[need.from]++] = need.to;
  return grouped;
}

/// Finds a cycle among the items that could not be sorted (open > 0). Each of them needs another one of them. So a walk
/// from an item to one that it needs, and so on, ends in a cycle.
std::vector<Need> cycle_among(const std::vector<std::uint32_t>& open, std::span<const Need> needs) {
  std::vector<const Need*> back(open.size(), nullptr);
  for (const Need& need : needs)
    if (open[need.to] > 0 && open[need.from] > 0) back[need.to] = &need;
  std::uint32_t at = static_cast<std::uint32_t>(
      std::find_if(open.begin(), open.end(), [](std::uint32_t n) { return n > 0; }) - open.begin());
  std::vector<bool> seen(open.size(), false);
  for (; !seen[at]; at = back[at]->from) seen[at] = true;
  std::vector<Need> cycle;
  const std::uint32_t start = at;
  do {
    cycle.push_back(*back[at]);
    at = back[at]->from;
  } while (at != start);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace

Sorted sort_by_need(std::uint32_t count, std::span<const Need> needs) {
  const Grouped users = by_from(count, needs);
  std::vector<std::uint32_t> open(count, 0);
  for (const Need& need : needs) ++open[need.to];
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < count; ++i)
    if (open[i] == 0) ready.push(i);
  Sorted result;
  result.order.reserve(count);
  while (!ready.empty()) {
    const std::uint32_t item = ready.top();
    ready.pop();
    result.order.push_back(item);
    for (std::uint32_t k = users.begin[item]; k < users.begin[item + 1]; ++k)
      if (--open[users.to[k]] == 0) ready.push(users.to[k]);
  }
  if (result.order.size() < count) result.cycle = cycle_among(open, needs);
  return result;
}

}  // namespace ferry
