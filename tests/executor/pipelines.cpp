// pipelines FIRST COUNT [sim]: for COUNT seeds from FIRST on, a random network with layers on several tasks is trained
// for three steps in microbatches, with `sim` on simulated devices. Losses and weights must have the bits that ops one
// after another give, without a plan, and what each task sends must be what its plan says. Prints each seed that fails.
#include <algorithm>
#include <optional>
#include <string>

#include "executor/session/session.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/layers.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/pipeline.hpp"
#include "ops/train/regularize.hpp"
#include "tests/executor/seeds.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/evaluate.hpp"

namespace {

using namespace ferry;

struct Network {
  Graph graph;
  Values fetches;
};

Tensor numbers(test::Dice& dice, const std::vector<std::int64_t>& sizes) {
  Tensor made(DType::float32, sizes);
  for (float& number : made.mutable_data<float>()) number = static_cast<float>(dice.below(2000) - 1000) / 1500;
  return made;
}

/// The tasks of `stages` stages: one each, in turn, down and back, or any.
std::vector<int> places(test::Dice& dice, int stages) {
  std::vector<int> at;
  const int way = dice.below(4), tasks = 1 + dice.below(stages);
  for (int s = 0; s < stages; ++s) {
    const int turn = s % (2 * tasks);
    at.push_back(way == 0   ? s
                 : way == 1 ? s % tasks
                 : way == 2 ? std::min(turn, 2 * tasks - 1 - turn)
                            : dice.below(stages));
  }
  return at;
}

void build(Network& made, std::uint64_t seed) {
  test::Dice dice(seed);
  Graph& g = made.graph;
  const int stages = 1 + dice.below(8);
  const std::vector<int> at = places(dice, stages);
  const bool chosen = dice.one_in(4);  // planning chooses the stages
  const auto on_stage = [&](int s) {
    return chosen ? std::optional<Scope>() : std::optional<Scope>(g.device("/task:" + std::to_string(at[s])));
  };
  const std::int64_t microbatches = 1 + dice.below(6), rows = microbatches * (1 + dice.below(3)) + dice.below(3);
  const auto schedule = static_cast<PipelineSchedule>(dice.below(3));
  std::vector<std::int64_t> widths{1 + dice.below(6)};
  Values weights;
  std::vector<Value> skips;
  Value x;
  {
    const auto here = on_stage(0);
    const std::int64_t last = dice.below(rows);  // 0: all batches are whole
    const Value data = g.constant(numbers(dice, {dice.one_in(2) ? 3 * rows : rows + last, widths[0]}));
    x = batch({data}, rows, {.shuffle = dice.one_in(2)})[0];
  }
  for (int s = 0; s < stages; ++s) {
    const auto here = on_stage(s);
    std::optional<Scope> remade;
    if (dice.one_in(4)) remade.emplace(g.remade());
    for (int layer = 1 + dice.below(2); layer > 0; --layer) {
      const std::int64_t from = x.shape()[1].size();
      Value tied;
      for (const Value& w : weights)
        if (w.shape()[0].size() == from && dice.one_in(3)) tied = w;
      if (!tied.defined()) {
        const std::int64_t to = dice.one_in(2) ? from : 1 + dice.below(6);
        tied = g.variable("w" + std::to_string(weights.size()), g.constant(numbers(dice, {from, to})));
        weights.push_back(tied);
      }
      x = matmul(x, tied);
      if (dice.one_in(2)) x = tanh(x);
      if (dice.one_in(4)) x = nn::dropout(x, 0.3, nn::Phase::train);
      for (const Value& skip : skips)
        if (skip.shape()[1] == x.shape()[1] && dice.one_in(4)) x = x + skip;
      if (dice.one_in(2)) skips.push_back(x);
    }
  }
  const auto here = on_stage(stages - 1);
  const Value loss =
      pipeline(mean(square(x - 0.25)),
               {.microbatches = microbatches, .schedule = schedule, .batch = {}, .stages = chosen ? stages : 0});
  Gradients gradients = gradients_of(loss, weights);
  if (dice.one_in(3)) gradients = clip_by_norm(gradients, 0.5);
  made.fetches.push_back(loss);
  for (const Value& update : momentum(gradients, 0.1)) made.fetches.push_back(update);
}

std::string difference(std::uint64_t seed, bool simulated) {
  Network made;
  build(made, seed);
  if (seed % 4 == 1) balance_stages(made.graph, 1 + static_cast<int>(seed / 4 % 5));
  test::Evaluator plainly(made.graph);
  ClusterOptions job{.tasks = 8, .threads = 1 + static_cast<int>(seed % 2), .transport = "inproc"};
  if (simulated) job.simulated = seed;
  Session session(made.graph, Cluster::connect(std::move(job)));
  for (int step = 0; step < 3; ++step) {
    const std::vector<Tensor> wanted = plainly.run(made.fetches), got = session.run(made.fetches);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!got[i].same_bits(wanted[i]))
        return made.fetches[i].name() + " is " + got[i].str() + ", not " + wanted[i].str();
    for (const TaskStats& task : session.stats().tasks)
      if (task.measured != task.planned) return "task " + std::to_string(task.task) + ": traffic";
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return test::try_seeds(argc, argv, "random pipelines are as without a plan", difference);
}
