// Values on meshes: the same graph on 1 to 4 tasks gives the same numbers. The numbers are small integers, so that sums
// are exact in any order.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>

#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"

namespace ferry {
namespace {

Tensor counted(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  float next = 0;
  for (float& element : tensor.mutable_data<float>()) element = static_cast<float>(static_cast<int>(next++) % 7 - 3);
  return tensor;
}

/// Checks that what `build` fetches on a mesh over all tasks has the same bits on 1 to 4 tasks, and that the traffic is
/// as planned. The targets of an entry "train" are run, too.
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

TEST_CASE("sums of more than a thread folds at a time") {
  same_on_all([](Graph& g) {
    const Value x = g.constant(counted({7, 100'000})).laid({split(0)});
    const Value total = sum(x, {0});
    return Values{total, sum(total * total)};
  });
}

TEST_CASE("a server outside the mesh: it scatters the batch, broadcasts its variable, gets the sum of the gradients") {
  const auto build = [](Graph& g, const std::string& server, const std::string& workers) {
    Value x, w, loss;
    {
      auto here = g.device(server);
      x = g.constant(counted({7, 4}));
      w = g.variable("w", g.constant(counted({4, 2})));
    }
    {
      auto mesh = g.on(g.mesh("dp", workers));
      loss = sum(square(matmul(identity(x).laid({split(0)}), w)));
    }
    for (const Value& update : sgd(loss, {w}, 0.0078125)) g.target("train", update);
    return Values{loss, w};
  };
  const auto run = [&](const ClusterOptions& options, const std::string& server, const std::string& workers) {
    Graph g;
    RunRequest request;
    request.fetches = build(g, server, workers);
    for (OpId target : g.entries().at("train").targets) request.targets.push_back(g.value(g.op(target).output(0)));
    request.steps = 2;
    Session session(g, Cluster::connect(options));
    const std::vector<Tensor> got = session.run(request);
    for (const TaskStats& task : session.stats().tasks) CHECK(task.measured == task.planned);
    return got;
  };
  const auto expected = run({.tasks = 1, .threads = 1, .jobs = ""}, "/task:0", "/task:*");
  for (int workers = 1; workers <= 3; ++workers) {
    const auto got = run({.tasks = workers + 1, .threads = 1, .jobs = "ps=0,worker=1-" + std::to_string(workers)},
                         "/job:ps/task:0", "/job:worker/task:*");
    CHECK_MESSAGE(got[0].same_bits(expected[0]), got[0].str() << " is not " << expected[0].str());
    CHECK_MESSAGE(got[1].same_bits(expected[1]), got[1].str() << " is not " << expected[1].str());
  }
}

std::vector<Layout> layouts_of(std::size_t axes, int rank) {
  std::vector<Layout> all{{}};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<Layout> longer;
    for (const Layout& layout : all)
      for (int dim = -1; dim < rank; ++dim) {
        longer.push_back(layout);
        longer.back().push_back(dim < 0 ? replicated() : split(dim));
      }
    all = std::move(longer);
  }
  return all;
}

/// Fetches what `build` makes on a mesh of these axes, for every pair of layouts; it must equal `expected`.
void equals_for_all_layouts(const std::vector<std::int64_t>& axes, const Tensor& expected,
                            const std::function<Value(Graph&, const Layout&, const Layout&)>& build) {
  Mesh::Axis first{"a", axes[0]}, second{"b", axes.back()};
  Graph g;
  RunRequest request;
  {
    auto mesh = g.on(axes.size() == 1 ? g.mesh({first}) : g.mesh({first, second}));
    for (const Layout& from : layouts_of(axes.size(), 2))
      for (const Layout& to : layouts_of(axes.size(), 2)) request.fetches.push_back(build(g, from, to));
  }
  const auto tasks = static_cast<int>(axes.size() == 1 ? axes[0] : axes[0] * axes[1]);
  Session session(g, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""}));
  const std::vector<Tensor> got = session.run(request);
  for (const TaskStats& task : session.stats().tasks) CHECK(task.measured == task.planned);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK_MESSAGE(got[i].same_bits(expected), got[i].str() << " is not " << expected.str());
  }
}

const std::vector<std::vector<std::int64_t>> kMeshes{{3}, {2, 2}, {3, 2}};

TEST_CASE("every layout is turned into every other one") {
  const Tensor x = counted({7, 5});
  for (const auto& axes : kMeshes)
    equals_for_all_layouts(axes, x, [&](Graph& g, const Layout& from, const Layout& to) {
      return identity(identity(g.constant(x)).laid(from)).laid(to);
    });
}

TEST_CASE("a product of any two layouts, its partial sums joined into any third") {
  const Tensor x = counted({5, 4});
  for (const auto& axes : kMeshes) {
    const auto square_of = [&](Graph& g, const Layout& from, const Layout& to) {
      return matmul(identity(g.constant(x)).laid(from), identity(transpose(g.constant(x))).laid(to)).laid(from);
    };
    Graph g;
    const Tensor expected = Session(g, Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""}))
                                .run({matmul(g.constant(x), transpose(g.constant(x)))})[0];
    equals_for_all_layouts(axes, expected, square_of);
  }
}

