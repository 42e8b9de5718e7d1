// Writes a graph of random float32 reductions over split axes: random_reductions SEED FILE.pb. It has sums, means and
// matrix products whose contracted dim is split, of numbers whose sums depend on the order in which they are added.
#include <cstdlib>

#include "graph/file/graph_file.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/dice.hpp"

namespace {

using namespace ferry;

const std::vector<std::int64_t> kSizes{5, 33, 64, 131, 257, 600};

class Reductions {
 public:
  explicit Reductions(std::uint64_t seed) : dice_(seed) {}

  /// Builds twelve reductions, fetched as r0, r1, …
  void build(Graph& g) {
    const Scope everywhere = g.on(g.mesh("all"));
    for (int i = 0; i < 3; ++i) matrices_.push_back(numbers(g, size()));
    for (int i = 0; i < 12; ++i) g.fetch("run", "r" + std::to_string(i), reduction(g));
  }

 private:
  std::int64_t size() { return dice_.of(kSizes); }

  /// A matrix of numbers of both signs and magnitudes from about 1e-4 to 1e4, split over all tasks along a random dim.
  Value numbers(Graph& g, std::int64_t rows) {
    const std::int64_t columns = size();
    const Value sign = normal(g, {rows, columns});
    const Value size = exp(normal(g, {rows, columns}, 0, 3));
    return cut(sign * size, dice_.below(2));
  }

  static Value cut(const Value& x, int dim) { return identity(x).laid({split(dim)}); }

  Value reduction(Graph& g) {
    const Value x = cut(dice_.of(matrices_), dice_.below(2));
    const std::int64_t axis = dice_.below(2);
    switch (dice_.below(5)) {
      case 0:
        return sum(x, {axis});
      case 1:
        return mean(x, {axis});
      case 2:
        return sum(x);
      case 3:
        return mean(x * dice_.of(matrices_of(x)), {axis});
      default:
        return product(g, cut(x, 1));
    }
  }

  /// x times a matrix that is split along the contracted dim; half of the products are reduced further.
  Value product(Graph& g, const Value& x) {
    const Value y = numbers(g, x.shape()[1].size());
    matrices_.push_back(matmul(x, cut(y, 0)));
    return dice_.one_in(2) ? sum(matrices_.back(), {0}) : matrices_.back();
  }

  std::vector<Value> matrices_of(const Value& x) const {
    std::vector<Value> fitting;
    for (const Value& y : matrices_)
      if (y.shape() == x.shape()) fitting.push_back(y);
    return fitting;
  }

  test::Dice dice_;
  std::vector<Value> matrices_;
};

}  // namespace

int main(int, char** argv) {
  Graph g;
  Reductions(std::strtoull(argv[1], nullptr, 10)).build(g);
  save_graph(g, argv[2]);
}
