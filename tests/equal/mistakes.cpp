#include "tests/equal/mistakes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "placement/lower/class_nodes.hpp"
#include "placement/lower/find_roles.hpp"
#include "placement/lower/lower.hpp"
#include "placement/pipeline.hpp"
#include "placement/program/select.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {

Plan plan_with(const Graph& g, const Signature& signature, const Topology& topology, std::string_view after,
               const Mistake& mistake) {
  PlanOptions options;
  options.evaluate = computed_constant;
  Program program = select(g, signature, topology, all_kernels(), options);
  for (const FormPass<Program>& pass : program_passes()) {
    pass.run(program);
    if (pass.name == after) mistake(program);
  }
  Plan plan;
  Lowering shared(program, plan);
  plan.class_of = find_roles(program, plan, shared.messages);
  const ClassNodes nodes(program, plan, shared.messages);
  for (std::size_t task = 0; task < plan.class_of.size(); ++task) {
    if (plan.class_of[task] < plan.classes.size()) continue;
    ClassPlan role = lower(shared, nodes, static_cast<std::int32_t>(task));
    for (const FormPass<ClassPlan>& pass : class_passes()) pass.run(role);
    plan.classes.push_back(std::move(role.role));
  }
  plan.topology = topology;
  return plan;
}

std::vector<NodeId> nodes_of(const Program& program, const std::function<bool(const Node&)>& wanted) {
  std::vector<NodeId> found;
  for (const NodeId id : program.regions[0].order)
    if (wanted(program.nodes[id])) found.push_back(id);
  REQUIRE(!found.empty());
  return found;
}

std::vector<NodeId> collectives(const Program& program, CollectiveKind kind) {
  return nodes_of(program, [&](const Node& node) {
    return node.kind == NodeKind::collective && program.collectives[node.detail].kind == kind;
  });
}

std::vector<NodeId> ops(const Program& program, std::string_view name) {
  return nodes_of(program, [&](const Node& node) { return node.kind == NodeKind::compute && node.def->name == name; });
}

void leave_out(Program& program, NodeId id, PValueId other) {
  const PValueId output = program.nodes[id].outputs[0];
  std::ranges::replace(program.operands, output, other);
  std::ranges::replace(program.regions[0].results, output, other);
  std::erase(program.regions[0].order, id);
}

void lay_as(Program& program, PValueId value, const Layout& layout) {
  program.values[value].layout = program.intern(Layout(layout));
}

NodeId sum_of(const Program& program, const std::vector<std::int64_t>& sizes) {
  for (const NodeId sum : collectives(program, CollectiveKind::all_reduce))
    if (program.values[program.nodes[sum].outputs[0]].type.shape.sizes() == sizes) return sum;
  FAIL("no such sum");
  return kNone;
}

void leave_out_sum(Program& program, NodeId sum) {
  const PValueId part = program.inputs(program.nodes[sum])[0];
  leave_out(program, sum, part);
  lay_as(program, part, program.wheres[program.values[part].where].all_replicated());
}

void sum_later(Program& program, NodeId sum, NodeId next) {
  const PValueId part = program.inputs(program.nodes[sum])[0], all = program.nodes[sum].outputs[0];
  const PValueId made = program.nodes[next].outputs[0];
  std::ranges::replace(program.operands, made, all);
  std::ranges::replace(program.inputs(program.nodes[next]), all, part);
  program.inputs(program.nodes[sum])[0] = made;
  lay_as(program, made, program.values[part].layout);
  auto& order = program.regions[0].order;
  std::erase(order, next);
  order.insert(std::ranges::find(order, sum), next);
}

void sum_again(Program& program, NodeId sum, PValueId value) {
  const Type type = program.values[value].type;
  Node node = program.nodes[sum];
  node.detail = static_cast<std::uint32_t>(program.collectives.size());
  program.collectives.push_back(ProgramCollective(program.collectives[program.nodes[sum].detail]));
  const NodeId again = program.add(node, {&value, 1}, {&type, 1});
  const PValueId made = program.nodes[again].outputs[0];
  program.values[made] = program.values[program.nodes[sum].outputs[0]];
  program.values[made].producer = again;
  auto& order = program.regions[0].order;
  order.insert(std::ranges::find(order, program.values[value].producer) + 1, again);
  std::ranges::replace(program.operands, value, made);
  program.inputs(program.nodes[again])[0] = value;
}

void exchange_dims(Program& program, std::string_view op) {
  for (const NodeId id : ops(program, op)) {
    Node& node = program.nodes[id];
    Attrs attrs = *node.attrs;
    attrs.set("dim", 1 - attrs.get<std::int64_t>("dim"));
    node.attrs = &program.added_attrs.emplace_back(std::move(attrs));
  }
}

std::string Case::check_refused(bool verified, std::string_view after, const Mistake& mistake,
                                Equality::Verdict verdict) const {
  const Topology topology = Topology::local(tasks);
  const Equality right = compared(g, signature, plan_with(g, signature, topology, after, [](Program&) {}));
  CHECK_MESSAGE(right.verdict == Equality::Verdict::equal, right.reason);
  const Plan plan = plan_with(g, signature, topology, after, mistake);
  const Verdict checked = verify(plan, {nullptr, &all_kernels()});
  CHECK_MESSAGE(checked.pass == verified, checked.reason);
  if (!verified) CHECK(has(checked.reason, "_test.cpp:"));  // the user's line
  const Equality wrong = compared(g, signature, plan);
  CHECK_MESSAGE(wrong.verdict == verdict, wrong.reason);
  return wrong.reason;
}

}  // namespace ferry::test
