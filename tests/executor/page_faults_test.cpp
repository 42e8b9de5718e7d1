#include <doctest/doctest.h>
#include <sys/resource.h>

#include "executor/session.hpp"
#include "ops/linalg.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/nn.hpp"
#include "ops/optim.hpp"
#include "ops/random.hpp"
#include "ops/reduce.hpp"

namespace ferry {
namespace {

std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Of steps of training a network whose values take a hundred pages and more, the first 20 not counted.
std::int64_t faults_of_training(int tasks, int threads, std::int64_t steps) {
  constexpr std::int64_t kWarmUp = 20;
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  const Value images = g.variable("images", normal(g, {128, 200})).laid({split(0)});
  const Value labels = g.variable("labels", argmax(normal(g, {128, 10}))).laid({split(0)});
  const Value w1 = g.variable("w1", normal(g, {200, 300})), w2 = g.variable("w2", normal(g, {300, 10}));
  const Value loss = mean(softmax_cross_entropy(matmul(relu(matmul(images, w1)), w2), labels));
  RunRequest request;
  request.fetches = {loss};
  request.targets = momentum(loss, {w1, w2}, 0.01);
  request.steps = kWarmUp + steps;
  std::int64_t before = 0, after = 0;
  request.on_step = [&](std::int64_t step, std::span<const Tensor>) {
    if (step == kWarmUp) before = page_faults();
    after = page_faults();
  };
  ClusterOptions options;
  options.tasks = tasks;
  options.threads = threads;
  options.transport = "inproc";
  Session session(g, Cluster::connect(options));
  static_cast<void>(session.run(request));
  return after - before;
}

/// A page is touched first a few more times, where a thread's stack or the heap grows; not in each step.
TEST_CASE("arenas are reused: steps after the first touch no new pages") {
  constexpr std::int64_t kSteps = 100;
  CHECK(faults_of_training(1, 1, kSteps) < kSteps / 10);
  CHECK(faults_of_training(1, 2, kSteps) < kSteps / 10);
  CHECK(faults_of_training(2, 1, kSteps) < kSteps / 10);
}

}  // namespace
}  // namespace ferry
