// A pipeline: a transformer that learns to write a text, as `charlm` does, with its blocks on two or four tasks. Eight
// microbatches go through them, so that all tasks work at the same time; see docs/guide/pipelines.md. In the entry
// `two` each task has two consecutive blocks; in `two_in_turn` one has the first and third, the other the second and
// fourth. `four` has the schedule 1f1b; `four_gpipe` and `four_zero_bubble` have others, with bit-identical results:
//
//     mpirun -np 4 build/ferry run build/samples/pipeline.pb --entry four --data /usr/share/common-licenses --epochs 3
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <string>
#include <vector>

namespace {

using ferry::DType;
using ferry::PipelineSchedule;
using ferry::Value;
namespace nn = ferry::nn;

constexpr std::int64_t kText = 35149, kWindow = 64, kWindows = kText / kWindow - 1, kBatch = 16, kMicrobatches = 8;
constexpr std::int64_t kCharacters = 128, kWidth = 64, kHeads = 4;

/// A transformer block: causal attention, then two dense layers on each character, both with a residual connection.
Value block(nn::Parameters& parameters, const std::string& name, const Value& x) {
  const nn::LayerNorm first_norm(parameters, name + "/first_norm", kWidth);
  const nn::Attention attention(parameters, name + "/attention", kWidth, kHeads);
  const nn::LayerNorm second_norm(parameters, name + "/second_norm", kWidth);
  const nn::Dense up(parameters, name + "/up", kWidth, 4 * kWidth),
      down(parameters, name + "/down", 4 * kWidth, kWidth);
  const Value attended = x + attention(first_norm(x), {.causal = true});
  return attended + down(ferry::gelu(up(second_norm(attended))));
}

/// A batch of consecutive windows of the text from character `from` on: int32 [batch,window].
Value windows(ferry::Graph& g, std::int64_t from) {
  const Value text = ferry::read_raw(g, "GPL-3", DType::uint8, {kText});
  const Value part = ferry::slice(text, 0, from, from + kWindows * kWindow);
  return ferry::batch({ferry::cast(ferry::reshape(part, {kWindows, kWindow}), DType::int32)}, kBatch,
                      {.rest = ferry::Rest::drop})[0];
}

/// The mean loss of a batch, with the blocks on these tasks.
Value loss_of(ferry::Graph& g, nn::Parameters& parameters, const std::vector<int>& tasks) {
  const auto on_task = [&](int task) { return g.device("/task:" + std::to_string(task)); };
  Value x;
  {
    auto here = on_task(tasks.front());
    const nn::Embedding characters(parameters, "characters", kCharacters, kWidth);
    const nn::Embedding places(parameters, "places", kWindow, kWidth);
    x = characters(windows(g, 0)) + places.table;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto here = on_task(tasks[i]);
    x = block(parameters, "block" + std::to_string(i + 1), x);
  }
  auto here = on_task(tasks.back());
  const nn::LayerNorm norm(parameters, "norm", kWidth);
  const nn::Dense out(parameters, "out", kWidth, kCharacters);
  return ferry::mean(ferry::softmax_cross_entropy(out(norm(x)), windows(g, 1)));
}

void add_training(ferry::Graph& g, const std::string& entry, const Value& loss, const nn::Parameters& parameters,
                  PipelineSchedule schedule) {
  const Value mean = ferry::pipeline(loss, {.microbatches = kMicrobatches, .schedule = schedule});
  const ferry::Gradients gradients = ferry::clip_by_norm(ferry::gradients_of(mean, parameters.trained()), 1);
  for (const Value& update : ferry::sgd(gradients, 0.3)) g.target(entry, update);
  g.fetch(entry, "loss", mean);
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  nn::Parameters two(g), two_in_turn(g), four(g);
  {
    auto names = g.name("two");
    add_training(g, "two", loss_of(g, two, {0, 0, 1, 1}), two, PipelineSchedule::one_f_one_b);
  }
  {
    auto names = g.name("two_in_turn");
    add_training(g, "two_in_turn", loss_of(g, two_in_turn, {0, 1, 0, 1}), two_in_turn, PipelineSchedule::one_f_one_b);
  }
  auto names = g.name("four");
  const Value loss = loss_of(g, four, {0, 1, 2, 3});
  add_training(g, "four", loss, four, PipelineSchedule::one_f_one_b);
  add_training(g, "four_gpipe", loss, four, PipelineSchedule::gpipe);
  add_training(g, "four_zero_bubble", loss, four, PipelineSchedule::zero_bubble);
  return ferry::run_main(argc, argv, g);
}
