// A 784-256-128-10 network on Fashion-MNIST, data-parallel over all tasks: each task takes its rows of every batch, and
// ferry sums the gradients. The same graph file runs on 1, 2 or 64 tasks.
//
// With DATA=/usr/share/datasets/fashion-mnist:
//
//     mpirun -np 2 build/ferry run build/samples/fashion.pb --data $DATA --epochs 8 --save model
//     build/ferry run build/samples/fashion.pb --entry eval --data $DATA --model model
//     build/ferry run build/samples/fashion.pb --entry show --data $DATA --model model --out shown
//     build/ferry run build/samples/fashion.pb --entry predict --feed images=shown/images.npy --model model
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

namespace {

using ferry::DType;
namespace nn = ferry::nn;

/// Pixels from 0 to 255 as rows of numbers from 0 to 1.
ferry::Value rows(const ferry::Value& images) {
  return ferry::cast(ferry::reshape(images, {-1, 784}), DType::float32) / 255.0;
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("dp"));
  const ferry::Layout by_row{ferry::split(0)};
  nn::Parameters parameters(g);
  const nn::Dense first(parameters, "layer1", 784, 256), second(parameters, "layer2", 256, 128);
  const nn::Dense last(parameters, "layer3", 128, 10);
  const auto network = [&](const ferry::Value& x) { return last(ferry::relu(second(ferry::relu(first(x))))); };

  const ferry::Value images = ferry::read_idx(g, "train-images-idx3-ubyte.gz", DType::uint8, {60000, 28, 28});
  const ferry::Value labels = ferry::read_idx(g, "train-labels-idx1-ubyte.gz", DType::uint8, {60000});
  const ferry::Values batch = ferry::batch({images, labels}, 200);
  const ferry::Value x = batch[0].laid(by_row);
  const ferry::Value wanted = ferry::cast(batch[1], DType::int32);
  const ferry::Value logits = network(rows(x));
  const ferry::Value loss = ferry::mean(ferry::softmax_cross_entropy(logits, wanted));
  for (const ferry::Value& update : ferry::adam(loss, parameters.trained(), 0.001)) g.target("train", update);
  g.fetch("train", "loss", loss);
  g.fetch("train", "accuracy", nn::accuracy(logits, wanted));

  const ferry::Value test_images = ferry::read_idx(g, "t10k-images-idx3-ubyte.gz", DType::uint8, {10000, 28, 28});
  const ferry::Value test_labels = ferry::read_idx(g, "t10k-labels-idx1-ubyte.gz", DType::uint8, {10000});
  const ferry::Value tested = ferry::identity(test_images).laid(by_row);
  g.fetch("eval", "accuracy", nn::accuracy(network(rows(tested)), test_labels));

  const ferry::Value shown = ferry::slice(test_images, 0, 0, 48);
  g.fetch("show", "images", shown);
  g.fetch("show", "labels", ferry::slice(test_labels, 0, 0, 48));
  g.fetch("show", "guesses", ferry::argmax(network(rows(shown))));

  const ferry::Value asked = g.input("images", DType::uint8, {"n", 28, 28});
  g.fetch("predict", "classes", ferry::argmax(network(rows(asked))));
  return ferry::run_main(argc, argv, g);
}
