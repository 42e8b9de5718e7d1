// Sums in buckets have the same bits as each sum alone, the traffic that was planned, and fewer messages.
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "executor/session/session.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/executor/outcome.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

TensorMap random_values(const TensorMap& like, std::uint64_t seed) {
  test::Dice dice(seed);
  TensorMap values;
  for (const auto& [name, tensor] : like) values[name] = test::random_tensor(tensor.dtype(), tensor.sizes(), dice);
  return values;
}

test::Outcome run(const Graph& graph, const RunRequest& request, int tasks, std::optional<std::int64_t> bucket_bytes) {
  SessionOptions options;
  options.plan.bucket_bytes = bucket_bytes;
  Session session(graph, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""}), options);
  static_cast<void>(session.run(request));
  session.restore(random_values(session.variables(), 7));
  const std::vector<Tensor> fetched = session.run(request);
  return {session, fetched};
}

TEST_CASE("a network that is trained in buckets of any size has the same bits") {
  for (int tasks = 2; tasks <= 4; ++tasks) {
    CAPTURE(tasks);
    Graph g;
    RunRequest request;
    request.steps = 3;
    {
      auto all = g.on(g.mesh("dp"));
      const Value x = g.variable("x", g.constant(Tensor(DType::float32, {13, 20}))).laid({split(0)});
      std::vector<Value> weights;
      Value y = x;
      for (const std::int64_t width : {40, 33, 5}) {
        weights.push_back(
            g.variable("w" + std::to_string(width), g.constant(Tensor(DType::float32, {y.shape().sizes()[1], width}))));
        weights.push_back(g.variable("b" + std::to_string(width), g.constant(Tensor(DType::float32, {width}))));
        y = tanh(matmul(y, weights[weights.size() - 2]) + weights.back());
      }
      const Value loss = sum(y * y);
      request.fetches = {loss};
      request.targets = momentum(gradients_of(loss, weights), 0.01, 0.9);
    }
    const test::Outcome alone = run(g, request, tasks, 0);
    for (const std::optional<std::int64_t> bytes :
         {std::optional<std::int64_t>(), std::optional<std::int64_t>(600), std::optional<std::int64_t>(INT64_MAX)}) {
      const test::Outcome bucketed = run(g, request, tasks, bytes);
      test::check_same_bits(alone, bucketed);
      CHECK(bucketed.messages < alone.messages);
    }
  }
}

/// Runs the request on two tasks, and gives the lines of task 0 in the trace.
std::vector<std::string> trace_of(const Graph& graph, const RunRequest& request,
                                  std::optional<std::int64_t> bucket_bytes = {}) {
  const test::TempFolder folder;
  SessionOptions options;
  options.plan.bucket_bytes = bucket_bytes;
  options.run.trace_file = folder / "trace.json";
  {
    Session session(graph, Cluster::connect(ClusterOptions{.tasks = 2, .threads = 1, .jobs = ""}), options);
    static_cast<void>(session.run(request));
  }
  std::ifstream file(options.run.trace_file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (line.find("\"pid\":0") != std::string::npos) lines.push_back(line);
  return lines;
}

TEST_CASE("the trace shows that a sum is under way while kernels run") {
  Graph g;
  RunRequest request;
  {
    auto all = g.on(g.mesh("dp"));
    const Value x = g.variable("x", g.constant(Tensor(DType::float32, {8, 4}))).laid({split(0)});
    const Value total = sum(x * x, {0});
    request.fetches = {sum(exp(exp(x)), {0, 1}), identity(total).laid({replicated()})};
  }
  bool under_way = false;
  int kernels = 0, bars = 0;
  for (const std::string& line : trace_of(g, request)) {
    if (line.find("all_reduce") != std::string::npos &&
        line.find("\"cat\":\"collective\",\"ph\"") != std::string::npos) {
      under_way = line.find("\"ph\":\"b\"") != std::string::npos;
      bars += under_way ? 1 : 0;
    }
    kernels += under_way && line.find("\"Exp ") != std::string::npos ? 1 : 0;
  }
  CHECK(bars == 1);
  CHECK(kernels == 2);
  CHECK_FALSE(under_way);
}

TEST_CASE("gradients of later layers are summed while those of earlier ones are computed") {
  Graph g;
  RunRequest request;
  {
    auto all = g.on(g.mesh("dp"));
    Value y = g.variable("x", g.constant(Tensor(DType::float32, {8, 6}))).laid({split(0)});
    std::vector<Value> weights;
    for (const char* name : {"first", "second", "third"}) {
      weights.push_back(g.variable(name, g.constant(Tensor(DType::float32, {6, 6}))));
      y = tanh(matmul(y, weights.back()));
    }
    request.targets = sgd(gradients_of(sum(y * y), weights), 0.01);
  }
  int sums = 0, under_way = 0, products = 0;
  for (const std::string& line : trace_of(g, request, 4)) {
    const bool starts = line.find("\"ph\":\"b\"") != std::string::npos;
    sums += starts ? 1 : 0;
    under_way += starts ? 1 : line.find("\"ph\":\"e\"") != std::string::npos ? -1 : 0;
    products += under_way > 0 && line.find("\"MatMul ") != std::string::npos ? 1 : 0;
  }
  CHECK(sums == 3);
  CHECK(under_way == 0);
  CHECK(products >= 3);  // of the backward pass through the second and the first layer
}

TEST_CASE("random graphs on meshes have the same bits with buckets and without") {
  int fewer = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const int tasks = 2 + static_cast<int>(seed % 3);
    const test::RandomMeshGraph made = test::random_mesh_graph(seed, {.ops = 16, .tasks = tasks});
    RunRequest request;
    request.fetches = made.fetches;
    request.targets = made.targets;
    request.steps = 2;
    const test::Outcome alone = run(*made.graph, request, tasks, 0);
    const test::Outcome bucketed = run(*made.graph, request, tasks, std::nullopt);
    test::check_same_bits(alone, bucketed);
    fewer += bucketed.messages < alone.messages ? 1 : 0;
  }
  CHECK(fewer > 3);
}

}  // namespace
}  // namespace ferry
