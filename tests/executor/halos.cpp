// halos FIRST COUNT [sim]: for COUNT seeds from FIRST on, chains of slices and pads of a value that is split over a
// mesh, and their gradients, on several tasks, with `sim` on simulated devices. They must have the bits that they have
// on one task, and what each task sends must be what its plan says. Prints each seed that fails.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "executor/session/session.hpp"
#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/dice.hpp"

namespace {

using namespace ferry;
using Ints = std::vector<std::int64_t>;

bool simulated = false;

/// A slice or a pad of some of the value's dims.
Value window(test::Dice& dice, const Value& x) {
  Ints low, high, axes, begin, end, step;
  for (int d = 0; d < x.rank(); ++d) {
    const auto size = static_cast<int>(x.shape()[d].size());
    low.push_back(dice.below(4));
    high.push_back(dice.below(4));
    if (dice.one_in(3)) continue;
    axes.push_back(d);
    begin.push_back(dice.below(std::min(size, 4) + 1));
    end.push_back(dice.one_in(2) ? kEnd : size - dice.below(std::min(size, 4) + 1));
    step.push_back(1 + dice.below(3) / 2);
  }
  return dice.one_in(2) || axes.empty() ? pad(x, low, high, dice.below(3)) : slice(x, axes, begin, end, step);
}

struct Windows {
  Graph graph;
  std::vector<Value> fetches;
};

void build(Windows& made, std::uint64_t seed, std::int64_t rows) {
  test::Dice dice(seed);
  Graph& g = made.graph;
  const bool grid = dice.one_in(2);
  const Layout layout = grid ? Layout{split(0), split(1)} : Layout{split(dice.below(2))};
  const MeshId mesh = grid ? g.mesh({{"y", rows}, {"x", Mesh::kOpen}}, "/task:*") : g.mesh("x", "/task:*");
  auto here = g.on(mesh);
  Tensor numbers(DType::float32, {1 + dice.below(17), 1 + dice.below(17), 1 + dice.below(2)});
  for (float& number : numbers.mutable_data<float>()) number = static_cast<float>(dice.below(1000)) / 7;
  const Value x = g.variable("x", g.constant(numbers)).laid(layout);
  std::vector<Value> values{x};
  for (int i = 0; i < 5; ++i) values.push_back(window(dice, dice.of(values)));
  Value loss = sum(values.back() * values.back());
  for (std::size_t i = 1; i < values.size(); ++i) {
    made.fetches.push_back(values[i]);
    if (dice.one_in(2)) loss = loss + sum(values[i] * static_cast<float>(i));
  }
  made.fetches.push_back(gradients(loss, {x})[0]);
}

std::vector<Tensor> run(const Windows& made, int tasks, std::uint64_t seed, std::string& wrong) {
  ClusterOptions job{.tasks = tasks, .threads = 1 + static_cast<int>(seed % 2), .transport = "inproc"};
  if (simulated) job.simulated = seed;
  Session session(made.graph, Cluster::connect(std::move(job)));
  std::vector<Tensor> got = session.run(made.fetches);
  for (const TaskStats& task : session.stats().tasks)
    if (task.measured != task.planned) wrong = "task " + std::to_string(task.task) + ": traffic";
  return got;
}

std::string difference(std::uint64_t seed) {
  static constexpr int kGrids[][2] = {{2, 1}, {1, 2}, {1, 3}, {2, 2}, {1, 5}, {2, 3}, {3, 2}, {4, 2}};
  const auto& grid = kGrids[seed % std::size(kGrids)];
  Windows one, many;
  build(one, seed, 1);
  build(many, seed, grid[0]);
  std::string wrong;
  const std::vector<Tensor> wanted = run(one, 1, seed, wrong), got = run(many, grid[0] * grid[1], seed, wrong);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!got[i].same_bits(wanted[i]))
      return many.fetches[i].name() + " is " + got[i].type().str() + " " + got[i].str() + ", not " +
             wanted[i].type().str() + " " + wanted[i].str();
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  simulated = argc > 3 && std::string_view(argv[3]) == "sim";
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::string wrong;
    try {
      wrong = difference(seed);
    } catch (const Error& error) {
      wrong = error.text();
    }
    if (wrong.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
  }
  std::printf("%llu of %llu random windows are as on one task\n", static_cast<unsigned long long>(count - failed),
              static_cast<unsigned long long>(count));
  return failed == 0 ? 0 : 1;
}
