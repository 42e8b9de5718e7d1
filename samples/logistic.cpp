// Logistic regression on sparse rows: mushrooms with 22 of 126 properties, edible or poisonous. Each task has the rows
// in memory and computes on its part of each batch; ferry sums the weights' gradient. See docs/samples/logistic.md.
//
//     mpirun -np 2 build/ferry run build/samples/logistic.pb --data samples/data --epochs 5 --save model
//     build/ferry run build/samples/logistic.pb --entry eval --data samples/data --model model
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

namespace {

using ferry::Value;

constexpr std::int64_t kFeatures = 127;  // all indices are below it
constexpr std::int64_t kEntries = 22;    // most entries of a row

/// A weight for each feature; a row gathers the weights of its entries.
struct Model {
  Value weights, bias;

  /// log(p / (1 - p)) of each row, from values and indices [rows, entries].
  [[nodiscard]] Value logits(const Value& values, const Value& indices) const {
    return ferry::sum(ferry::gather(weights, indices) * values, {1}) + bias;
  }
};

/// The mean of -log of the probability that the model gives to each label.
Value log_loss(const Value& logits, const Value& labels) {
  return ferry::mean(ferry::softplus(logits) - labels * logits);
}

/// The number of rows that are classified wrongly.
Value wrong(const Value& logits, const Value& labels) {
  const Value said = ferry::cast(logits > 0, ferry::DType::float32);
  return ferry::sum(ferry::square(said - labels));
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("dp"));
  const Model model{g.variable("weights", g.constant(ferry::Tensor(ferry::DType::float32, {kFeatures}))),
                    g.variable("bias", g.constant(0.0F))};

  const ferry::SparseRows rows = ferry::read_libsvm(g, "agaricus.train.gz", 6513, kEntries, kFeatures);
  const ferry::Values batch = ferry::batch({rows.labels, rows.values, rows.indices}, 64);
  const Value labels = batch[0].laid({ferry::split(0)});
  const Value logits = model.logits(batch[1], batch[2]);
  const Value loss = log_loss(logits, labels);
  for (const Value& update : ferry::sgd(loss, {model.weights, model.bias}, 0.5)) g.target("train", update);
  g.fetch("train", "loss", loss);

  const ferry::SparseRows test = ferry::read_libsvm(g, "agaricus.test.gz", 1611, kEntries, kFeatures);
  const Value test_labels = ferry::identity(test.labels).laid({ferry::split(0)});
  const Value test_logits = model.logits(test.values, test.indices);
  g.fetch("eval", "wrong", wrong(test_logits, test_labels));
  g.fetch("eval", "loss", log_loss(test_logits, test_labels));
  return ferry::run_main(argc, argv, g);
}
