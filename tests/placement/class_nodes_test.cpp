// Which nodes concern each class of tasks.
#include "placement/lower/class_nodes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "ops/array/reshape.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/layout/propagate.hpp"
#include "placement/layout/reshard.hpp"
#include "placement/lower/find_roles.hpp"
#include "placement/program/assign_devices.hpp"
#include "placement/program/select.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// For each task the nodes of its class, in all regions.
std::vector<std::string> nodes_of_tasks(const Graph& graph, const Value& fetch, int tasks) {
  Signature signature;
  signature.fetches = {fetch.id()};
  const Topology topology = Topology::local(tasks);
  const test::AllKernels kernels;
  Program program = select(graph, signature, topology, kernels, {});
  assign_devices(program);
  propagate(program);
  reshard(program);
  Plan plan;
  PlanTables tables(plan);
  HostPatterns hosts(program);
  const MessageNumbers messages = number_messages(program, plan, tables, hosts);
  plan.class_of = find_roles(program, plan, messages);
  const ClassNodes nodes(program, plan, messages);
  std::vector<std::string> texts;
  for (const std::uint32_t plan_class : plan.class_of) {
    std::string& text = texts.emplace_back();
    for (const NodeId id : nodes.of(plan_class)) {
      const Node& node = program.nodes[id];
      text += text.empty() ? "" : " ";
      text += node.def != nullptr ? std::string(node.def->name) + ":" : "";
      text += (node.kind == NodeKind::transfer ? "transfer:" : node.kind == NodeKind::collective ? "collective:" : "");
      text += program.name(node);
    }
    CHECK(nodes.of(plan_class, 0).size() == nodes.of(plan_class).size());
    CHECK(nodes.of(plan_class, 1).empty());
  }
  return texts;
}

}  // namespace

TEST_CASE("a class has what is on its tasks, and the transfers from and to them") {
  Graph g;
  const Value a = g.constant({1, 2}, on("/task:0")).named("a");
  Value b, c;
  {
    const Scope here = g.device("/task:1");
    b = (a + a).named("b");
  }
  {
    const Scope here = g.device("/task:2");
    c = (a * b).named("c");
  }
  const std::vector<std::string> nodes = nodes_of_tasks(g, c, 4);
  CHECK(nodes[0] == "Constant:a transfer:a transfer:a transfer:c c");  // the last node is the fetch
  CHECK(nodes[1] == "transfer:a Add:b transfer:b");
  CHECK(nodes[2] == "transfer:a transfer:b Mul:c transfer:c");
  CHECK(nodes[3].empty());
}

TEST_CASE("classes together have as much as the program, however many there are") {
  const auto total = [](int tasks) {
    Graph g;
    Value sum = g.constant({1, 2}, on("/task:0"));
    for (int task = 1; task < tasks; ++task) {
      const Scope here = g.device("/task:" + std::to_string(task));
      sum = sum + sum;
    }
    std::ptrdiff_t count = 0;
    for (const std::string& nodes : nodes_of_tasks(g, sum, tasks)) count += std::count(nodes.begin(), nodes.end(), ':');
    return count;
  };
  CHECK(total(8) == 3 * 8);  // for each task an op and both ends of a message
  CHECK(total(256) == 3 * 256);
}

TEST_CASE("a class of a mesh has its collectives") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value x = identity(g.constant(Tensor(DType::float32, {8}))).laid({split(0)}).named("x");
  const Value total = sum(x).named("total");
  for (const std::string& nodes : nodes_of_tasks(g, total, 4)) {
    CHECK(nodes.find("Sum:total") != std::string::npos);
    CHECK(nodes.find("collective:total") != std::string::npos);
  }
}

}  // namespace ferry
