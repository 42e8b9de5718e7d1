#include "placement/lower/lowering.hpp"

#include "placement/program/parts.hpp"

namespace ferry {
namespace {

/// For each op, whether another op runs after it because the user ordered them (Op::after).
std::vector<bool> find_ordered_ops(const Graph& graph) {
  std::vector<bool> result(graph.size());
  for (OpId id = 0; id < graph.size(); ++id)
    for (OpId earlier : graph.op(id).after()) result[earlier] = true;
  return result;
}

void add_ports(const Program& program, Plan& plan, PlanTables& tables) {
  const Signature& signature = *program.signature;
  for (const Signature::Feed& feed : signature.feeds) {
    const Type& type = program.graph->type(feed.value);
    const std::int32_t task = feed.by_parts ? PlanPort::kEachTask : feed.task;
    plan.feeds.push_back(
        {tables.value_name(*program.graph, feed.value), task, type.dtype, feed.sizes, type.shape.bounded()});
  }
  plan.fetches.resize(signature.fetches.size());
  const auto window = [&](const PValue& value) {
    return held_window(program, value, tables,
                       [&](std::uint32_t id) { return tables.grouping(program.groupings[id]); });
  };
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::feed && plan.feeds[node.detail].by_parts())
      plan.feeds[node.detail].window = window(program.values[node.outputs[0]]);
    if (node.kind != NodeKind::fetch) continue;
    const PValue& value = program.values[program.inputs(node)[0]];
    const Where& where = program.where(node);
    plan.fetches[node.detail] = {tables.value_name(*program.graph, signature.fetches[node.detail]),
                                 where.single() ? where.tasks[0] : PlanPort::kEachTask,
                                 value.type.dtype,
                                 value.type.shape.sizes(),
                                 value.type.shape.bounded(),
                                 window(value)};
  }
}

/// For each op of the graph, whether it is a variable that the program does not set.
std::vector<bool> find_unset_variables(const Program& program) {
  const Graph& graph = *program.graph;
  std::vector<bool> unset(graph.size(), false);
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::variable) unset[node.op] = true;
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::assign) unset[graph.producer(graph.op(node.op).inputs()[0])] = false;
  return unset;
}

}  // namespace

Lowering::Lowering(const Program& from, Plan& into, VariablePacking packing)
    : program(from), plan(into), tables(into), ordered(find_ordered_ops(*from.graph)) {
  packable =
      packing == VariablePacking::all ? find_unset_variables(from) : std::vector<bool>(from.graph->size(), false);
  into.topology = *from.topology;
  add_ports(from, into, tables);
  HostPatterns hosts(from);
  messages = number_messages(from, into, tables, hosts);
}

}  // namespace ferry
