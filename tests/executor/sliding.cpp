// sliding FIRST COUNT [sim]: for COUNT seeds from FIRST on, runs convolutions and poolings of images that are split
// over a mesh along rows, columns or depth, and their gradients. They run on several tasks, with `sim` on simulated
// devices. They must have the bits that they have on one task, and what each task sends must be what its plan says.
// Prints each seed that fails.
//
// Half of the programs have small integers, whose sums are exact in any order: those have filters of all kinds, and
// filters' gradients, which are sums over tasks. The others have rounded numbers, and only ops that add in an order
// that does not depend on where a part begins: poolings, and convolutions of one or two dims that are computed
// directly.
#include <algorithm>
#include <string>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/windows.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/executor/as_on_one_task.hpp"
#include "tests/executor/seeds.hpp"
#include "tests/support/dice.hpp"

namespace {

using namespace ferry;
using Ints = std::vector<std::int64_t>;

/// The windows of one op, which fit into the images.
struct Sizes {
  Ints size;
  Sliding sliding;
};

Sizes sizes_for(test::Dice& dice, const Value& x, bool pools) {
  const int dims = x.rank() - 2;
  Sizes all;
  Ints behind;
  for (int d = 0; d < dims; ++d) {
    const std::int64_t size = x.shape()[d + 2].size();
    std::int64_t window = 1 + dice.below(4), dilation = pools || dice.one_in(2) ? 1 : 2;
    const std::int64_t most = pools ? window - 1 : 3;
    std::int64_t low = dice.below(most + 1), high = dice.below(most + 1);
    if ((window - 1) * dilation + 1 > low + size + high) window = 1, dilation = 1, low = 0, high = 0;
    all.size.push_back(window);
    all.sliding.strides.push_back(1 + dice.below(5) / 2);
    all.sliding.padding.push_back(low);
    behind.push_back(high);
    all.sliding.dilations.push_back(dilation);
  }
  all.sliding.padding.insert(all.sliding.padding.end(), behind.begin(), behind.end());
  return all;
}

class Builder {
 public:
  Builder(test::Fetched& made, std::uint64_t seed, std::int64_t rows) : made_(made), dice_(seed) {
    Graph& g = made.graph;
    exact_ = dice_.one_in(2);
    const int dims = 1 + dice_.below(8) / 3;
    const bool grid = dice_.one_in(2);
    const int first = dims == 1 ? 2 : 2 + dice_.below(dims),
              second = grid && dims > 1 && !dice_.one_in(4) ? 5 - first : 0;
    layout_ = grid ? Layout{split(first), split(second == 0 || second > dims + 1 ? 0 : second)} : Layout{split(first)};
    mesh_ = grid ? g.mesh({{"y", rows}, {"x", Mesh::kOpen}}, "/task:*") : g.mesh("x", "/task:*");
    auto here = g.on(mesh_);
    Ints sizes{1 + dice_.below(3), exact_ && dice_.one_in(2) ? 2 : 8};
    for (int d = 0; d < dims; ++d) sizes.push_back(1 + dice_.below(dims == 3 ? 7 : 14));
    Value x = variable("x", sizes);
    if (!dice_.one_in(6)) x = x.laid(layout_);  // else each task has all rows, and cuts the rows that it reads
    std::vector<Value> wanted{x};
    std::vector<Value> values{x};
    const int ops = 1 + dice_.below(3);
    for (int i = 0; i < ops; ++i) {
      x = apply(x, i, wanted);
      if (dice_.one_in(2)) x = identity(x).laid(layout_);
      values.push_back(x);
    }
    Value loss = sum(x * x);
    if (dice_.one_in(2)) loss = loss + sum(values[values.size() / 2]);
    made.fetches.assign(values.begin() + 1, values.end());
    if (!exact_) wanted.resize(1);
    for (const Value& gradient : gradients(loss, wanted)) made.fetches.push_back(gradient);
  }

 private:
  Value apply(const Value& x, int number, std::vector<Value>& wanted) {
    const int what = exact_ || x.rank() < 5 ? dice_.below(6) : 4 + dice_.below(2);
    const Sizes sizes = sizes_for(dice_, x, what >= 4);
    if (what >= 4) {
      Pooling pooling{sizes.size, sizes.sliding};
      pooling.count_padding = dice_.one_in(2);
      return what == 4 || exact_ ? max_pool(x, {sizes.size, sizes.sliding}) : avg_pool(x, pooling);
    }
    const std::int64_t channels = x.shape()[1].size(), groups = exact_ && dice_.one_in(3) ? 2 : 1;
    const std::int64_t out = exact_ && dice_.one_in(2) ? 2 : 16;
    Ints filter{out, channels / groups};
    const bool padded = std::ranges::any_of(sizes.sliding.padding, [](std::int64_t n) { return n > 0; });
    const bool transposed = what == 3 && x.rank() < 5 && !padded;
    if (transposed) filter = {channels, out / groups};
    filter.insert(filter.end(), sizes.size.begin(), sizes.size.end());
    const Value w = variable("w" + std::to_string(number), filter);
    const Value y = transposed ? conv_transpose(x, w, sizes.sliding, groups) : conv(x, w, sizes.sliding, groups);
    if (!exact_ && std::min(positions(x), positions(y)) < kDirectly) return x * 2.0F;
    wanted.push_back(w);
    return y;
  }

  /// Elements of a channel, of all images: with fewer, a convolution is a product of matrices.
  static std::int64_t positions(const Value& x) { return x.shape().count() / x.shape()[1].size(); }
  static constexpr std::int64_t kDirectly = 32;

  Value variable(const std::string& name, const Ints& sizes) {
    Tensor numbers(exact_ ? DType::float64 : DType::float32, sizes);
    if (exact_)
      for (double& number : numbers.mutable_data<double>()) number = static_cast<double>(dice_.below(5)) - 2;
    else
      for (float& number : numbers.mutable_data<float>()) number = static_cast<float>(dice_.below(1000)) / 7 - 70;
    return made_.graph.variable(name, made_.graph.constant(numbers));
  }

  test::Fetched& made_;
  test::Dice dice_;
  Layout layout_;
  MeshId mesh_ = kNoMesh;
  bool exact_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  const auto build = [](test::Fetched& made, std::uint64_t seed, std::int64_t rows) { Builder(made, seed, rows); };
  return test::try_seeds(
      argc, argv, "random convolutions and poolings are as on one task",
      [&](std::uint64_t seed, bool simulated) { return test::difference_from_one_task(build, seed, simulated); });
}
