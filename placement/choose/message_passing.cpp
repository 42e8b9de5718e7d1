#include "placement/choose/message_passing.hpp"

#include <algorithm>
#include <limits>

namespace ferry {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 4;

/// Sends a message over an edge: for each choice of the receiver, the least of the sender's `costs` plus the edge's
/// costs, which are row-major with the receiver's choices as rows. Subtracts the
/// least entry from the message, and returns that entry.
std::int64_t send(const std::vector<std::int64_t>& costs, const std::vector<std::int64_t>& edge,
                  std::vector<std::int64_t>& message) {
  std::int64_t least = kHuge;
  const std::size_t columns = costs.size();
  const std::int64_t* row = edge.data();
  for (std::size_t to = 0; to < message.size(); ++to, row += columns) {
    std::int64_t cost = kHuge;
    for (std::size_t from = 0; from < columns; ++from) cost = std::min(cost, costs[from] + row[from]);
    message[to] = cost;
    least = std::min(least, cost);
  }
  for (std::int64_t& cost : message) cost = std::min(cost - least, kImpossible);
  return least;
}

std::int64_t take_least(std::vector<std::int64_t>& costs) {
  const std::int64_t least = *std::ranges::min_element(costs);
  for (std::int64_t& cost : costs) cost -= least;
  return least;
}

}  // namespace

MessagePassing::MessagePassing(const Problem& problem) : problem_(problem) {
  for (const std::vector<std::int64_t>& costs : problem.costs) {
    nodes_.push_back({&costs, {}, {}, 1});
    excess_.emplace_back(costs.size());
  }
  for (const Problem::Edge& edge : problem.edges) {
    const std::size_t rows = problem.costs[edge.a].size(), columns = problem.costs[edge.b].size();
    nodes_[edge.a].after.push_back(edges_.size());
    nodes_[edge.b].before.push_back(edges_.size());
    Edge& added = edges_.emplace_back(Edge{edge.a, edge.b, &edge.costs, std::vector<std::int64_t>(rows * columns),
                                           std::vector<std::int64_t>(rows), std::vector<std::int64_t>(columns)});
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) added.by_b[j * rows + i] = edge.costs[i * columns + j];
  }
  for (Node& node : nodes_)
    node.shares = static_cast<std::int64_t>(std::max({node.before.size(), node.after.size(), std::size_t{1}}));
  best_.assign(nodes_.size(), 0);
  best_value_ = problem_.value(best_);
}

void MessagePassing::pass() {
  forwards();
  backwards();
}

std::vector<std::int64_t> MessagePassing::gathered(std::size_t node) const {
  std::vector<std::int64_t> costs = *nodes_[node].costs;
  const auto add = [&](const std::vector<std::int64_t>& message) {
    for (std::size_t choice = 0; choice < costs.size(); ++choice)
      costs[choice] = std::min(costs[choice] + message[choice], kHuge);
  };
  for (const std::size_t edge : nodes_[node].after) add(edges_[edge].to_a);
  for (const std::size_t edge : nodes_[node].before) add(edges_[edge].to_b);
  return costs;
}

void MessagePassing::choose(std::size_t node, std::vector<std::uint32_t>& choices) const {
  std::vector<std::int64_t> costs = *nodes_[node].costs;
  for (std::size_t choice = 0; choice < costs.size(); ++choice) {
    for (const std::size_t edge : nodes_[node].after) costs[choice] += edges_[edge].to_a[choice];
    for (const std::size_t edge : nodes_[node].before)
      costs[choice] += (*edges_[edge].by_a)[choices[edges_[edge].a] * costs.size() + choice];
  }
  choices[node] = static_cast<std::uint32_t>(std::ranges::min_element(costs) - costs.begin());
}

void MessagePassing::forwards() {
  std::vector<std::uint32_t> choices(nodes_.size());
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    choose(node, choices);
    std::vector<std::int64_t> costs = gathered(node);
    static_cast<void>(take_least(costs));
    for (std::int64_t& cost : costs) cost /= nodes_[node].shares;
    for (const std::size_t number : nodes_[node].after) {
      Edge& edge = edges_[number];
      std::vector<std::int64_t> share = costs;
      for (std::size_t choice = 0; choice < share.size(); ++choice) share[choice] -= edge.to_a[choice];
      static_cast<void>(send(share, edge.by_b, edge.to_b));
    }
  }
  consider(choices);
}

/// The bound is the sum of what is taken off: each cost of a solution is at least the sum of what the nodes keep, of
/// what each message says and of what was taken off, and the first two are 0 or more. A node passes on at most its
/// costs, since it has at most `shares` edges to earlier nodes and each gets a share that is rounded down.
void MessagePassing::backwards() {
  std::int64_t bound = 0;
  for (std::size_t node = nodes_.size(); node > 0; --node) {
    std::vector<std::int64_t> costs = gathered(node - 1);
    bound += take_least(costs);
    excess_[node - 1] = costs;
    for (std::int64_t& cost : costs) cost /= nodes_[node - 1].shares;
    for (const std::size_t number : nodes_[node - 1].before) {
      Edge& edge = edges_[number];
      std::vector<std::int64_t> share = costs;
      for (std::size_t choice = 0; choice < share.size(); ++choice) share[choice] -= edge.to_b[choice];
      bound += send(share, *edge.by_a, edge.to_a);
    }
  }
  bound_ = std::max(bound_, bound);
}

void MessagePassing::improve() {
  std::vector<std::uint32_t> choices = best_;
  for (bool better = true; better;) {
    better = false;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      std::vector<std::int64_t> costs = *nodes_[node].costs;
      for (std::size_t choice = 0; choice < costs.size(); ++choice) {
        for (const std::size_t edge : nodes_[node].after)
          costs[choice] += edges_[edge].by_b[choices[edges_[edge].b] * costs.size() + choice];
        for (const std::size_t edge : nodes_[node].before)
          costs[choice] += (*edges_[edge].by_a)[choices[edges_[edge].a] * costs.size() + choice];
      }
      const auto least = static_cast<std::uint32_t>(std::ranges::min_element(costs) - costs.begin());
      if (costs[least] >= costs[choices[node]]) continue;
      choices[node] = least;
      better = true;
    }
  }
  consider(choices);
}

void MessagePassing::consider(const std::vector<std::uint32_t>& choices) {
  const std::int64_t cost = problem_.value(choices);
  if (cost >= best_value_) return;
  best_ = choices;
  best_value_ = cost;
}

}  // namespace ferry
