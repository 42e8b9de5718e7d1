#include "placement/solve/message_passing.hpp"

#include <algorithm>
#include <limits>

namespace ferry {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 4;

/// Subtracts the minimum from all costs, and returns the minimum.
std::int64_t subtract_minimum(std::span<std::int64_t> costs) {
  const std::int64_t least = *std::ranges::min_element(costs);
  for (std::int64_t& cost : costs) cost -= least;
  return least;
}

/// The transposed table.
std::vector<std::int64_t> transposed(const std::vector<std::int64_t>& table, std::size_t rows) {
  const std::size_t columns = table.size() / rows;
  std::vector<std::int64_t> result(table.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = table[i * columns + j];
  return result;
}

}  // namespace

MessagePassing::MessagePassing(const Problem& problem) {
  for (const std::vector<std::int64_t>& costs : problem.costs) {
    nodes_.push_back({costs_.size(), costs.size(), {}, {}, 1});
    costs_.insert(costs_.end(), costs.begin(), costs.end());
  }
  excess_.resize(costs_.size());
  std::size_t messages = 0;
  for (const Problem::Edge& edge : problem.edges) {
    const std::size_t rows = nodes_[edge.a].size, columns = nodes_[edge.b].size;
    nodes_[edge.a].after.push_back(edges_.size());
    nodes_[edge.b].before.push_back(edges_.size());
    Costs key = edge.costs;
    key.push_back(static_cast<std::int64_t>(rows));
    const auto [found, fresh] = tables_.try_emplace(std::move(key));
    if (fresh) found->second = {edge.costs, transposed(edge.costs, rows)};
    edges_.push_back({edge.a, edge.b, &found->second, messages, messages + rows});
    messages += rows + columns;
  }
  messages_.resize(messages);
  for (Node& node : nodes_)
    node.shares = static_cast<std::int64_t>(std::max({node.before.size(), node.after.size(), std::size_t{1}}));
  best_.assign(nodes_.size(), 0);
  best_value_ = value(best_);
}

void MessagePassing::pass() {
  forwards();
  backwards();
}

void MessagePassing::gather(const Node& node) {
  const std::span<const std::int64_t> costs = costs_of(node);
  gathered_.assign(costs.begin(), costs.end());
  const auto add = [&](std::size_t message) {
    for (std::size_t choice = 0; choice < node.size; ++choice)
      gathered_[choice] = std::min(gathered_[choice] + messages_[message + choice], kHuge);
  };
  for (const std::size_t edge : node.after) add(edges_[edge].to_a);
  for (const std::size_t edge : node.before) add(edges_[edge].to_b);
}

std::int64_t MessagePassing::send(std::size_t answer, const Costs& edge, std::size_t message, std::size_t size) {
  const std::size_t columns = gathered_.size();
  share_.resize(columns);
  for (std::size_t from = 0; from < columns; ++from) share_[from] = gathered_[from] - messages_[answer + from];
  std::int64_t least = kHuge;
  const std::int64_t* row = edge.data();
  for (std::size_t to = 0; to < size; ++to, row += columns) {
    std::int64_t cost = kHuge;
    for (std::size_t from = 0; from < columns; ++from) cost = std::min(cost, share_[from] + row[from]);
    messages_[message + to] = cost;
    least = std::min(least, cost);
  }
  for (std::size_t to = 0; to < size; ++to)
    messages_[message + to] = std::min(messages_[message + to] - least, kImpossible);
  return least;
}

void MessagePassing::choose(std::size_t number, std::vector<std::uint32_t>& choices) {
  const Node& node = nodes_[number];
  const std::span<const std::int64_t> costs = costs_of(node);
  share_.assign(costs.begin(), costs.end());
  for (const std::size_t edge : node.after)
    for (std::size_t choice = 0; choice < node.size; ++choice) share_[choice] += messages_[edges_[edge].to_a + choice];
  for (const std::size_t edge : node.before) {
    const std::int64_t* row = edges_[edge].table->by_a.data() + choices[edges_[edge].a] * node.size;
    for (std::size_t choice = 0; choice < node.size; ++choice) share_[choice] += row[choice];
  }
  choices[number] = static_cast<std::uint32_t>(std::ranges::min_element(share_) - share_.begin());
}

void MessagePassing::forwards() {
  std::vector<std::uint32_t> choices(nodes_.size());
  for (std::size_t number = 0; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    choose(number, choices);
    if (node.after.empty()) continue;
    gather(node);
    static_cast<void>(subtract_minimum(gathered_));
    for (std::int64_t& cost : gathered_) cost /= node.shares;
    for (const std::size_t to : node.after) {
      const Edge& edge = edges_[to];
      static_cast<void>(send(edge.to_a, edge.table->by_b, edge.to_b, nodes_[edge.b].size));
    }
  }
  keep_if_better(choices);
}

/// Computes a bound: the sum of all amounts that were subtracted. The cost of every solution is at least the sum of the
/// costs left in the nodes, the costs in the messages, and the subtracted amounts; the first two are 0 or more. A node
/// passes on at most its costs: it has at most `shares` edges to earlier nodes, and each edge gets a share that is
/// rounded down.
void MessagePassing::backwards() {
  std::int64_t bound = 0;
  for (std::size_t number = nodes_.size(); number > 0; --number) {
    const Node& node = nodes_[number - 1];
    gather(node);
    bound += subtract_minimum(gathered_);
    std::ranges::copy(gathered_, excess_.begin() + static_cast<std::ptrdiff_t>(node.first));
    for (std::int64_t& cost : gathered_) cost /= node.shares;
    for (const std::size_t to : node.before) {
      const Edge& edge = edges_[to];
      bound += send(edge.to_b, edge.table->by_a, edge.to_a, nodes_[edge.a].size);
    }
  }
  bound_ = std::max(bound_, bound);
}

void MessagePassing::improve() {
  std::vector<std::uint32_t> choices = best_;
  for (bool better = true; better;) {
    better = false;
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      const Node& node = nodes_[number];
      const std::span<const std::int64_t> costs = costs_of(node);
      share_.assign(costs.begin(), costs.end());
      const auto add = [&](const Costs& table, std::uint32_t choice_there) {
        const std::int64_t* row = table.data() + choice_there * node.size;
        for (std::size_t choice = 0; choice < node.size; ++choice) share_[choice] += row[choice];
      };
      for (const std::size_t edge : node.after) add(edges_[edge].table->by_b, choices[edges_[edge].b]);
      for (const std::size_t edge : node.before) add(edges_[edge].table->by_a, choices[edges_[edge].a]);
      const auto least = static_cast<std::uint32_t>(std::ranges::min_element(share_) - share_.begin());
      if (share_[least] >= share_[choices[number]]) continue;
      choices[number] = least;
      better = true;
    }
  }
  keep_if_better(choices);
}

std::int64_t MessagePassing::value(const std::vector<std::uint32_t>& choices) const {
  std::int64_t sum = 0;
  for (std::size_t number = 0; number < nodes_.size(); ++number)
    sum = add_costs(sum, costs_[nodes_[number].first + choices[number]]);
  for (const Edge& edge : edges_)
    sum = add_costs(sum, edge.table->by_a[choices[edge.a] * nodes_[edge.b].size + choices[edge.b]]);
  return sum;
}

void MessagePassing::keep_if_better(const std::vector<std::uint32_t>& choices) {
  const std::int64_t cost = value(choices);
  if (cost >= best_value_) return;
  best_ = choices;
  best_value_ = cost;
}

}  // namespace ferry
