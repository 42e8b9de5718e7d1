// stencils FIRST COUNT [sim]: for COUNT seeds from FIRST on, loops and steps of elementwise ops on windows of values
// that are split over a mesh, with `sim` on simulated devices. Fused into stencils they must have the bits that they
// have on one task op by op, and what each task sends must be what its plan says. Prints each seed that fails.
#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/executor/as_on_one_task.hpp"
#include "tests/executor/seeds.hpp"
#include "tests/support/dice.hpp"

namespace {

using namespace ferry;
using Ints = std::vector<std::int64_t>;

/// Windows, all alike in size, of a value and of what a step makes of it.
class Stencil {
 public:
  Stencil(test::Dice& dice, const Shape& shape) : dice_(dice) {
    for (int d = 0; d < shape.rank(); ++d) {
      reach_.push_back(dice.below(4));
      inside_.push_back(dice.one_in(4) ? std::min<std::int64_t>(shape[d].size() - 1, dice.below(4)) : 0);
      stride_.push_back(dice.one_in(8) ? 1 : 0);
    }
    padding_ = dice.below(3);
  }

  Value step(const Value& x, const Value& source) {
    std::vector<Value> values;
    const int windows = 1 + dice_.below(6);
    const Value wide = pad(x, reach_, reach_, padding_);
    for (int i = 0; i < windows; ++i) values.push_back(window(x, wide));
    if (same_size()) {
      values.push_back(x);
      values.push_back(source);
    }
    Value all = values[0];
    for (int i = 0; i < 3 + dice_.below(6); ++i) {
      const Value a = dice_.one_in(2) ? all : dice_.of(values);
      const Value b = dice_.of(values);
      switch (dice_.below(6)) {
        case 0:
          all = a + b;
          break;
        case 1:
          all = maximum(a, b);
          break;
        case 2:
          all = a * 2.0 + b;
          break;
        case 3:
          all = select(a < b, a, b);
          break;
        case 4:
          values.push_back(a - b);
          break;
        default:
          all = minimum(a, b) - 1.0;
      }
    }
    return all;
  }
  [[nodiscard]] bool same_size() const {
    const auto none = [](std::int64_t size) { return size == 0; };
    return std::ranges::all_of(inside_, none) && std::ranges::all_of(stride_, none);
  }

 private:
  /// A random window of `wide`. Its sizes are the sizes of x minus `inside_`; along some dims it has every second row.
  Value window(const Value& x, const Value& wide) {
    Ints axes, begin, end, step;
    for (int d = 0; d < x.rank(); ++d) {
      const auto at = static_cast<std::size_t>(d);
      const std::int64_t size = x.shape()[d].size() - inside_[at];
      axes.push_back(d);
      begin.push_back(dice_.below(2 * reach_[at] + inside_[at] + 1));
      step.push_back(1 + stride_[at]);
      end.push_back(begin.back() + size);
    }
    return slice(wide, axes, begin, end, step);
  }

  test::Dice& dice_;
  Ints reach_, inside_, stride_;
  double padding_ = 0;
};

void build(test::Fetched& made, std::uint64_t seed, std::int64_t rows) {
  test::Dice dice(seed);
  Graph& g = made.graph;
  const test::SplitOver over(g, dice, rows);
  auto here = g.on(over.mesh);
  std::vector<std::int64_t> sizes{1 + dice.below(25), 1 + dice.below(25)};
  if (dice.one_in(3)) sizes.push_back(1 + dice.below(6));
  Tensor numbers(DType::float32, sizes);
  for (float& number : numbers.mutable_data<float>()) number = static_cast<float>(dice.below(1000)) / 7;
  static constexpr DType kTypes[] = {DType::float32, DType::float64, DType::int32, DType::float16};
  const DType dtype = kTypes[dice.below(4)];
  const Value start = cast(g.constant(numbers), dtype);
  const Value x = g.variable("x", start).laid(over.layout), source = g.variable("source", start).laid(over.layout);
  Stencil stencil(dice, x.shape());
  const Value once = stencil.step(x, source);
  made.fetches.push_back(once);
  if (!stencil.same_size()) return;
  const auto iterations = static_cast<double>(1 + seed % 4);
  made.fetches.push_back(while_loop(
      {g.constant(0.0), x}, [&](const std::vector<Value>& s) { return s[0] < iterations; },
      [&](const std::vector<Value>& s) {
        return std::vector<Value>{s[0] + 1.0, stencil.step(s[1], source)};
      })[1]);
  if (dice.one_in(2)) made.fetches.push_back(assign(dice.one_in(2) ? x : source, once));
}

}  // namespace

int main(int argc, char** argv) {
  return test::try_seeds(argc, argv, "stencils are as on one task", [](std::uint64_t seed, bool simulated) {
    return test::difference_from_one_task(build, seed, simulated, 2);
  });
}
