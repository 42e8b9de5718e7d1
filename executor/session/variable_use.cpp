#include "executor/session/variable_use.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ferry {

VariableUse variable_use(const Graph& graph, const Signature& signature) {
  std::vector<bool> needed(graph.size(), false);
  for (ValueId fetch : signature.fetches) needed[graph.producer(fetch)] = true;
  for (OpId target : signature.targets) needed[target] = true;
  VariableUse use;
  for (OpId id = graph.size(); id > 0; --id) {
    if (!needed[id - 1]) continue;
    const Op op = graph.op(id - 1);
    const bool assigns = op.def().role == OpRole::assign;
    if (op.def().role == OpRole::variable) use.read.push_back(op.id());
    if (assigns) use.written.push_back(graph.producer(op.inputs()[0]));
    for (ValueId input : op.inputs().subspan(assigns ? 1 : 0)) needed[graph.producer(input)] = true;
    for (OpId earlier : op.after()) needed[earlier] = true;
  }
  return use;
}

Agreed initial_values(const Graph& graph, std::set<OpId> missing) {
  Agreed init;
  init.signature.initial = true;
  if (const auto entry = graph.entries().find("init"); entry != graph.entries().end())
    for (OpId target : entry->second.targets)
      if (graph.op(target).def().role == OpRole::assign &&
          missing.erase(graph.producer(graph.op(target).inputs()[0])) > 0)
        init.signature.targets.push_back(target);
  if (!missing.empty()) {
    const Op op = graph.op(*missing.begin());
    throw Error(Code::usage, "the variable '{}' has no value", op.name())
        .at(op.line())
        .hint("give it an initial value in the graph, or read a saved model by --model DIR");
  }
  std::sort(init.signature.targets.begin(), init.signature.targets.end());
  init.request = init.key = "init";
  for (OpId target : init.signature.targets) init.key += " " + std::to_string(target);
  return init;
}

}  // namespace ferry
