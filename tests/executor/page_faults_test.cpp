#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

#include "executor/session/session.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"

namespace ferry {
namespace {

std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Trains a network with values on more than a hundred pages, in rounds of `steps` steps. Returns the least page faults
/// of a round after the first. The least, because a thread that happens to get more work may grow its stack late; pages
/// that every step touches for the first time show in all rounds.
std::int64_t faults_of_training(int tasks, int threads, std::int64_t steps) {
  constexpr std::int64_t kTimes = 6;
  Graph g;
  const auto everywhere = g.on(g.mesh("dp"));
  const Value images = g.variable("images", normal(g, {128, 200})).laid({split(0)});
  const Value labels = g.variable("labels", argmax(normal(g, {128, 10}))).laid({split(0)});
  const Value w1 = g.variable("w1", normal(g, {200, 300})), w2 = g.variable("w2", normal(g, {300, 10}));
  const Value loss = mean(softmax_cross_entropy(matmul(relu(matmul(images, w1)), w2), labels));
  RunRequest request;
  request.fetches = {loss};
  request.targets = momentum(loss, {w1, w2}, 0.01);
  request.steps = kTimes * steps + 1;
  std::int64_t before = 0, least = INT64_MAX;
  request.on_step = [&](std::int64_t step, std::span<const Tensor>) {
    if (step % steps != 0) return;
    const std::int64_t now = page_faults();
    if (step > steps) least = std::min(least, now - before);
    before = now;
  };
  ClusterOptions options;
  options.tasks = tasks;
  options.threads = threads;
  options.transport = "inproc";
  Session session(g, Cluster::connect(options));
  static_cast<void>(session.run(request));
  return least;
}

TEST_CASE("arenas are reused: steps after the first touch no new pages") {
  constexpr std::int64_t kSteps = 20;
  CHECK(faults_of_training(1, 1, kSteps) < kSteps / 2);
  CHECK(faults_of_training(1, 2, kSteps) < kSteps / 2);
  CHECK(faults_of_training(2, 1, kSteps) < kSteps / 2);
}

}  // namespace
}  // namespace ferry
