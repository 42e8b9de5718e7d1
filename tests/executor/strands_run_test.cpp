// Plans whose instructions are placed on several threads give the bits of one thread.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <random>

#include "comm/transport.hpp"
#include "executor/run/task_executor.hpp"
#include "kernels/kernel.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kElements = 48;

/// Layers of small ops: the first takes an input and two variables, the others take random values of the layer before.
struct Layers {
  Graph graph;
  Signature signature;

  explicit Layers(unsigned seed) {
    std::mt19937 random(seed);
    const Value x = graph.input("x", DType::float32, {kElements});
    const Value v = graph.variable("v", graph.constant(Tensor(DType::float32, {kElements})));
    const Value w = graph.variable("w", graph.constant(Tensor(DType::float32, {kElements})));
    Values layer;
    for (std::size_t i = 0; i < 32; ++i)
      layer.push_back((i % 5 == 0 ? v : i % 5 == 1 ? w : x) + static_cast<double>(i) * 0.01);
    for (int depth = 0; depth < 8; ++depth) {
      Values next;
      for (std::size_t i = 0; i < layer.size(); ++i) {
        const Value other = layer[(i + random() % (random() % 4 == 0 ? layer.size() : 3)) % layer.size()];
        next.push_back(random() % 2 == 0 ? tanh(layer[i] + other) : tanh(layer[i] * other) - other);
      }
      layer = std::move(next);
    }
    signature.feeds = {{x.id(), 0, {kElements}}};
    for (const Value& value : layer) signature.fetches.push_back(value.id());
    signature.targets = {assign(v, layer[0] * 0.5 + v).op().id(), assign(w, v * 0.25).op().id()};
  }
};

struct Ran {
  std::vector<Tensor> fetched;
  std::map<std::string, std::vector<float>, std::less<>> variables;
  std::size_t waits = 0;
};

Ran run(unsigned seed, int threads) {
  const Layers layers(seed);
  const Plan plan = make_plan(layers.graph, layers.signature, Topology::local(1, threads), cpu_kernels()).plan;
  require_verified(plan);
  Ran ran;
  ran.waits = plan.classes[0].waits.size();
  for (const char* name : {"v", "w"}) ran.variables[name].assign(kElements, 0);
  const auto variable = [&](std::string_view name) {
    return reinterpret_cast<std::byte*>(ran.variables.find(name)->second.data());
  };
  Workers workers({.threads = threads, .crowded = true, .on_start = {}});
  const auto transports = inproc_transports(1);
  TaskExecutor executor(plan, 0, *transports[0], workers, variable, {});
  std::vector<float> numbers(kElements);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1F * static_cast<float>(i) - 2;
  const Tensor feeds[] = {Tensor::of<float>({kElements}, numbers)};
  ran.fetched.resize(plan.fetches.size());
  for (std::int64_t step = 0; step < 5; ++step) executor.step(step, feeds, ran.fetched);
  transports[0]->close();
  return ran;
}

TEST_CASE("strands on 2, 3 and 4 threads give the bits of one thread") {
  for (unsigned seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const Ran one = run(seed, 1);
    for (int threads : {2, 3, 4}) {
      CAPTURE(threads);
      const Ran several = run(seed, threads);
      CHECK(several.waits > 0);
      CHECK(several.variables == one.variables);
      for (std::size_t i = 0; i < one.fetched.size(); ++i) {
        const auto bytes = one.fetched[i].bytes();
        CHECK(std::memcmp(bytes.data(), several.fetched[i].bytes().data(), bytes.size()) == 0);
      }
    }
  }
}

}  // namespace
}  // namespace ferry
