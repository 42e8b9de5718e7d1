// A user's own training loop, made data-parallel in three lines: see docs/coming_from/horovod.md. No graph, no planner:
// every process computes the gradients of its rows in plain C++, and ferry takes the mean of them.
//
//     mpirun -np 4 build/samples/three_lines
#include <ferry/ferry.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>

namespace {

constexpr int kRows = 3600, kInputs = 6, kSteps = 60;
using Weights = std::array<float, kInputs + 1>;  // the last is the bias

/// Row r: numbers from -1 to 1. Its label is 1 if their weighted sum is above 0; one row in ten has the wrong label.
struct Row {
  std::array<float, kInputs> x{};
  float label = 0;
};
Row row(int r) {
  Row result;
  float sum = 0.2F;
  for (int i = 0; i < kInputs; ++i) {
    const auto mixed = (static_cast<std::uint32_t>(r * kInputs + i) + 1U) * 2654435761U;
    result.x[i] = static_cast<float>(mixed >> 8) / static_cast<float>(1 << 23) - 1.0F;
    sum += result.x[i] * static_cast<float>(i % 3 - 1);
  }
  result.label = (sum > 0) != (r % 10 == 0) ? 1.0F : 0.0F;
  return result;
}

/// Sums over some rows: the gradients of the log loss, the loss, and the number of right predictions.
struct Pass {
  Weights gradients{};
  double loss = 0, right = 0;

  void add(const Row& row, const Weights& w) {
    float z = w[kInputs];
    for (int i = 0; i < kInputs; ++i) z += w[i] * row.x[i];
    const float p = 1 / (1 + std::exp(-z));
    for (int i = 0; i < kInputs; ++i) gradients[i] += (p - row.label) * row.x[i];
    gradients[kInputs] += p - row.label;
    loss -= std::log(row.label > 0 ? p : 1 - p);
    right += (p > 0.5F) == (row.label > 0) ? 1 : 0;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto cluster = ferry::Cluster::connect(argc, argv);  // 1: which of the processes is this one?
  Weights weights{};
  if (cluster.rank() == 0) weights.fill(0.1F);
  cluster.broadcast(std::span<float>(weights));  // 2: all begin with task 0's weights
  for (int step = 1; step <= kSteps; ++step) {
    Pass pass;
    for (int r = cluster.rank(); r < kRows; r += cluster.size()) pass.add(row(r), weights);
    const float rows = static_cast<float>(kRows) / static_cast<float>(cluster.size());
    for (float& gradient : pass.gradients) gradient /= rows;
    cluster.all_reduce_mean(std::span<float>(pass.gradients));  // 3: the mean of all tasks' gradients
    for (int i = 0; i <= kInputs; ++i) weights[i] -= 0.5F * pass.gradients[i];
    if (step % 20 != 0) continue;
    std::array<double, 2> metrics{pass.loss, pass.right};
    cluster.all_reduce(std::span<double>(metrics));
    if (cluster.rank() == 0)
      std::printf("step %d: loss %.3f, accuracy %.3f\n", step, metrics[0] / kRows, metrics[1] / kRows);
  }
}
