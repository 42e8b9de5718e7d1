#include "plan/equal/graph_terms.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "graph/graph_facts.hpp"
#include "graph/needed.hpp"
#include "graph/op/core_ops.hpp"
#include "graph/types/batches.hpp"
#include "plan/equal/fallible.hpp"
#include "plan/kernel_facts.hpp"

namespace ferry::equal {

std::string inside(const std::string& place, std::string_view name) {
  return place + "/" + std::string(name);
}

std::string identity_of(const OpDef& def, const std::string& place, std::string_view name, std::int32_t task) {
  if (def.is(kLocal)) return inside(place, name) + " on task " + std::to_string(task);
  return inside(def.is(kOnce) ? "step" : place, name);
}

GraphTerms::GraphTerms(Terms& terms, const Graph& graph, const Signature& signature, const Topology& topology)
    : terms_(terms), signature_(signature), topology_(topology) {
  for (const Signature::Feed& feed : signature.feeds) {
    const Type& type = graph.type(feed.value);
    const TypeId id = terms.type(type_of(type.dtype, feed.sizes, type.shape.bounded()));
    feed_names.push_back(graph.value_name(feed.value));
    feeds.push_back({terms.symbol(feed_names.back(), id), id});
  }
  Scope values(graph.values());
  walk(graph, needed_ops(graph, signature.fetches, signature.targets), "step", values);
  for (const ValueId fetch : signature.fetches) {
    fetches.push_back(values[fetch]);
    fetch_names.push_back(graph.value_name(fetch));
  }
}

const TypedTerm* GraphTerms::named(const std::string& place, std::string_view name) const {
  const auto scope = named_.find(place);
  if (scope == named_.end()) return nullptr;
  const auto found = scope->second.find(std::string(name));
  return found == scope->second.end() ? nullptr : &found->second;
}

const Op* GraphTerms::maker(TermId term) const {
  const auto found = makers_.find(term);
  return found == makers_.end() ? nullptr : &found->second;
}

void GraphTerms::walk(const Graph& graph, const std::vector<bool>& needed, const std::string& place, Scope& values) {
  auto& names = named_[place];
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    if (op.def().role != OpRole::parameter) {
      if (!needed[id]) continue;
      visit(op, place, values);
    }
    for (int o = 0; o < op.outputs(); ++o) {
      names[graph.value_name(op.output(o))] = values[op.output(o)];
      makers_.emplace(values[op.output(o)].term, op);
    }
  }
}

void GraphTerms::visit(const Op& op, const std::string& place, Scope& values) {
  const OpDef& def = op.def();
  defs.emplace(def.name, &def);
  asynchronous = asynchronous || def.is(kAsynchronous);
  const ValueId output = op.output(0);
  if (def.role == OpRole::input) {
    const auto feed = std::ranges::find(signature_.feeds, output, &Signature::Feed::value);
    if (feed == signature_.feeds.end())
      throw Stop{true, formatted("the request does not feed '{}', which it needs", op.name())};
    values[output] = feeds[feed - signature_.feeds.begin()];
    return;
  }
  if (def.role == OpRole::variable) {
    const TypeId type = terms_.type(op.graph().type(output));
    values[output] = {terms_.symbol("variable " + std::string(op.name()), type), type};
    variables[std::string(op.name())] = {values[output], values[output]};
    return;
  }
  if (def.role == OpRole::assign) {
    Variable& variable = variables[std::string(op.graph().op(op.graph().producer(op.inputs()[0])).name())];
    variable.after = values[op.inputs()[1]];
    variable.assigned = true;
    values[output] = variable.after;
    return;
  }
  if (def.is(kControlFlow))
    return op.attrs().has("body") ? visit_loop(op, place, values) : visit_branch(op, place, values);
  std::vector<TypedTerm> inputs;
  for (std::size_t k = 0; k < op.inputs().size(); ++k) {
    inputs.push_back(values[op.inputs()[k]]);
    if (uses_sizes_only(def, k, terms_.type(inputs.back().type))) inputs.back().term = kNoTerm;
  }
  const Attrs& attrs = attrs_of(op);
  const std::vector<TypeId> types = types_of(op, attrs, inputs);
  const auto where = [&] { return identity_of(def, place, op.name(), def.is(kLocal) ? task_of(op) : 0); };
  const auto made = terms_.apply(def, attrs, inputs, types, where);
  for (std::size_t o = 0; o < made.size(); ++o) values[op.output(static_cast<int>(o))] = made[o];
  if (const TermId term = equal::fallible(def, terms_, inputs, made); term != kNoTerm) fallible[place].insert(term);
  if (def.is(kEffect)) effects[place].insert(terms_.make_op(def, attrs, inputs, 0, types[0], where));
}

