// An asynchronous parameter server: one task has the weights, and three workers train a network on images of clothes.
// No worker waits for another while they are at most eight steps apart; see docs/guide/asynchronous.md. In the entry
// `synchronous` the server waits for all workers in each step.
//
// With DATA=/usr/share/datasets/fashion-mnist:
//
//     mpirun -np 4 build/ferry run build/samples/async_server.pb --jobs ps=0,worker=1-3 --data $DATA --epochs 3
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

namespace {

using ferry::DType;
using ferry::Value;
namespace nn = ferry::nn;

Value rows(const Value& images) {
  return ferry::cast(ferry::reshape(images, {-1, 784}), DType::float32) / 255.0;
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  nn::Parameters parameters(g);
  const auto layers = [&] {
    auto server = g.device("/job:ps/task:0/cpu:0");
    return std::vector{nn::Dense(parameters, "layer1", 784, 128), nn::Dense(parameters, "layer2", 128, 10)};
  }();
  auto workers = g.on(g.mesh("workers", "/job:worker/task:*"));
  const auto network = [&](const Value& x) { return layers[1](ferry::relu(layers[0](x))); };

  const Value images = ferry::read_idx(g, "train-images-idx3-ubyte.gz", DType::uint8, {60000, 28, 28});
  const Value labels = ferry::read_idx(g, "train-labels-idx1-ubyte.gz", DType::uint8, {60000});
  const ferry::Values batch = ferry::batch({images, labels}, 150);
  const Value logits = network(rows(batch[0].laid({ferry::split(0)})));
  const Value loss = ferry::mean(ferry::softmax_cross_entropy(logits, ferry::cast(batch[1], DType::int32)));
  const ferry::Values updates = ferry::sgd(loss, parameters.trained(), 0.1);
  for (const Value& update : ferry::asynchronous(updates, {.staleness = 8})) g.target("train", update);
  for (const Value& update : updates) g.target("synchronous", update);
  g.fetch("train", "loss", loss);
  g.fetch("synchronous", "loss", loss);

  const Value test_images = ferry::read_idx(g, "t10k-images-idx3-ubyte.gz", DType::uint8, {10000, 28, 28});
  const Value test_labels = ferry::read_idx(g, "t10k-labels-idx1-ubyte.gz", DType::uint8, {10000});
  const Value tested = ferry::identity(test_images).laid({ferry::split(0)});
  g.fetch("eval", "accuracy", nn::accuracy(network(rows(tested)), test_labels));
  return ferry::run_main(argc, argv, g);
}
