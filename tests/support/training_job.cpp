// A job that does what long ones do, with many steps a second: it reads rows ahead from files in a random order,
// augments them, uses dropout and a schedule, sums gradients over the tasks, and prints a line to stderr in each step.
// It takes the options of `ferry run`.
#include <cstdint>

#include "graph/graph.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/data/data.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/augment.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/layers.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/regularize.hpp"
#include "ops/train/schedule.hpp"
#include "runner/run/run_main.hpp"

namespace {

using namespace ferry;

constexpr std::int64_t kRows = 1021, kSize = 8, kBatch = 16, kClasses = 10, kHidden = 32;

/// Batches of the two files that training_data.py writes, split by rows over the tasks.
Values read(Graph& g, bool shuffle) {
  const Values batch_now = batch({read_npy(g, "images.npy", DType::float32, {kRows, kSize, kSize}),
                                  read_npy(g, "labels.npy", DType::int32, {kRows})},
                                 kBatch, {.shuffle = shuffle, .stream_from = 1});
  batch_now[0].laid({split(0)});
  return batch_now;
}

}  // namespace

int main(int argc, char** argv) {
  Graph g;
  auto everywhere = g.on(g.mesh("dp"));
  nn::Parameters parameters(g);
  const nn::Dense hidden(parameters, "hidden", kSize * kSize, kHidden), last(parameters, "last", kHidden, kClasses);
  const auto network = [&](const Value& images, nn::Phase phase) {
    return last(nn::dropout(relu(hidden(nn::flatten(images))), 0.2, phase));
  };

  const Values trained = read(g, true);
  const Value loss = mean(softmax_cross_entropy(network(random_flip(trained[0], 1), nn::Phase::train), trained[1]));
  const StepCount count = count_steps(g);
  const Value rate = cosine_decay(0.05, count.steps, 10000);
  for (const Value& update : momentum(weight_decay(gradients_of(loss, parameters.trained()), 1e-4), rate, 0.9))
    g.target("train", update);
  g.target("train", count.update);
  g.target("train", print(loss, "loss"));
  g.fetch("train", "loss", loss);

  const Values tested = read(g, false);
  g.fetch("eval", "accuracy", nn::accuracy(network(tested[0], nn::Phase::eval), tested[1]));
  return run_main(argc, argv, g);
}
