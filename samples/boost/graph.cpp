// Gradient-boosted trees as a graph: a step of the entry `train` grows one tree on rows that are split over all tasks.
// Features are binary: a row has or lacks a feature. (`boost.cpp` takes any values, and grows trees without a graph.)
//
//     mpirun -np 2 build/ferry run build/samples/boost.pb --data samples/data --steps 10 --print-every 1 --save model
//     build/ferry run build/samples/boost.pb --entry eval --data samples/data --model model
//
// The entries `shallow` and `shallow_eval` train and test 2 trees of depth 2. See docs/samples/boost.md.
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <string>

namespace {

using ferry::DType;
using ferry::Value;
using ferry::Values;

constexpr std::int64_t kFeatures = 127;  // features 1 to 126, and feature 0, which all rows have
constexpr std::int64_t kEntries = 22;    // most features of a row
constexpr double kLambda = 1, kLeastWeight = 1, kLeastGain = 1e-6;
// Derivatives are multiples of 1 / kUnits, so that a float64 sum over all rows is exact, in any order.
constexpr double kUnits = 0x1p39;

struct Rows {
  Value labels;  ///< float32 [rows]
  Value has;     ///< float64 [rows, kFeatures]: 1 where a row has a feature, else 0
};

Rows read(ferry::Graph& g, const std::string& path, std::int64_t count) {
  const ferry::SparseRows rows = ferry::read_libsvm(g, path, count, kEntries, kFeatures);
  const Value indices = ferry::identity(rows.indices).laid({ferry::split(0)});
  const Value has = ferry::max(ferry::one_hot(indices, kFeatures, DType::uint8), {1});
  const Value always = ferry::one_hot(g.constant(ferry::Tensor(DType::int64, {})), kFeatures, DType::uint8);
  return {ferry::identity(rows.labels).laid({ferry::split(0)}),
          ferry::cast(ferry::maximum(has, always), DType::float64)};
}

Value log_loss(const Value& margins, const Value& labels) {
  return ferry::mean(ferry::softplus(margins) - labels * margins);
}

/// The number of rows that are classified wrongly.
Value wrong(const Value& margins, const Value& labels) {
  return ferry::sum(ferry::square(ferry::cast(margins > 0, DType::float32) - labels));
}

/// Twice the amount by which a leaf lowers the loss, from the sums of the derivatives of its rows.
Value worth(const Value& gradients, const Value& hessians) {
  return ferry::cast(ferry::square(gradients), DType::float32) / ferry::cast(hessians + kLambda, DType::float32);
}

/// The margin -log(1 / p - 1) of the labels' mean p.
Value margin_of(const Value& labels) {
  const Value mean = ferry::cast(ferry::mean(ferry::cast(labels, DType::float64)), DType::float32);
  return -ferry::log(1.0F / mean - 1.0F);
}

/// The node of each row one level deeper. `features` has the feature that splits each node: rows that have it go to
/// 2 * node + 1, all other rows to 2 * node.
Value descend(const Rows& rows, const Value& nodes, const Value& features) {
  const Value feature = ferry::gather(features, nodes);
  const Value has = ferry::gather_elements(rows.has, ferry::expand_dims(feature, {1}), 1);
  return nodes * 2 + ferry::cast(ferry::reshape(has, {-1}), DType::int64);
}

/// The trees of an entry, complete to their depth. A node that is not split has feature 0, which all rows have, so that
/// all rows go the same way.
class Trees {
 public:
  Trees(ferry::Graph& g, const std::string& name, int depth, int rounds)
      : depth_(depth),
        rounds_(rounds),
        features_(g.variable(name + "/features", g.constant(ferry::Tensor(DType::int64, {rounds, (1 << depth) - 1})))),
        leaves_(g.variable(name + "/leaves", g.constant(ferry::Tensor(DType::float32, {rounds, 1 << depth})))) {}

