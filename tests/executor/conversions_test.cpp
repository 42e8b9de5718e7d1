// Conversions from every layout on a mesh of two axes to every other give the values of one task, whether sizes divide
// or not; also for bounded values, whose extents travel with them.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>

#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

struct Grid {
  std::int64_t first, second;
};

Tensor numbered(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  const auto elements = tensor.mutable_data<float>();
  std::iota(elements.begin(), elements.end(), 1.0F);
  return tensor;
}

/// Ones, but each `every`-th element is a zero.
Tensor mask_of(std::int64_t size, std::int64_t every) {
  Tensor tensor(DType::float32, {size});
  for (std::int64_t i = 0; i < size; ++i) tensor.mutable_data<float>()[i] = (i + 1) % every == 0 ? 0.0F : 1.0F;
  return tensor;
}

std::vector<Layout> all_layouts() {
  const AxisLayout ways[] = {replicated(), split(0), split(1)};
  std::vector<Layout> layouts;
  for (const AxisLayout& first : ways)
    for (const AxisLayout& second : ways) layouts.push_back({first, second});
  return layouts;
}

/// Checks that the fetches of `build` have the same bits on one task, without layouts, and on the mesh `grid`.
void same_as_on_one_task(const Grid& grid, const std::function<Values(Graph&, bool laid)>& build) {
  const auto run = [&](bool laid) {
    Graph g;
    RunRequest request;
    if (laid) {
      auto mesh = g.on(g.mesh({{"a", grid.first}, {"b", grid.second}}));
      request.fetches = build(g, true);
    } else {
      request.fetches = build(g, false);
    }
    const int tasks = laid ? static_cast<int>(grid.first * grid.second) : 1;
    Session session(g, Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""}));
    return session.run(request);
  };
  const std::vector<Tensor> expected = run(false), got = run(true);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK_MESSAGE(got[i].same_bits(expected[i]), got[i].str() << " is not " << expected[i].str());
  }
}

/// `x` in one layout and then in another, for each pair of layouts.
Values converted(const Value& x, bool laid) {
  Values ends;
  const std::vector<Layout> layouts = all_layouts();
  for (const Layout& from : layouts)
    for (const Layout& to : layouts) {
      const Value first = laid ? identity(x).laid(from) : identity(x);
      const Value second = laid ? (first * 2.0).laid(to) : first * 2.0;
      ends.push_back(second + 1.0);
    }
  return ends;
}

/// A bounded value [<=size, columns]: the rows of a table that a mask keeps.
Value rows_left(Graph& g, std::int64_t size, std::int64_t columns, std::int64_t every) {
  const Value rows = reshape(nonzero(g.constant(mask_of(size, every))), {-1});
  return gather(g.constant(numbered({size, columns})), rows, 0);
}

TEST_CASE("every layout becomes every other, of sizes that do not divide or have fewer elements than parts") {
  for (const Grid& grid : {Grid{2, 3}, Grid{3, 2}, Grid{2, 2}})
    for (std::int64_t size : {0, 1, 2, 5, 7, 17}) {
      CAPTURE(grid.second);
      CAPTURE(size);
      same_as_on_one_task(grid, [&](Graph& g, bool laid) { return converted(g.constant(numbered({size, 5})), laid); });
    }
}

TEST_CASE("one dim over two axes with a size that does not divide goes to one task") {
  for (const Grid& grid : {Grid{2, 3}, Grid{3, 2}, Grid{4, 2}})
    for (std::int64_t size = 0; size <= 20; ++size) {
      CAPTURE(grid.second);
      CAPTURE(size);
      same_as_on_one_task(grid, [&](Graph& g, bool laid) -> Values {
        const Value x = g.constant(numbered({size}));
        return {laid ? exp(identity(x).laid({split(0), split(0)})) : exp(x)};
      });
    }
}

TEST_CASE("a bounded value keeps its extent in every layout") {
  for (const Grid& grid : {Grid{2, 3}, Grid{3, 2}})
    for (std::int64_t size : {1, 2, 5, 17})
      for (std::int64_t every : {1, 2, 3, 100}) {
        CAPTURE(grid.second);
        CAPTURE(size);
        CAPTURE(every);
        same_as_on_one_task(grid, [&](Graph& g, bool laid) { return converted(rows_left(g, size, 5, every), laid); });
      }
}

TEST_CASE("positions cut along their two dims, one after the other") {
  same_as_on_one_task({2, 1}, [](Graph& g, bool laid) -> Values {
    const Value found = nonzero(g.constant(mask_of(12, 5)));
    const Value first = laid ? identity(found).laid({split(0), replicated()}) : found;
    const Value second = laid ? identity(first).laid({split(1), replicated()}) : first;
    return {sum(cast(second, DType::float32), {1}), sum(cast(second, DType::float32), {0})};
  });
}

TEST_CASE("partial sums that are bounded are added as numbers, up to their extent") {
  for (std::int64_t every : {1, 2, 100})
    same_as_on_one_task({2, 3}, [&](Graph& g, bool laid) -> Values {
      const Value rows = rows_left(g, 7, 6, every);
      const Value cut = laid ? identity(rows).laid({split(1), replicated()}) : rows;
      const Value weights = g.constant(numbered({6, 4}));
      const Value product = matmul(cut, weights);
      return {sum(cut, {1}), product, laid ? identity(product).laid({replicated(), split(1)}) : product,
              laid ? identity(product).laid({split(0), split(1)}) : product};
    });
}

TEST_CASE("what moves a bounded value has nothing of what cut another value before") {
  same_as_on_one_task({2, 1}, [](Graph& g, bool laid) -> Values {
    const Value x = g.constant(numbered({6, 4}));
    const Value rows = laid ? identity(x).laid({split(0), replicated()}) : x;
    const Value columns = laid ? (rows * 2.0).laid({split(1), replicated()}) : rows * 2.0;
    const Value left = rows_left(g, 6, 4, 2);
    const Value cut = laid ? identity(left).laid({split(1), replicated()}) : left;
    return {columns + 1.0, cut * 3.0};
  });
}

TEST_CASE("a bounded value goes from one mesh to another and back, cut on both") {
  const auto build = [](Graph& g, bool laid) -> Values {
    Value x;
    if (!laid) return {rows_left(g, 11, 4, 3) * 6.0};
    const MeshId here = g.mesh({{"a", 2}, {"b", 2}}, "/job:here/task:*"), there = g.mesh("c", "/job:there/task:*");
    {
      auto mesh = g.on(here);
      x = (rows_left(g, 11, 4, 3) * 1.0).laid({split(0), split(1)});
    }
    {
      auto mesh = g.on(there);
      x = (x * 2.0).laid({split(1)});
      x = (x * 1.0).laid({split(0)});
    }
    {
      auto mesh = g.on(here);
      x = (x * 3.0).laid({split(1), split(1)});
    }
    return {x};
  };
  const auto run = [&](bool laid) {
    Graph g;
    const Values fetches = build(g, laid);
    Session session(g, Cluster::connect(ClusterOptions{
                           .tasks = laid ? 7 : 1, .threads = 1, .jobs = laid ? "here=0-3,there=4-6" : ""}));
    return session.run(fetches)[0];
  };
  CHECK(run(true).same_bits(run(false)));
}

}  // namespace
}  // namespace ferry
