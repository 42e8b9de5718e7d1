#include "graph/graph_facts.hpp"

namespace ferry {

std::vector<Type> GraphFacts::results(std::string_view name) const {
  const auto ref = attrs_.get<SubgraphRef>(name);
  if (ref.index >= graph_.subgraphs()) fail("there is no subgraph " + std::to_string(ref.index));
  const Graph& body = graph_.subgraph(ref);
  std::vector<Type> types;
  for (ValueId result : body.results()) types.push_back(body.type(result));
  return types;
}

}  // namespace ferry
