// A long sequence split over the tasks: each has consecutive tokens. Layers work token by token. Attention needs the
// keys and values of all tokens: ferry gathers them (and reduce-scatters their gradients), never the scores.
//
//     build/samples/sequence_split --tasks 3 --steps 20
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  using ferry::split;
  using ferry::Value;
  constexpr std::int64_t kTokens = 100, kWidth = 8;
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("sp"));
  const Value x = ferry::uniform(g, {kTokens, kWidth}, -1, 1).laid({split(0)});
  ferry::Values weights;
  for (const char* name : {"query", "key", "value", "out"})
    weights.push_back(g.variable(name, ferry::normal(g, {kWidth, kWidth}, 0, 0.4)));
  const Value query = ferry::matmul(x, weights[0]), key = ferry::matmul(x, weights[1]);
  const Value scores = ferry::matmul(query, key, false, true).laid({split(0)});
  const Value mixed = ferry::matmul(ferry::softmax(scores), ferry::matmul(x, weights[2]));
  const Value y = ferry::tanh(ferry::matmul(x + mixed, weights[3]));
  const Value loss = ferry::mean(ferry::square(y - x * 0.5));
  for (const Value& update : ferry::sgd(loss, weights, 0.5)) g.target("train", update);
  g.fetch("train", "loss", loss);
  return ferry::run_main(argc, argv, g);
}
