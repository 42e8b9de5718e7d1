// Values on meshes: the same graph on 1 to 4 tasks gives the same numbers. The numbers are small integers, so that sums
// are exact in any order.
#include <doctest/doctest.h>

#include <functional>

#include "executor/session.hpp"
#include "graph/core_ops.hpp"
#include "ops/array.hpp"
#include "ops/control.hpp"
#include "ops/linalg.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/nn.hpp"
#include "ops/optim.hpp"
#include "ops/random.hpp"
#include "ops/reduce.hpp"
#include "ops/reshape.hpp"
#include "ops/state.hpp"

namespace ferry {
namespace {

Tensor counted(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  float next = 0;
  for (float& element : tensor.mutable_data<float>()) element = static_cast<float>(static_cast<int>(next++) % 7 - 3);
  return tensor;
}

/// Builds on a mesh over all tasks; the fetches must be the same on 1 to 4 of them, and the traffic as planned.
void same_on_all(const std::function<Values(Graph&)>& build, int steps = 1) {
  std::vector<Tensor> expected;
  for (int n = 1; n <= 4; ++n) {
    CAPTURE(n);
    Graph g;
    RunRequest request;
    {
      auto mesh = g.on(g.mesh("dp"));
      request.fetches = build(g);
    }
    for (const auto& [name, entry] : g.entries())
      if (name == "train")
        for (OpId target : entry.targets) request.targets.push_back(g.value(g.op(target).output(0)));
    request.steps = steps;
    Session session(g, Cluster::connect(ClusterOptions{.tasks = n, .threads = 1, .jobs = ""}));
    const std::vector<Tensor> got = session.run(request);
    for (const TaskStats& task : session.stats().tasks) CHECK(task.measured == task.planned);
    if (n == 1) expected = got;
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK_MESSAGE(got[i].same_bits(expected[i]), got[i].str() << " is not " << expected[i].str());
    }
  }
}

TEST_CASE("seven rows over up to four tasks: products, sums, means, softmax, slices") {
  same_on_all([](Graph& g) {
    const Value x = g.constant(counted({7, 4})).laid({split(0)});
    const Value w = g.constant(counted({4, 3}));
    const Value y = matmul(x, w);
    return Values{y,
                  sum(y),
                  mean(y, {1}),
                  max(y, {0}),
                  softmax(y),
                  softmax(y, 0),
                  transpose(y),
                  slice(y, 0, 2, 5),
                  reshape(y, {-1})};
  });
}

TEST_CASE("columns over tasks, and parts that are empty") {
  same_on_all([](Graph& g) {
    const Value w = g.constant(counted({4, 3})).laid({split(1)});
    const Value x = g.constant(counted({2, 4}));
    const Value v = g.constant(counted({3, 2})).laid({split(0)});
    return Values{matmul(x, w), matmul(matmul(x, w), v), w + 1, concat(Values{w, w}, 0), concat(Values{w, w}, 1)};
  });
}

TEST_CASE("random numbers do not depend on how a value is split") {
  same_on_all([](Graph& g) {
    return Values{uniform(g, {9, 3}).laid({split(0)}), normal(g, {9, 3}).laid({split(1)}), uniform(g, {5})};
  });
}

TEST_CASE("training with the batch split: gradients are summed, variables stay equal") {
  same_on_all(
      [](Graph& g) {
        const Value x = g.constant(counted({8, 4})).laid({split(0)});
        const Value w = g.variable("w", g.constant(counted({4, 2})));
        const Value loss = sum(square(matmul(x, w)));
        for (const Value& update : sgd(loss, {w}, 0.0078125)) g.target("train", update);
        return Values{loss, w};
      },
      2);
}

TEST_CASE("a variable that is split, and one that is written from another") {
  same_on_all(
      [](Graph& g) {
        const Value v = g.variable("v", g.constant(counted({6, 2}))).laid({split(0)});
        g.target("train", assign(v, v + 1));
        return Values{v, sum(v)};
      },
      3);
}

TEST_CASE("a loop over split values, its predicate from a sum") {
  same_on_all([](Graph& g) {
    const Value x = g.constant(counted({7, 2})).laid({split(0)});
    return while_loop(
        {x, g.constant(0.0)}, [](const Values& c) { return less(sum(abs(c[0])), 200); },
        [](const Values& c) {
          return Values{c[0] * 2, c[1] + sum(c[0])};
        });
  });
}

TEST_CASE("a branch on a sum of all tasks") {
  same_on_all([](Graph& g) {
    const Value x = g.constant(counted({7, 2})).laid({split(0)});
    return cond(
        less(sum(x), 0), [&] { return Values{x + 1}; }, [&] { return Values{x - 1}; });
  });
}

}  // namespace
}  // namespace ferry
