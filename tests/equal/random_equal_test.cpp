// No false alarm: the plans of random graphs compute what their graphs say.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/mesh_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/random_plan.hpp"

namespace ferry::test {
namespace {

std::uint64_t seeds(std::uint64_t quick) {
  const char* const asked = std::getenv("FERRY_TEST_PLANS");
  return asked == nullptr ? quick : std::strtoull(asked, nullptr, 10);
}

void check_equal(const Graph& g, const Signature& signature, const Plan& plan, const std::string& which) {
  const Equality result = compared(g, signature, plan);
  CHECK_MESSAGE(
      result.verdict == Equality::Verdict::equal,
      which << (result.verdict == Equality::Verdict::differs ? " differs: " : " is not followed: ") << result.reason);
}

PlanOptions options_for(std::uint64_t seed) {
  PlanOptions options;
  options.fuse_from = seed % 3 == 0 ? 2 : PlanOptions().fuse_from;
  if (seed % 5 == 1) options.bucket_bytes = 0;
  if (seed % 5 == 2) options.bucket_bytes = 1 << 20;
  options.one_host = seed % 7 == 3;
  return options;
}

/// Messages cost almost nothing, so that placement by itself spreads the work of small graphs, too.
void make_messages_cheap(Topology& topology) {
  topology.compute.wait = 1;
  for (LinkCost* link : {&topology.on_host, &topology.between_hosts}) *link = {0, 1e15};
}

PlanOptions placing_by_itself(std::uint64_t seed) {
  PlanOptions options = options_for(seed);
  options.placing = Placing::automatic;
  return options;
}

TEST_CASE("plans of random graphs are equal to them") {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    const int tasks = 1 + static_cast<int>(seed % 4), gpus = seed % 6 == 5 ? 1 + static_cast<int>(seed / 6 % 2) : 0;
    const RandomGraph made = random_graph(seed, 20 + static_cast<int>(seed % 60), tasks, gpus);
    Topology topology = Topology::local(tasks, 1 + static_cast<int>(seed / 4 % 3));
    for (TaskInfo& task : topology.tasks) task.gpus = gpus;
    const Signature signature = signature_of(*made.graph, made.fetches, made.targets);
    check_equal(*made.graph, signature, plan_for(*made.graph, signature, topology, options_for(seed)),
                "random graph " + std::to_string(seed));
  }
}

TEST_CASE("plans of random graphs that are placed by themselves are equal to them") {
  for (std::uint64_t seed = 0; seed < seeds(60); ++seed) {
    const int tasks = 2 + static_cast<int>(seed % 5);
    const RandomGraph made = random_graph(seed, 20 + static_cast<int>(seed % 60), tasks, 0);
    Topology topology = Topology::local(tasks);
    for (int t = 0; t < tasks; ++t) topology.tasks[t].host = seed % 3 == 0 ? t / 2 : 0;
    make_messages_cheap(topology);
    const Signature signature = signature_of(*made.graph, made.fetches, made.targets);
    check_equal(*made.graph, signature, plan_for(*made.graph, signature, topology, placing_by_itself(seed)),
                "random graph " + std::to_string(seed));
    RandomMeshGraph loops = random_mesh_graph(
        seed, {.ops = 12 + static_cast<int>(seed % 20), .tasks = tasks, .hosts = 1, .shares_memory = seed % 5 < 2});
    make_messages_cheap(loops.topology);
    const Signature request = signature_of(*loops.graph, loops.fetches, loops.targets);
    check_equal(*loops.graph, request, plan_for(*loops.graph, request, loops.topology, placing_by_itself(seed)),
                "graph with loops " + std::to_string(seed));
  }
}

/// Annotates the op of that name, in the graph or in one of its bodies.
void annotate(Graph& graph, const std::string& op, const Annotation& annotation) {
  if (const auto found = graph.find(op)) return graph.annotate(*found, annotation);
  for (std::uint32_t i = 0; i < graph.subgraphs(); ++i) annotate(graph.subgraph({i}), op, annotation);
}

/// Compares all chosen layouts with others, and plans the graph with the annotations that stand for the choice.
void check_choice(Graph& g, const Signature& signature, const Topology& topology, PlanOptions options,
                  const std::string& which) {
  CAPTURE(which);
  options.annotations = true;
  options.compared = "*";
  options.evaluate = computed_constant;
  const AutoPlacement placement = *make_plan(g, signature, topology, all_kernels(), options).placement;
  for (const Alternative& alternative : placement.alternatives)
    CHECK(alternative.at_least_seconds <= std::max(alternative.found_seconds, 0.0));
  if (!placement.annotations) return;
  std::vector<Mesh::Axis> axes;
  for (const std::int64_t size : placement.annotations->axes) axes.push_back({"a" + std::to_string(axes.size()), size});
  const MeshId all = g.mesh(axes);
  for (const LayoutAnnotations::OfOp& of : placement.annotations->ops) annotate(g, of.op, {{}, all, of.layouts});
  const PlanResult annotated = make_plan(g, signature, topology, all_kernels(), options);
  CHECK(annotated.placement->candidates[0].step_seconds == placement.annotations->step_seconds);
  options.placing = Placing::annotated;
  check_equal(g, signature, plan_for(g, signature, topology, options), which);
}

TEST_CASE("choices for random graphs are compared with others, and stand as annotations") {
  for (std::uint64_t seed = 0; seed < seeds(200); ++seed) {
    const int tasks = 2 + static_cast<int>(seed % 3);
    const RandomGraph made = random_graph(seed, 20 + static_cast<int>(seed % 40), tasks, 0);
    Topology topology = Topology::local(tasks);
    make_messages_cheap(topology);
    const Signature signature = signature_of(*made.graph, made.fetches, made.targets);
    check_choice(*made.graph, signature, topology, placing_by_itself(seed), "random graph " + std::to_string(seed));
    RandomMeshGraph loops = random_mesh_graph(
        seed, {.ops = 12 + static_cast<int>(seed % 20), .tasks = tasks, .hosts = 1, .shares_memory = seed % 5 < 2});
    make_messages_cheap(loops.topology);
    const Signature request = signature_of(*loops.graph, loops.fetches, loops.targets);
    check_choice(*loops.graph, request, loops.topology, placing_by_itself(seed),
                 "graph with loops " + std::to_string(seed));
  }
}

TEST_CASE("plans of random graphs over meshes are equal to them") {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    const MeshGraph made = mesh_graph(seed, 20 + static_cast<int>(seed % 40));
    Topology topology = Topology::local(made.tasks);
    for (int t = 0; t < made.tasks && !made.jobs.empty(); ++t) {  // "head=0,tail=1-3"
      topology.tasks[t].job = t == 0 ? "head" : "tail";
      topology.tasks[t].index_in_job = t == 0 ? 0 : t - 1;
    }
    for (const MeshGraph::Request& request : made.requests) {
      const Signature signature = signature_of(*made.graph, request.fetches, request.targets);
      check_equal(*made.graph, signature, plan_for(*made.graph, signature, topology, options_for(seed)),
                  "mesh graph " + std::to_string(seed));
    }
  }
}

