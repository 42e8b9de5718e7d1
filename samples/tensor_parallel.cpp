// Tensor parallel: two blocks of attention and two layers each, with weights split over the tasks (Shoeybi et al.,
// 2019). The heads of the attention and the hidden units of the layers are on different tasks; activations are whole.
// ferry finds two all-reduces for each block and pass, where whole values are made from partial sums.
//
//     build/samples/tensor_parallel --tasks 2 --steps 20
//     build/ferry explain build/samples/tensor_parallel.pb --tasks 2
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <string>

namespace {

using ferry::split;
using ferry::Value;
using ferry::Values;

constexpr std::int64_t kTokens = 24, kWidth = 16, kHeads = 8, kHeadWidth = 4, kHidden = 48;

/// One block, with its variables.
class Block {
 public:
  Block(ferry::Graph& g, const std::string& name) {
    auto here = g.name(name);
    queries_ = weights(g, "queries", {kHeads, kWidth, kHeadWidth}, 0);
    keys_ = weights(g, "keys", {kHeads, kWidth, kHeadWidth}, 0);
    values_ = weights(g, "values", {kHeads, kWidth, kHeadWidth}, 0);
    out_ = weights(g, "out", {kHeads, kHeadWidth, kWidth}, 0);
    up_ = weights(g, "up", {kWidth, kHidden}, 1);
    down_ = weights(g, "down", {kHidden, kWidth}, 0);
  }

  /// x and the result: float32 [tokens, width].
  [[nodiscard]] Value operator()(const Value& x) const {
    const Value attended = x + attention(x);
    return attended + ferry::matmul(ferry::relu(ferry::matmul(attended, up_)), down_);
  }

  [[nodiscard]] Values variables() const { return {queries_, keys_, values_, out_, up_, down_}; }

 private:
  static Value weights(ferry::Graph& g, const std::string& name, const ferry::Shape& shape, int cut) {
    return g.variable(name, ferry::normal(g, shape, 0, 0.1)).laid({split(cut)});
  }

  /// Softmax over the tokens, head by head; the sum over the heads becomes a sum over the tasks.
  [[nodiscard]] Value attention(const Value& x) const {
    const Value queries = ferry::matmul(x, queries_);  // [heads, tokens, head width]
    const Value keys = ferry::matmul(x, keys_);
    const Value scores = ferry::matmul(queries, keys, false, true) * 0.5;
    const Value mixed = ferry::matmul(ferry::softmax(scores), ferry::matmul(x, values_));
    return ferry::sum(ferry::matmul(mixed, out_), {0});
  }

  Value queries_, keys_, values_, out_, up_, down_;
};

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("tp"));
  const Value x = ferry::uniform(g, {kTokens, kWidth}, -1, 1);
  const Value wanted = ferry::tanh(x * 3);
  Values variables;
  Value y = x;
  for (const char* name : {"first", "second"}) {
    const Block block(g, name);
    y = block(y);
    for (const Value& variable : block.variables()) variables.push_back(variable);
  }
  const Value loss = ferry::mean(ferry::square(y - wanted));
  for (const Value& update : ferry::sgd(loss, variables, 0.5)) g.target("train", update);
  g.fetch("train", "loss", loss);
  g.fetch("predict", "y", y);
  return ferry::run_main(argc, argv, g);
}
