// ExecutionOptions::check_replicas: tasks compare their bytes of the same variable; threads stand for processes.
#include <doctest/doctest.h>

#include <string>

#include "comm/transport.hpp"
#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "kernels/kernel.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "placement/planner.hpp"
#include "tests/executor/in_processes.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr OpDef kOwn{.name = "Own", .types = "T->T", .T = kFloats, .index = "n->n"};

/// Copies its input; adds `more` to the first element in the third step.
void copy_and_add(KernelRun& run, double more) {
  const auto* from = run.inputs[0].as<double>();
  auto* to = run.outputs[0].as<double>();
  for (std::int64_t i = 0; i < run.outputs[0].count(); ++i) to[i] = from[i] + (i == 0 && run.step == 2 ? more : 0);
}

constexpr Kernel kDiffers[] = {{.op = "Own", .run = [](KernelRun& run) { copy_and_add(run, 1); }}};
constexpr Kernel kAlike[] = {{.op = "Own", .run = [](KernelRun& run) { copy_and_add(run, 0); }}};

/// w = own(w) on a mesh.
struct Updated {
  Updated(std::vector<Mesh::Axis> axes, const Layout& layout) {
    const MeshId mesh = graph.mesh(std::move(axes));
    const auto all = graph.on(mesh);
    const Value initial = graph.constant(Tensor::of<double>({4}, {1, 2, 3, 4}));
    w = graph.variable("w", initial).laid(layout);
    const Value inputs[] = {w};
    request.targets = {assign(w, graph.add(kOwn, inputs, {}, source_location::current())[0])};
    request.steps = 5;
  }
  Graph graph;
  Value w;
  RunRequest request;
};

/// The error of each of `count` processes whose steps are run by `run`, where the op makes something else on task
/// `other`.
template <class Run>
void check_difference(int count, int other, const Run& run, const std::string& says) {
  test::in_processes(
      count,
      [&](int rank, const Cluster& cluster) {
        KernelTable kernels = cpu_kernels();
        kernels.add(rank == other ? std::span<const Kernel>(kDiffers) : std::span<const Kernel>(kAlike));
        SessionOptions options;
        options.run.kernels = &kernels;
        options.run.check_replicas = 2;
        const Error error = test::error_of([&] { run(cluster, options); });
        CHECK(error.job_code() == Code::numeric);
        CHECK(error.code() == (rank == 0 ? Code::numeric : Code::peer_lost));
        CHECK(test::says(error, says));
      },
      0, false);
}

TEST_CASE(
    "replicas of a variable that differ end the job, which names the variable, the tasks, the step and the line") {
  const auto replicated_variable = [](const Cluster& cluster, const SessionOptions& options) {
    const Updated model({{"dp", Mesh::kOpen}}, {replicated()});
    Session session(model.graph, cluster, options);
    session.run(model.request);
  };
  check_difference(3, 1, replicated_variable,
                   "the variable 'w' has other bytes on task 1 than on tasks 0 and 2 after step 4 (counted from 1)");
  check_difference(3, 0, replicated_variable, "other bytes on task 0 than on tasks 1 and 2 after step 4");
  check_difference(2, 1, replicated_variable, "(counted from 1), though they have the same part of it\n  at ");
}

TEST_CASE("parts of a variable are compared along the mesh axes that do not split it") {
  const auto split_variable = [](const Cluster& cluster, const SessionOptions& options) {
    const Updated model({{"dp", 2}, {"tp", 2}}, {replicated(), split(0)});
    Session session(model.graph, cluster, options);
    session.run(model.request);
  };
  check_difference(4, 3, split_variable, "has other bytes on task 3 than on task 1 after step 4");
}

TEST_CASE("the replicas of a plan's variables are compared") {
  const auto planned = [](const Cluster& cluster, const SessionOptions& options) {
    const Updated model({{"dp", Mesh::kOpen}}, {replicated()});
    Session planner(model.graph, cluster, options);
    Session session(planner.plan(model.request).plan, cluster, options);
    session.restore({{"w", Tensor::of<double>({4}, {1, 2, 3, 4})}});
    session.run(RunRequest{.steps = 5});
  };
  check_difference(2, 1, planned, "the variable 'w' has other bytes on task 1 than on task 0 after step 4");
}

TEST_CASE("replicas that are equal cost one exchange in each so many steps") {
  for (const std::int64_t every : {0, 2, 100})
    test::in_processes(2, [every](int rank, const Cluster& cluster) {
      KernelTable kernels = cpu_kernels();
      kernels.add(kAlike);
      SessionOptions options;
      options.run.kernels = &kernels;
      options.run.check_replicas = every;
      const Updated model({{"dp", Mesh::kOpen}}, {replicated()});
      Session session(model.graph, cluster, options);
      const auto sent = [&](const auto& call) {
        const std::int64_t before = cluster.transport(rank).sent().messages;
        call();
        return cluster.transport(rank).sent().messages - before;
      };
      session.run(model.request);
      const std::int64_t of_exchange = sent([&] { static_cast<void>(cluster.exchange("")); });
      const std::int64_t exchanges = sent([&] { session.run(model.request); }) / of_exchange;
      CHECK(exchanges == 1 + (every == 2 ? 3 : 0));  // to agree on the run; after steps 6, 8 and 10
    });
}

}  // namespace
}  // namespace ferry