  /// Adds an entry whose step grows one more tree and fetches the loss and the errors of all trees together on `rows`.
  void train(ferry::Graph& g, const std::string& name, const Rows& rows, double eta) {
    base_ = g.variable(name + "/base", margin_of(rows.labels));
    const Value margins = g.variable(name + "/margins", ferry::zeros_like(rows.labels) + margin_of(rows.labels));
    const ferry::StepCount round = ferry::count_steps(g, name + "/round");
    const Derivatives derivatives = derivatives_of(ferry::identity(margins).laid({ferry::split(0)}), rows.labels);

    Value nodes = ferry::cast(ferry::zeros_like(rows.labels), DType::int64);
    Values features;
    for (int level = 0; level < depth_; ++level) {
      features.push_back(best_features(derivatives, rows, ferry::one_hot(nodes, 1 << level, DType::float64)));
      nodes = descend(rows, nodes, features.back());
    }
    const Value leaves = weights(derivatives, ferry::one_hot(nodes, 1 << depth_, DType::float64)) * eta;

    const Value now = ferry::expand_dims(ferry::one_hot(round.steps, rounds_, DType::boolean), {1});
    const Value grown = margins + ferry::gather(leaves, nodes);
    const Values updates = {ferry::assign(features_, ferry::select(now, ferry::concat(features, 0), features_)),
                            ferry::assign(leaves_, ferry::select(now, leaves, leaves_)), ferry::assign(margins, grown)};
    for (const Value& update : ferry::only_when(round.steps < rounds_, updates)) g.target(name, update);
    g.target(name, round.update);
    g.fetch(name, "loss", log_loss(grown, rows.labels));
    g.fetch(name, "wrong", wrong(grown, rows.labels));
  }

  /// Adds an entry that fetches the loss and the errors of all trees together on `rows`.
  void evaluate(ferry::Graph& g, const std::string& name, const Rows& rows) const {
    Value margins = ferry::zeros_like(rows.labels) + base_;
    for (int tree = 0; tree < rounds_; ++tree) {
      const Value features = ferry::reshape(ferry::slice(features_, 0, tree, tree + 1), {-1});
      Value nodes = ferry::cast(ferry::zeros_like(rows.labels), DType::int64);
      for (int level = 0; level < depth_; ++level)
        nodes = descend(rows, nodes, ferry::slice(features, 0, (1 << level) - 1, (2 << level) - 1));
      margins = margins + ferry::gather(ferry::reshape(ferry::slice(leaves_, 0, tree, tree + 1), {-1}), nodes);
    }
    g.fetch(name, "loss", log_loss(margins, rows.labels));
    g.fetch(name, "wrong", wrong(margins, rows.labels));
  }

 private:
  /// The first and second derivatives of the loss by each row's margin: float64 [rows, 1].
  struct Derivatives {
    Value gradients, hessians;
  };

  static Derivatives derivatives_of(const Value& margins, const Value& labels) {
    const auto in_units = [](const Value& x) {
      return ferry::expand_dims(ferry::round(ferry::cast(x, DType::float64) * kUnits) / kUnits, {1});
    };
    const Value p = ferry::sigmoid(margins);
    return {in_units(p - labels), in_units(ferry::maximum(p * (1.0F - p), 1e-16F))};
  }

  /// The feature that splits each node's rows best. `inside`: float64 [rows, nodes], 1 where a row is in the node.
  static Value best_features(const Derivatives& derivatives, const Rows& rows, const Value& inside) {
    const auto sums = [&](const Value& of_rows) { return ferry::matmul(inside * of_rows, rows.has, true); };
    const Value gradients = sums(derivatives.gradients), hessians = sums(derivatives.hessians);
    const Value all_gradients = ferry::slice(gradients, 1, 0, 1), all_hessians = ferry::slice(hessians, 1, 0, 1);
    const Value others = all_gradients - gradients, other_hessians = all_hessians - hessians;
    const Value gain = worth(gradients, hessians) + worth(others, other_hessians) - worth(all_gradients, all_hessians);
    const Value allowed = ferry::logical_and(hessians >= kLeastWeight, other_hessians >= kLeastWeight);
    const Value gains = ferry::select(allowed, gain, 0.0F);
    const Value parts = ferry::max(gains, {1}) > kLeastGain;
    return ferry::argmax(gains, 1) * ferry::cast(parts, DType::int64);
  }

  /// The values of the leaves, float32 [leaves].
  static Value weights(const Derivatives& derivatives, const Value& inside) {
    const Value gradients = ferry::sum(inside * derivatives.gradients, {0});
    return ferry::cast(-gradients / (ferry::sum(inside * derivatives.hessians, {0}) + kLambda), DType::float32);
  }

  int depth_, rounds_;
  Value features_;  ///< int64 [rounds, 2^depth - 1], level after level
  Value leaves_;    ///< float32 [rounds, 2^depth]
  Value base_;      ///< the margin without trees
};

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("dp"));
  const Rows rows = read(g, "agaricus.train.gz", 6513), test = read(g, "agaricus.test.gz", 1611);
  Trees deep(g, "train", 6, 10), shallow(g, "shallow", 2, 2);
  deep.train(g, "train", rows, 0.3);
  deep.evaluate(g, "eval", test);
  shallow.train(g, "shallow", rows, 1.0);
  shallow.evaluate(g, "shallow_eval", test);
  return ferry::run_main(argc, argv, g);
}