/// Checks that a value goes from the device `server` to every layout on a mesh of workers with these axes, and back.
/// `among_workers`: whether the server is one of them.
void goes_out_and_back(const std::vector<std::int64_t>& axes, const std::string& server, bool among_workers) {
  CAPTURE(server);
  const Tensor x = counted({7, 5});
  std::vector<Mesh::Axis> named;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) named.push_back({std::string(1, "abc"[axis]), axes[axis]});
  const auto workers =
      static_cast<int>(std::accumulate(axes.begin(), axes.end(), std::int64_t{1}, std::multiplies<>()));
  const int others = among_workers ? 0 : 1;
  Graph g;
  RunRequest request;
  const MeshId mesh = g.mesh(named, "/job:worker/task:*");
  for (const Layout& layout : layouts_of(axes.size(), 2)) {
    Value on_mesh;
    const Value at_server = g.constant(x, on(server));
    {
      auto there = g.on(mesh);
      on_mesh = identity(at_server).laid(layout);
    }
    auto back = g.device(server);
    request.fetches.push_back(on_mesh * 2.0);
  }
  const std::string jobs = (among_workers ? "worker=0-" : "ps=0,worker=1-") + std::to_string(workers + others - 1);
  Session session(g, Cluster::connect(ClusterOptions{.tasks = workers + others, .threads = 1, .jobs = jobs}));
  const std::vector<Tensor> got = session.run(request);
  for (const TaskStats& task : session.stats().tasks) CHECK(task.measured == task.planned);
  Graph alone;
  const Tensor expected = Session(alone, Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""}))
                              .run({alone.constant(x) * 2.0})[0];
  for (const Tensor& tensor : got)
    CHECK_MESSAGE(tensor.same_bits(expected), tensor.str() << " is not " << expected.str());
}

TEST_CASE("a value goes from one task to every layout of a mesh and back, the task in the mesh or outside") {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{3}, {2, 2}, {3, 2}, {2, 1}, {2, 2, 2}}) {
    goes_out_and_back(axes, "/job:ps/task:0", false);
    goes_out_and_back(axes, "/job:worker/task:0", true);
    goes_out_and_back(axes, "/job:worker/task:1", true);
  }
}

/// Checks that a value goes from every layout on a mesh with the axes `from` to every layout on a mesh of other tasks
/// with the axes `to`.
void goes_across(const std::vector<Mesh::Axis>& from, const std::vector<Mesh::Axis>& to) {
  const Tensor x = counted({7, 5});
  const auto tasks_of = [](const std::vector<Mesh::Axis>& axes) {
    return std::accumulate(axes.begin(), axes.end(), 1,
                           [](int n, const Mesh::Axis& axis) { return n * static_cast<int>(axis.size); });
  };
  const int givers = tasks_of(from), getters = tasks_of(to);
  Graph g;
  const MeshId first = g.mesh(from, "/job:first/task:*"), second = g.mesh(to, "/job:second/task:*");
  RunRequest request;
  for (const Layout& given : layouts_of(from.size(), 2))
    for (const Layout& wanted : layouts_of(to.size(), 2)) {
      Value there;
      {
        auto here = g.on(first);
        there = identity(g.constant(x)).laid(given);
      }
      auto here = g.on(second);
      request.fetches.push_back(identity(there).laid(wanted));
    }
  const std::string jobs = "first=0-" + std::to_string(givers - 1) + ",second=" + std::to_string(givers) + "-" +
                           std::to_string(givers + getters - 1);
  Session session(g, Cluster::connect(ClusterOptions{.tasks = givers + getters, .threads = 1, .jobs = jobs}));
  const std::vector<Tensor> got = session.run(request);
  for (const TaskStats& task : session.stats().tasks) CHECK(task.measured == task.planned);
  for (const Tensor& tensor : got) CHECK_MESSAGE(tensor.same_bits(x), tensor.str() << " is not " << x.str());
}

TEST_CASE("a value goes from every layout of a mesh to every layout of a mesh of other tasks") {
  goes_across({{"a", 2}}, {{"b", 2}});
  goes_across({{"a", 3}}, {{"b", 2}});
  goes_across({{"a", 2}, {"b", 2}}, {{"c", 2}});
  goes_across({{"a", 2}}, {{"b", 2}, {"c", 2}});
  goes_across({{"a", 3}, {"b", 2}}, {{"c", 2}, {"d", 3}});
}

}  // namespace
}  // namespace ferry
