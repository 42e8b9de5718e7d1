// Stages of graphs without microbatches: the forward pass, the memory of its ops, and cuts that save memory.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/needed.hpp"
#include "ops/control/state.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/stages/cut_stages.hpp"
#include "ops/train/stages/held_bytes.hpp"
#include "ops/train/stages/label_passes.hpp"
#include "ops/train/stages/place_stages.hpp"

namespace ferry {
namespace {

/// Layers with a weight and a bias, with as many rows as columns, so that all values have the shapes of weights.
struct Layers {
  Graph g;
  Values weights, sums, loss, updates;

  explicit Layers(int count) {
    Value x = g.input("x", DType::float32, {64, 64});
    for (int layer = 0; layer < count; ++layer) {
      const std::string number = std::to_string(layer);
      const Value w = g.variable("w" + number, g.constant(Tensor(DType::float32, {64, 64})));
      const Value b = g.variable("b" + number, g.constant(Tensor(DType::float32, {64})));
      sums.push_back(matmul(x, w) + b);
      x = tanh(sums.back());
      weights.insert(weights.end(), {w, b});
    }
    loss = {mean(square(x))};
  }

  [[nodiscard]] LabelledOps labelled(const Values& values) const {
    std::vector<ValueId> ids;
    for (const Value& value : values) ids.push_back(value.id());
    return label_passes(g, needed_ops(g, ids, {}));
  }
};

std::vector<OpId> forward_ops(const LabelledOps& labelled) {
  std::vector<OpId> ops;
  for (OpId id = 0; id < labelled.work.size(); ++id)
    if (labelled.work[id].is_one() && !labelled.work[id].backward) ops.push_back(id);
  return ops;
}

TEST_CASE("the forward pass ends at the last layer, whatever the optimizer") {
  using Optimizer = Values (*)(const Value&, const Values&);
  const Optimizer optimizers[] = {
      [](const Value& loss, const Values& weights) { return sgd(loss, weights, 0.1); },
      [](const Value& loss, const Values& weights) { return momentum(loss, weights, 0.1); },
      [](const Value& loss, const Values& weights) { return adam(loss, weights, 0.1); },
  };
  for (const Optimizer optimizer : optimizers) {
    Layers net(3);
    net.updates = optimizer(net.loss[0], net.weights);
    const std::vector<OpId> forward = forward_ops(net.labelled(net.updates));
    REQUIRE(forward.size() == 8);  // three products, three sums, and two activations
    CHECK(forward.back() == net.sums.back().op().id());
  }
}

TEST_CASE("without updates, all ops that depend on data are the forward pass") {
  const Layers net(2);
  const std::vector<OpId> forward = forward_ops(net.labelled(net.loss));
  CHECK(forward.size() > 6);  // two products, two sums, two activations, and the loss
  CHECK(forward.back() == net.loss[0].op().id());
}

TEST_CASE("an op holds the variables that it reads first, their gradients and the optimizer's variables") {
  constexpr std::int64_t kMatrix = 64 * 64 * 4, kVector = 64 * 4;
  Layers net(2);
  net.updates = adam(net.loss[0], net.weights, 0.1);
  const LabelledOps labelled = net.labelled(net.updates);
  const std::vector<std::int64_t> held = held_bytes(net.g, labelled, forward_ops(labelled));
  const std::vector<std::int64_t> wanted{6 * kMatrix,  // the input, the weight, its gradient, m, v, the product
                                         kMatrix + 4 * kVector,  // the sum, and the bias with its gradient, m and v
                                         kMatrix, 5 * kMatrix, kMatrix + 4 * kVector};
  CHECK(held == wanted);
}

TEST_CASE("everything that belongs to a weight is in the stage of its layer") {
  Layers net(4);
  net.updates = adam(net.loss[0], net.weights, 0.1);
  const LabelledOps labelled = net.labelled(net.updates);
  for (const int count : {2, 4}) {
    CAPTURE(count);
    const std::vector<int> stages = place_stages(net.g, labelled, count, [&](std::span<const OpId> ops) {
      return cut_into_stages(net.g, ops, static_cast<std::size_t>(count), {});
    });
    for (int layer = 0; layer < 4; ++layer)
      for (const std::string& name : {"w" + std::to_string(layer), "b" + std::to_string(layer)})
        for (const char* beside : {"", "/adam_m", "/adam_v", "/init"}) {
          CAPTURE(name + beside);
          CHECK(stages[*net.g.find(name + beside)] == layer * count / 4);
        }
    CHECK(stages[net.loss[0].op().id()] == count - 1);
    CHECK(stages[*net.g.find("x")] == 0);
  }
}

TEST_CASE("a limit of memory moves the cuts") {
  using Parts = std::vector<std::size_t>;
  const std::vector<std::int64_t> times{1, 1, 1, 1, 4}, bytes(5, 1), held{5, 1, 1, 5, 1};
  CHECK(cut_evenly(times, bytes, 2) == Parts{0, 4});
  CHECK(cut_evenly(times, bytes, 2, {held, 11}) == Parts{0, 3});
  CHECK(cut_evenly(times, bytes, 2, {held, 7}) == Parts{0, 3});
  CHECK(cut_evenly(times, bytes, 3, {held, 6}) == Parts{0, 2, 4});
}

}  // namespace
}  // namespace ferry
