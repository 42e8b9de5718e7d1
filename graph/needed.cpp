#include "graph/needed.hpp"

#include <algorithm>

#include "graph/graph_facts.hpp"

namespace ferry {
namespace {

void add_batches(const Graph& graph, const std::vector<bool>& needed, std::vector<Batches>& found) {
  for (OpId id = 0; id < graph.size(); ++id) {
    if (!needed[id]) continue;
    const Op op = graph.op(id);
    if (op.def().batches != nullptr)
      if (const Batches batches = op.def().batches(GraphFacts(op));
          std::find(found.begin(), found.end(), batches) == found.end())
        found.push_back(batches);
    if (!op.def().is(kControlFlow)) continue;
    for (const auto& [name, value] : op.attrs())
      if (const auto* ref = std::get_if<SubgraphRef>(&value)) {
        const Graph& body = graph.subgraph(*ref);
        add_batches(body, std::vector<bool>(body.size(), true), found);
      }
  }
}

}  // namespace

std::vector<bool> needed_ops(const Graph& graph, std::span<const ValueId> values, std::span<const OpId> ops) {
  std::vector<bool> needed(graph.size(), false);
  for (ValueId value : values) needed[graph.producer(value)] = true;
  for (OpId op : ops) needed[op] = true;
  for (OpId id = graph.size(); id > 0; --id) {  // ids are a topological order
    if (!needed[id - 1]) continue;
    const Op op = graph.op(id - 1);
    for (ValueId input : op.inputs()) needed[graph.producer(input)] = true;
    for (OpId earlier : op.after()) needed[earlier] = true;
  }
  return needed;
}

std::vector<Batches> batches_of(const Graph& graph, const std::vector<bool>& needed) {
  std::vector<Batches> found;
  add_batches(graph, needed, found);
  return found;
}

std::vector<Batches> uneven_batches(const Graph& graph, const std::vector<bool>& needed) {
  std::vector<Batches> found = batches_of(graph, needed);
  std::erase_if(found, [](const Batches& batches) { return !batches.uneven(); });
  return found;
}

}  // namespace ferry
