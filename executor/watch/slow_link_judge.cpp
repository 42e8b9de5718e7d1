#include "executor/watch/slowness.hpp"

#include <algorithm>
#include <utility>

namespace ferry {
namespace {

constexpr double kBusy = 0.5;       // the least share of the time that a slow link was sending
constexpr double kSlower = 5;       // how many times slower than the median
constexpr double kRoundTrips = 10;  // least time of sending, in round trips: short messages take as long on a fast link
constexpr double kLeastCost = 0.1;  // the least cost of a slow link, as a share of a step

struct Link {
  int from, to;
  const LinkUse* use;
  double whole = 0;  ///< the rate, in bytes a second, if no other link used its ends

  [[nodiscard]] double busy() const { return std::min(use->sending / use->seconds, 1.0); }
};

/// Returns the links with the rates that they would have alone.
std::vector<Link> links_of(std::span<const WorkTimes> tasks) {
  std::vector<double> out(tasks.size()), in(tasks.size());
  std::vector<Link> links;
  for (std::size_t from = 0; from < tasks.size(); ++from)
    for (const LinkUse& use : tasks[from].links) {
      const auto to = static_cast<std::size_t>(use.peer);
      if (use.peer < 0 || to >= tasks.size() || use.rate() <= 0 || use.seconds <= 0) continue;
      const Link& link = links.emplace_back(Link{static_cast<int>(from), use.peer, &use});
      out[from] += link.busy();
      in[to] += link.busy();
    }
  for (Link& link : links) {
    const double sharing = std::max(out[link.from], in[link.to]);
    link.whole = link.use->rate() * std::max(sharing, 1.0);
  }
  return links;
}

double waiting_share(const WorkTimes& task) {
  return task.step > 0 ? task.waiting / task.step : 0;
}

}  // namespace

std::vector<SlowLink> judge_links(std::span<const WorkTimes> tasks) {
  const std::vector<Link> links = links_of(tasks);
  std::vector<SlowLink> slow;
  for (const Link& link : links) {
    if (link.busy() < kBusy || link.use->sending < kRoundTrips * link.use->latency) continue;
    std::vector<double> others;
    for (const Link& other : links)
      if (other.from != link.from || other.to != link.to) others.push_back(other.whole);
    if (others.empty()) continue;
    const double slower = median_of(std::move(others)) / link.whole;
    if (slower < kSlower) continue;
    const double waiting = std::max(waiting_share(tasks[link.from]), waiting_share(tasks[link.to]));
    const double cost = std::min(waiting, link.busy() * (1 - 1 / slower));
    if (cost < kLeastCost) continue;
    slow.push_back({link.from, link.to, link.use->rate(), link.use->rate() * slower, cost});
  }
  std::ranges::sort(slow, {}, [](const SlowLink& link) { return std::pair(link.from, link.to); });
  return slow;
}

}  // namespace ferry
