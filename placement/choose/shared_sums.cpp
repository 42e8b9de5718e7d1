#include "placement/choose/shared_sums.hpp"

#include <algorithm>

#include "graph/op/op_work.hpp"
#include "placement/program/users.hpp"

namespace ferry {
namespace {

/// The values that reach only assignments, and only through elementwise ops.
std::vector<bool> assigned_values(const Program& program, const Users& users) {
  const std::vector<NodeId>& order = program.regions[0].order;
  const std::vector<bool> is_result = region_results(program);
  std::vector<bool> is_assigned(program.values.size());
  for (std::size_t i = order.size(); i > 0; --i)
    for (const PValueId output : program.nodes[order[i - 1]].outputs)
      is_assigned[output] = !is_result[output] && std::ranges::all_of(users[output], [&](NodeId user) {
        const Node& reader = program.nodes[user];
        if (reader.kind == NodeKind::assign) return true;
        return reader.kind == NodeKind::compute && is_elementwise(*reader.def) && is_assigned[reader.outputs[0]];
      });
  return is_assigned;
}

}  // namespace

std::vector<bool> sums_that_share(const Program& program) {
  const Users users(program);
  const std::vector<NodeId>& order = program.regions[0].order;
  const std::vector<bool> is_assigned = assigned_values(program, users);
  std::vector<std::size_t> position(program.nodes.size(), 0), sums(order.size() + 1, 0);  // sums before a position
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = program.nodes[order[i]];
    position[order[i]] = i;
    const bool sums_up =
        node.kind == NodeKind::compute && node.def->reduce != Reduce::none && !is_elementwise(*node.def);
    sums[i + 1] = sums[i] + (sums_up ? 1 : 0);
  }
  std::vector<bool> shares(program.values.size());
  std::size_t open_until = 0;  // earlier sums share a message that takes more sums up to this position
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const PValueId output : program.nodes[order[i]].outputs) {
      if (!is_assigned[output]) continue;
      std::size_t read = order.size();
      for (const NodeId user : users[output]) read = std::min(read, position[user]);
      if (read <= i) continue;
      const bool joins = open_until > i;
      shares[output] = joins || sums[read] > sums[i + 1];
      if (sums[i + 1] > sums[i]) open_until = joins ? std::min(open_until, read) : read;
    }
  return shares;
}

}  // namespace ferry