std::int32_t GraphTerms::task_of(const Op& op) const {
  DeviceSpec device = op.annotation().device;
  if (!device.task) device.task = 0;
  return topology_.resolve(device);
}

const Attrs& GraphTerms::attrs_of(const Op& op) {
  if (op.def().batches == nullptr) return op.attrs();
  const Batches batches = op.def().batches(GraphFacts(op));
  if (!batches.uneven()) return op.attrs();
  const auto given = signature_.rows.find(batches.symbol());
  Attrs attrs = op.attrs();
  attrs.set("rows", given == signature_.rows.end() ? batches.size : given->second);
  return added_.emplace_back(std::move(attrs));
}

std::vector<TypeId> GraphTerms::types_of(const Op& op, const Attrs& attrs, const std::vector<TypedTerm>& inputs) {
  const Graph& graph = op.graph();
  bool known = true;
  for (const ValueId input : op.inputs()) known = known && graph.type(input).shape.known();
  for (int o = 0; o < op.outputs(); ++o) known = known && graph.type(op.output(o)).shape.known();
  std::vector<TypeId> types;
  if (known) {
    for (int o = 0; o < op.outputs(); ++o) types.push_back(terms_.type(graph.type(op.output(o))));
    return types;
  }
  for (const Type& type : terms_.inferred(op.def(), attrs, inputs)) types.push_back(terms_.type(type));
  return types;
}

GraphTerms::Scope GraphTerms::walk_body(const Graph& body, const std::string& place,
                                        std::span<const TypedTerm> arguments) {
  Scope values(body.values());
  for (std::size_t p = 0; p < body.parameters().size(); ++p) values[body.parameters()[p]] = arguments[p];
  std::vector<OpId> kept;
  for (OpId id = 0; id < body.size(); ++id)
    if (body.op(id).def().is(kEffect)) kept.push_back(id);
  walk(body, needed_ops(body, body.results(), kept), place, values);
  Scope results;
  for (const ValueId result : body.results()) results.push_back(values[result]);
  return results;
}

void GraphTerms::visit_loop(const Op& op, const std::string& place, Scope& values) {
  const std::string here = inside(place, op.name());
  const auto count = static_cast<std::size_t>(op.attrs().get<std::int64_t>("carried"));
  const Graph& condition = op.graph().subgraph(op.attrs().get<SubgraphRef>("cond"));
  const Graph& body = op.graph().subgraph(op.attrs().get<SubgraphRef>("body"));
  LoopTerms loop;
  for (std::size_t k = 0; k < count; ++k) {
    const TypedTerm initial = values[op.inputs()[k]];
    loop.initial.push_back(initial);
    loop.carried.push_back({terms_.symbol("value " + std::to_string(k) + " in " + here, initial.type), initial.type});
    loop.outputs.push_back({terms_.symbol("result " + std::to_string(k) + " of " + here, initial.type), initial.type});
    values[op.output(static_cast<int>(k))] = loop.outputs.back();
  }
  const auto arguments_of = [&](std::size_t first, std::size_t captures) {
    Scope arguments = loop.carried;
    for (std::size_t k = 0; k < captures; ++k) arguments.push_back(values[op.inputs()[first + k]]);
    return arguments;
  };
  loop.condition = walk_body(condition, here + "/0", arguments_of(count, condition.captures().size()))[0].term;
  loop.results =
      walk_body(body, here + "/1", arguments_of(count + condition.captures().size(), body.captures().size()));
  loops.emplace(here, std::move(loop));
}

void GraphTerms::visit_branch(const Op& op, const std::string& place, Scope& values) {
  const std::string here = inside(place, op.name());
  branches.emplace(here, values[op.inputs()[0]].term);
  std::size_t next = 1;
  const auto side = [&](const char* name, const char* number) {
    const Graph& body = op.graph().subgraph(op.attrs().get<SubgraphRef>(name));
    Scope arguments;
    for (std::size_t k = 0; k < body.captures().size(); ++k) arguments.push_back(values[op.inputs()[next++]]);
    return walk_body(body, here + number, arguments);
  };
  const Scope then_values = side("then_branch", "/0"), else_values = side("else_branch", "/1");
  for (std::size_t k = 0; k < then_values.size(); ++k)
    values[op.output(static_cast<int>(k))] = {
        terms_.chosen(values[op.inputs()[0]].term, then_values[k], else_values[k]), then_values[k].type};
}

}  // namespace ferry::equal
