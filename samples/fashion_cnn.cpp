// Two convolutions and a dense layer of 1024 units on Fashion-MNIST, data-parallel over all tasks: see
// docs/samples/fashion_cnn.md. With DATA=/usr/share/datasets/fashion-mnist:
//
//     mpirun -np 2 build/ferry run build/samples/fashion_cnn.pb --data $DATA --epochs 6 --print-every 50 --save model
//     build/ferry run build/samples/fashion_cnn.pb --entry eval --epochs 1 --print-every 10 --data $DATA --model model
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

namespace {

using ferry::DType;
using ferry::Value;
namespace nn = ferry::nn;

constexpr std::int64_t kImages = 60000, kTested = 10000, kBatch = 100, kTestBatch = 1000;
constexpr int kEpochs = 6;

/// The network, from images to logits.
class Network {
 public:
  explicit Network(nn::Parameters& parameters)
      : first_(parameters, "conv1", 1, 32, {3, 3}, {.sliding = {.padding = ferry::same_padding(3)}}),
        second_(parameters, "conv2", 32, 64, {3, 3}, {.sliding = {.padding = ferry::same_padding(3)}}),
        hidden_(parameters, "hidden", 64 * 7 * 7, 1024),
        last_(parameters, "last", 1024, 10) {}

  /// images: uint8 [n,28,28]. Returns float32 [n,10].
  [[nodiscard]] Value operator()(const Value& images, nn::Phase phase) const {
    const Value x = ferry::cast(ferry::expand_dims(images, {1}), DType::float32) / 255.0;
    const Value halved = nn::max_pool(ferry::relu(first_(x)), {2, 2});
    const Value quartered = nn::max_pool(ferry::relu(second_(halved)), {2, 2});
    const Value seen = ferry::relu(hidden_(nn::flatten(quartered)));
    return last_(nn::dropout(seen, 0.5, phase));
  }

 private:
  nn::Conv first_, second_;
  nn::Dense hidden_, last_;
};

/// A batch from a pair of files: images, split by rows over the tasks, and their labels.
ferry::Values read(ferry::Graph& g, const std::string& images, const std::string& labels, std::int64_t count,
                   std::int64_t size, bool shuffle) {
  ferry::Values batch = ferry::batch(
      {ferry::read_idx(g, images, DType::uint8, {count, 28, 28}), ferry::read_idx(g, labels, DType::uint8, {count})},
      size, {shuffle});
  batch[0].laid({ferry::split(0)});
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("dp"));
  nn::Parameters parameters(g);
  const Network network(parameters);

  const ferry::Values batch =
      read(g, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", kImages, kBatch, true);
  const Value logits = network(batch[0], nn::Phase::train);
  const Value loss = ferry::mean(ferry::softmax_cross_entropy(logits, batch[1]));
  const ferry::StepCount count = ferry::count_steps(g);
  const Value rate = ferry::cosine_decay(0.02, count.steps, kEpochs * kImages / kBatch);
  const ferry::Gradients gradients = ferry::weight_decay(ferry::gradients_of(loss, parameters.trained()), 5e-4);
  for (const Value& update : ferry::momentum(gradients, rate, 0.9)) g.target("train", update);
  g.target("train", count.update);
  g.fetch("train", "loss", loss);
  g.fetch("train", "accuracy", nn::accuracy(logits, batch[1]));

  const ferry::Values tested =
      read(g, "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", kTested, kTestBatch, false);
  g.fetch("eval", "accuracy", nn::accuracy(network(tested[0], nn::Phase::eval), tested[1]));

  const Value asked = g.input("images", DType::uint8, {"n", 28, 28});
  g.fetch("predict", "classes", ferry::argmax(network(asked, nn::Phase::eval)));
  return ferry::run_main(argc, argv, g);
}
