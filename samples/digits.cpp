// A 64-64-10 network on the 1,797 handwritten digits of UCI, data-parallel over all tasks. The first 1,437 rows are for
// training, the last 360 for testing. The data is part of the repository.
//
//     build/ferry run build/samples/digits.pb --data samples/data --epochs 40 --save model --tasks 2
//     build/ferry run build/samples/digits.pb --data samples/data --entry eval --model model
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

namespace nn = ferry::nn;

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("dp"));
  const ferry::Layout by_row{ferry::split(0)};
  nn::Parameters parameters(g);
  const nn::Dense hidden(parameters, "layer1", 64, 64), last(parameters, "layer2", 64, 10);
  const auto network = [&](const ferry::Value& x) { return last(ferry::relu(hidden(x))); };

  const ferry::Value table = ferry::read_csv(g, "digits.csv.gz", ferry::DType::float32, {1797, 65});
  const ferry::Value pixels = ferry::slice(table, 1, 0, 64) / 16.0;
  const ferry::Value labels = ferry::cast(ferry::reshape(ferry::slice(table, 1, 64, 65), {-1}), ferry::DType::int32);

  const ferry::Values batch = ferry::batch({ferry::slice(pixels, 0, 0, 1437), ferry::slice(labels, 0, 0, 1437)}, 48);
  const ferry::Value logits = network(batch[0].laid(by_row));
  const ferry::Value loss = ferry::mean(ferry::softmax_cross_entropy(logits, batch[1]));
  for (const ferry::Value& update : ferry::adam(loss, parameters.trained(), 0.003)) g.target("train", update);
  g.fetch("train", "loss", loss);
  g.fetch("train", "accuracy", nn::accuracy(logits, batch[1]));

  const ferry::Value tested = ferry::slice(pixels, 0, 1437).laid(by_row);
  g.fetch("eval", "accuracy", nn::accuracy(network(tested), ferry::slice(labels, 0, 1437)));
  return ferry::run_main(argc, argv, g);
}