TEST_CASE("plans of random graphs with loops and branches on a mesh are equal to them") {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    RandomMeshGraph made = random_mesh_graph(seed, {.ops = 12 + static_cast<int>(seed % 20),
                                                    .tasks = 1 + static_cast<int>(seed % 8),
                                                    .hosts = 1 + static_cast<int>(seed / 8 % 2),
                                                    .shares_memory = seed % 5 < 2});
    for (TaskInfo& task : made.topology.tasks) {
      task.threads = 1 + static_cast<int>(seed / 8 % 2);
      task.gpus = seed % 7 == 2 ? 2 : 0;
      task.gpu_group = task.gpus > 0 && task.memory_group < 0 && seed % 2 == 0 ? 0 : -1;
    }
    const Signature signature = signature_of(*made.graph, made.fetches, made.targets);
    check_equal(*made.graph, signature, plan_for(*made.graph, signature, made.topology, options_for(seed)),
                "graph with loops " + std::to_string(seed));
  }
}

TEST_CASE("plans of random graphs of sums that share terms are equal to them") {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    Dice dice(seed);
    Graph g;
    const auto on = g.on(g.mesh("x"));
    std::vector<Value> values{g.input("a", {6, 6}), g.input("b", {6, 6})};
    const auto split_along = [&](int dim) { return identity(dice.of(values)).laid({split(dim)}); };
    for (std::uint64_t left = 5 + dice.below(40); left > 0; --left) {
      const std::uint64_t kind = dice.below(10);
      if (kind < 6)
        values.push_back(dice.of(values) + dice.of(values));
      else if (kind < 8)
        values.push_back(matmul(split_along(1), split_along(0)));  // a partial sum
      else
        values.push_back(kind == 8 ? exp(split_along(0)) : split_along(1));
    }
    const Signature signature = signature_of(g, {dice.of(values), values.back()});
    check_equal(g, signature, plan_for(g, signature, Topology::local(3), options_for(seed)),
                "graph of sums " + std::to_string(seed));
  }
}

TEST_CASE("plans of random graphs of random values without elements are equal to them") {
  constexpr std::int64_t kNoElements = 0;
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    Dice dice(seed);
    Graph g;
    const MeshId one = g.mesh("one", "/task:1"), all = g.mesh("all");
    std::vector<Value> values;  // of two dims
    const auto add = [&](const std::function<Value()>& make) {
      const std::uint64_t where = dice.below(5);
      const auto here = where < 3 ? g.device("/task:" + std::to_string(where)) : g.on(where == 3 ? one : all);
      values.push_back(make());
    };
    for (std::uint64_t left = 5 + dice.below(12); left > 0; --left)
      add([&] {
        const std::uint64_t kind = values.empty() ? 0 : dice.below(7);
        if (kind == 0) return uniform(g, {dice.one_in(2) ? kNoElements : 3, kNoElements});
        const Value x = dice.of(values);
        switch (kind) {
          case 1:
            return pad(x, {0, 1}, {1, 0}, 1.0);
          case 2:
            return matmul(x, x, false, true);
          case 3:
            return x + x;
          case 4:
            return dice.one_in(2) ? sum(x, {0}, true) : prod(x, {1}, true);
          case 5:
            return reshape(x, {1, -1});
          default:
            return concat({x, exp(x)}, 0);
        }
      });
    const Signature signature = signature_of(g, {dice.of(values), values.back()});
    check_equal(g, signature, plan_for(g, signature, Topology::local(3), options_for(seed)),
                "graph of empty values " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace ferry::test
