// The cost of checkpoints: steps per second of a training run that saves a checkpoint every second, compared with the
// same run without checkpoints.
#include <algorithm>
#include <cmath>

#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "executor/session/checkpoints.hpp"
#include "ops/array/indexing.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/loss.hpp"
#include "ops/train/optim.hpp"

namespace ferry::bench {
namespace {

constexpr double kMeasuredSeconds = 3;  // the length of one measurement
constexpr std::int64_t kImages = 64;

/// 784-512-512-10 with momentum SGD: 5.4 MB of variables.
RunRequest network_steps(Graph& g) {
  const Value images = normal(g, {kImages, 784}), labels = argmax(normal(g, {kImages, 10}));
  Value x = images;
  Values variables;
  for (const auto& [inputs, outputs] : {std::pair{784, 512}, std::pair{512, 512}, std::pair{512, 10}}) {
    const std::string name = "layer" + std::to_string(variables.size());
    variables.push_back(g.variable(name, normal(g, {inputs, outputs}, 0, 0.05)));
    x = matmul(x, variables.back());
    if (outputs > 10) x = relu(x);
  }
  RunRequest request;
  request.targets = momentum(gradients_of(mean(softmax_cross_entropy(x, labels)), variables), 0.01);
  return request;
}

double run_seconds(Session& session, const RunRequest& request) {
  const TimePoint start = system_clock().now();
  session.run(request);
  return std::chrono::duration<double>(system_clock().now() - start).count();
}

std::vector<Figure> checkpoint() {
  const ScratchFolder folder;
  Graph g;
  RunRequest request = network_steps(g);
  ClusterOptions options;
  options.transport = "inproc";
  Session session(g, Cluster::connect(options), {.plan = {.default_device = DeviceKind::cpu}});
  Checkpoints checkpoints(session, request, {.folder = folder.file("saved"), .every_seconds = 1});
  request.steps = 50;
  session.run(request);
  request.steps = std::max<std::int64_t>(std::llround(50 * kMeasuredSeconds / run_seconds(session, request)), 1);
  const auto rate = [&](Checkpoints* with) {
    request.checkpoints = with;
    const double seconds = run_seconds(session, request);
    checkpoints.save();  // so that no checkpoint is written while the other side runs
    return static_cast<double>(request.steps) / seconds;
  };
  return {compare(
      kPairs, [&] { return rate(&checkpoints); }, [&] { return rate(nullptr); })};
}

}  // namespace

std::vector<Benchmark> checkpoint_benchmarks() {
  return {{"checkpoint", "steps/s", Benchmark::Better::higher, "without checkpoints", checkpoint}};
}

}  // namespace ferry::bench
