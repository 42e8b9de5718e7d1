// halos FIRST COUNT [sim]: for COUNT seeds from FIRST on, runs chains of slices and pads of a value that is split over
// a mesh, and their gradients. They run on several tasks, with `sim` on simulated devices. They must have the bits that
// they have on one task, and what each task sends must be what its plan says. Prints each seed that fails.
#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/executor/as_on_one_task.hpp"
#include "tests/executor/seeds.hpp"
#include "tests/support/dice.hpp"

namespace {

using namespace ferry;
using Ints = std::vector<std::int64_t>;

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

void build(test::Fetched& made, std::uint64_t seed, std::int64_t rows) {
  test::Dice dice(seed);
  Graph& g = made.graph;
  const test::SplitOver over(g, dice, rows);
  auto here = g.on(over.mesh);
  Tensor numbers(DType::float32, {1 + dice.below(17), 1 + dice.below(17), 1 + dice.below(2)});
  for (float& number : numbers.mutable_data<float>()) number = static_cast<float>(dice.below(1000)) / 7;
  const Value x = g.variable("x", g.constant(numbers)).laid(over.layout);
  std::vector<Value> values{x};
  for (int i = 0; i < 5; ++i) values.push_back(window(dice, dice.of(values)));
  Value loss = sum(values.back() * values.back());
  for (std::size_t i = 1; i < values.size(); ++i) {
    made.fetches.push_back(values[i]);
    if (dice.one_in(2)) loss = loss + sum(values[i] * static_cast<float>(i));
  }
  made.fetches.push_back(gradients(loss, {x})[0]);
}

}  // namespace

int main(int argc, char** argv) {
  return test::try_seeds(argc, argv, "random windows are as on one task", [](std::uint64_t seed, bool simulated) {
    return test::difference_from_one_task(build, seed, simulated);
  });
}
