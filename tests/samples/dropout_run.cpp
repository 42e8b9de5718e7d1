// dropout_run [--tasks N] [--invariant]: trains a small network with dropout, batch normalisation and shuffled batches,
// which more than two tasks cannot share evenly. Prints the bits of each step's loss, and a hash of the weights.
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/hash.hpp"
#include "executor/session/session.hpp"
#include "ops/array/array.hpp"
#include "ops/data/data.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"

namespace {

using namespace ferry;

constexpr std::int64_t kRows = 203, kColumns = 12, kWidth = 20, kClasses = 3, kBatch = 26, kSteps = 12;

Tensor rows() {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) numbers.push_back(std::sin(static_cast<float>(i * i % 1009)));
  return Tensor::of<float>({kRows, kColumns}, numbers);
}

Tensor labels() {
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 0; i < kRows; ++i) numbers.push_back(static_cast<std::int32_t>(i * 7 % kClasses));
  return Tensor::of<std::int32_t>({kRows}, numbers);
}

Value dropout(const Value& x) {
  const Value kept = less(uniform_like(x), 0.75);
  return x * cast(kept, DType::float32) / 0.75;
}

/// The loss of a step, and the updates of the variables.
struct Training {
  explicit Training(Graph& g) {
    const Scope everywhere = g.on(g.mesh("dp"));
    const Values rows_now = batch({g.constant(rows()), g.constant(labels())}, kBatch);
    const Value in = g.variable("in", normal(g, {kColumns, kWidth}, 0, 0.4));
    const Value out = g.variable("out", normal(g, {kWidth, kClasses}, 0, 0.3));
    const Value hidden = matmul(rows_now[0].laid({split(0)}), in);
    const Value centred = hidden - mean(hidden, {0}, true);
    const Value scaled = centred / sqrt(mean(centred * centred, {0}, true) + 1e-5);
    const Value logits = matmul(dropout(relu(scaled)), out);
    loss = mean(softmax_cross_entropy(logits, rows_now[1]));
    updates = adam(loss, {in, out}, 0.01);
  }

  Value loss;
  Values updates;
};

}  // namespace

int main(int argc, char** argv) {
  const Cluster cluster = Cluster::connect(argc, argv);
  Graph g;
  const Training training(g);
  Session session(g, cluster);
  RunRequest request;
  request.fetches = {training.loss};
  request.targets = training.updates;
  request.steps = kSteps;
  request.on_step = [](std::int64_t, std::span<const Tensor> fetched) { std::printf("%a\n", fetched[0].number(0)); };
  session.run(request);
  Hasher weights;
  for (const auto& [name, tensor] : session.variables())
    if (tensor.defined()) weights.add(name).add(hex_digest(tensor.bytes()));
  if (cluster.rank() == 0) std::printf("weights %s\n", weights.hex().c_str());
  session.close();
  return 0;
}
