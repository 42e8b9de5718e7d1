#include "ops/gradient/remake.hpp"

#include <algorithm>
#include <set>

#include "ops/copy.hpp"

namespace ferry {

Value Remaker::read_by(OpId user, ValueId value) {
  const OpId op = graph_.producer(value);
  const std::uint32_t scope = graph_.op(op).remade(), other = graph_.op(user).remade();
  if ((other != 0 && other != scope) || !is_remade(op, scope)) return graph_.value(value);
  for (const OpId id : needed(op)) make(id);
  return latest(value);
}

bool Remaker::is_remade(OpId op, std::uint32_t scope) const {
  const OpDef& def = graph_.op(op).def();
  return scope != 0 && graph_.op(op).remade() == scope && !def.is(kStateful) && !def.is(kOnce);
}

std::vector<OpId> Remaker::needed(OpId op) const {
  const std::uint32_t scope = graph_.op(op).remade();
  std::set<OpId> found;
  std::vector<OpId> open{op};
  while (!open.empty()) {
    const OpId id = open.back();
    open.pop_back();
    if (copies_.contains(id) || !found.insert(id).second) continue;
    for (ValueId input : graph_.op(id).inputs())
      if (is_remade(graph_.producer(input), scope)) open.push_back(graph_.producer(input));
  }
  return {found.begin(), found.end()};
}

void Remaker::make(OpId id) {
  const Op op = graph_.op(id);
  Values inputs;
  for (ValueId input : op.inputs()) inputs.push_back(latest(input));
  if (op.def().is(kEffect)) {  // is not repeated
    copies_[id] = {inputs[0]};
    return;
  }
  const Values& copy = copies_[id] = copy_op(op, graph_, inputs);
  graph_.mark_recomputed(copy[0].op().id());
}

Value Remaker::latest(ValueId value) const {
  const OpId op = graph_.producer(value);
  const auto found = copies_.find(op);
  return found == copies_.end() ? graph_.value(value) : found->second[value - graph_.op(op).output(0)];
}

}  // namespace ferry
