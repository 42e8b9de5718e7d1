// Stages of pipelines that are cut again: the values that move with them, and the refusals.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/pipeline.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// Six equal layers, all except the last on task 0, and their training by Adam.
struct Uneven {
  Graph g;
  Value x, loss, eval;
  Values weights, updates;

  Uneven() {
    const auto on_task = [&](int task) { return g.device("/task:" + std::to_string(task)); };
    Value y;
    {
      const Scope here = on_task(0);
      x = y = g.input("x", DType::float32, {32, 64});
    }
    for (int layer = 0; layer < 6; ++layer) {
      const Scope here = on_task(layer / 5);
      weights.push_back(g.variable("w" + std::to_string(layer), g.constant(Tensor(DType::float32, {64, 64}))));
      y = tanh(matmul(y, weights.back()));
    }
    const Scope here = on_task(1);
    eval = mean(square(y));
    loss = pipeline(eval, {.microbatches = 4});
    updates = adam(loss, weights, 0.01);
  }

  [[nodiscard]] std::string place_of(OpId op) const { return g.op(op).annotation().device.str(); }
};

TEST_CASE("layers are cut into equal stages, and what belongs to them goes with them") {
  for (const int tasks : {1, 2, 3, 6}) {
    CAPTURE(tasks);
    Uneven net;
    balance_stages(net.g, tasks);
    for (OpId id = 0; id < net.g.size(); ++id) {
      const std::string name(net.g.op(id).name());
      CAPTURE(name);
      if (const std::size_t w = name.find('w'); w != std::string::npos && net.g.op(id).def().role == OpRole::variable)
        CHECK(net.place_of(id) == "/task:" + std::to_string((name[w + 1] - '0') * tasks / 6));  // Adam's, too
      CHECK(net.g.op(id).annotation().device.task.value_or(0) < tasks);
    }
    const Plan plan = test::planned(net.g, {}, Topology::local(tasks), net.updates, {{net.x.id(), {32, 64}}});
    CHECK(verify(plan).reason == "");
    // Between neighbours each microbatch goes there and back; to all goes what Adam makes of its count of steps.
    CHECK(plan.channels.size() <= (4 * 2 + 1) * (static_cast<std::size_t>(tasks) - 1) + 1);
    const Plan eval = test::planned(net.g, {net.eval}, Topology::local(tasks), {}, {{net.x.id(), {32, 64}}});
    CHECK(eval.channels.size() <= static_cast<std::size_t>(tasks));  // layers are with their weights
  }
}

TEST_CASE("weights and what they are updated with are in one stage, wherever a cut falls") {
  for (const int tasks : {1, 2, 3, 4, 5}) {
    CAPTURE(tasks);
    Graph g;
    Values weights, updates;
    Value x, y;
    {
      const Scope here = g.device("/task:7");
      x = y = g.input("x", DType::float32, {32, 64});
      for (int layer = 0; layer < 4; ++layer) {
        const std::string number = std::to_string(layer);
        const Value w = g.variable("w" + number, g.constant(Tensor(DType::float32, {64, 64})));
        const Value b = g.variable("b" + number, g.constant(Tensor(DType::float32, {64})));
        y = exp(tanh(matmul(y, w) + b));
        weights.insert(weights.end(), {w, b});
      }
      updates = adam(pipeline(mean(square(y)), {.microbatches = 4}), weights, 0.01);
    }
    balance_stages(g, tasks);
    for (const Value& w : weights)
      for (const char* beside : {"/adam_m", "/adam_v", "/init"})
        CHECK(g.op(*g.find(w.name() + beside)).annotation().device == w.op().annotation().device);
    for (OpId id = 0; id < g.size(); ++id) CHECK(g.op(id).annotation().device.task.value_or(0) < tasks);
    const Plan plan = test::planned(g, {}, Topology::local(tasks), updates, {{x.id(), {32, 64}}});
    CHECK(verify(plan).reason == "");
    CHECK(plan.channels.size() <= (4 * 2 + 1) * (static_cast<std::size_t>(tasks) - 1) + 1);
  }
}

template <class F>
std::string said(const F& run) {
  return test::error_of(run).text();
}

TEST_CASE("stages that cannot be chosen") {
  Uneven net;
  CHECK(said([&] { balance_stages(net.g, 0); }).find("balance: 0 tasks\n") == 0);
  CHECK(said([&] { balance_stages(net.g, 1000); }).find("balance: 1000 tasks, and only ") == 0);
  Graph none;
  static_cast<void>(none.constant({1}));
  CHECK(said([&] { balance_stages(none, 2); }).find("balance: the graph has no pipeline()\n") == 0);
  Graph spread;
  const Scope all = spread.on(spread.mesh("dp"));
  const Value x = spread.input("x", DType::float32, {8, 4});
  static_cast<void>(pipeline(mean(x), {.microbatches = 2}));
  CHECK(said([&] { balance_stages(spread, 2); }).find(" is on a mesh, so its stage cannot be chosen\n  at ") !=
        std::string::npos);
}

}  // namespace
}  // namespace ferry
