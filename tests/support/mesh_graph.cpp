#include "tests/support/mesh_graph.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/hash.hpp"
#include "ops/array/arrange.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/sort.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry::test {
namespace {

constexpr int kRange = 7;            // leaves are from -3 to 3
constexpr double kMost = 1 << 20;    // largest magnitude of floats: far below where sums would round
constexpr std::int64_t kSize = 512;  // elements of a value

Tensor integers(Dice& dice, DType dtype, const std::vector<std::int64_t>& sizes) {
  Tensor tensor(dtype, sizes);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& element : tensor.mutable_data<T>()) element = static_cast<T>(dice.below(kRange) - kRange / 2);
  });
  return tensor;
}

/// A value, and the largest magnitude that its numbers may have.
struct Known {
  Value value;
  double most = kRange / 2;
};

class Builder {
 public:
  Builder(std::uint64_t seed, int ops) : dice_(seed), ops_(ops) {
    made_.graph = std::make_unique<Graph>();
    made_.tasks = 1 + dice_.below(6);
    meshes_.push_back(add_mesh({{"x", made_.tasks}}));
    static constexpr std::int64_t kGrids[][2] = {{1, 1}, {1, 2}, {1, 3}, {2, 2}, {5, 1}, {2, 3}};
    const auto& grid = kGrids[made_.tasks - 1];
    meshes_.push_back(add_mesh({{"a", grid[0]}, {"b", grid[1]}}));
    if (made_.tasks > 1) {
      made_.jobs = "head=0,tail=1" + (made_.tasks == 2 ? "" : "-" + std::to_string(made_.tasks - 1));
      meshes_.push_back(add_mesh({{"part", made_.tasks - 1}}, "/job:tail/task:*"));
    }
  }

  MeshGraph build() {
    for (int i = 0; i < 4; ++i) leaf();
    for (int i = 0; i < ops_; ++i) op();
    const int requests = 1 + dice_.below(3);
    for (int i = 0; i < requests; ++i) {
      MeshGraph::Request request;
      for (int k = dice_.below(3); k >= 0; --k) request.fetches.push_back(dice_.of(values_).value);
      request.fetches.push_back(values_.back().value);
      for (const Value& variable : variables_)
        if (dice_.one_in(2)) assign_something(variable, request);
      made_.requests.push_back(std::move(request));
    }
    return std::move(made_);
  }

 private:
  struct Place {
    MeshId id;
    int axes;
  };

  Graph& graph() { return *made_.graph; }

  Place add_mesh(std::vector<Mesh::Axis> axes, const std::string& devices = "/task:*") {
    const int count = static_cast<int>(axes.size());
    return {graph().mesh(std::move(axes), devices), count};
  }

  /// Makes a value without annotation, on a random task, or on a random mesh, there with a random layout half of the
  /// time.
  template <class Make>
  Value placed(const Make& make) {
    switch (dice_.below(5)) {
      case 0:
        return make();
      case 1: {
        auto here = graph().device("/task:" + std::to_string(dice_.below(made_.tasks)));
        return make();
      }
      default: {
        const Place& mesh = dice_.of(meshes_);
        const bool lays = dice_.one_in(2);
        auto here = graph().on(mesh.id);
        const Value value = make();
        return lays ? laid(value, mesh.axes) : value;
      }
    }
  }

  Value laid(const Value& value, int axes) {
    Layout layout;
    for (int i = 0; i < axes; ++i) {
      const int dim = dice_.below(value.rank() + 1);
      layout.push_back(dim < value.rank() ? split(dim) : replicated());
    }
    return value.laid(layout);
  }

  std::vector<std::int64_t> sizes() {
    static constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 11, 0};
    std::vector<std::int64_t> sizes;
    const int rank = dice_.below(4);
    for (int i = 0; i < rank; ++i) sizes.push_back(kSizes[dice_.below(dice_.one_in(8) ? 8 : 7)]);
    return sizes;
  }

  void leaf() {
    static constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::int32, DType::int64};
    const DType dtype = kDTypes[dice_.below(4)];
    const auto at = sizes();
    const Tensor numbers = integers(dice_, dtype, at);
    const int kind = dice_.below(3);
    const Value made = placed([&] {
      if (kind == 0)
        return graph().input("in" + std::to_string(made_.inputs.size()), dtype,
                             Shape(std::span<const std::int64_t>(at)));
      const Value constant = graph().constant(numbers);
      return kind == 1 ? constant : graph().variable("v" + std::to_string(variables_.size()), constant);
    });
    if (kind == 0) made_.inputs.push_back(made);
    if (kind == 2) variables_.push_back(made);
    values_.push_back({made, kRange / 2});
  }

  void op() {
    if (dice_.one_in(10)) return leaf();
    const std::uint64_t choices = dice_.next();  // one draw for each op, also for one that does not fit
    const Dice before = std::exchange(dice_, Dice(choices));
    try {
      std::optional<double> most;
      const Value made = placed([&] { return one_op(most); });
      if (made.shape().count() <= kSize && (!is_float(made.dtype()) || *most <= kMost))
        values_.push_back({made, *most});
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;  // shapes or dtypes that do not fit
    }
    dice_ = before;
  }

  Value one_op(std::optional<double>& most) {
    const Known known = dice_.of(values_), other = dice_.of(values_);
    const Value &x = known.value, &y = other.value;
    const int axis = x.rank() > 0 ? dice_.below(x.rank()) : 0;
    const auto count = static_cast<double>(x.shape().count());
    most = known.most;
    switch (dice_.below(24)) {
      case 0:
        most = known.most + other.most;
        return x + y;
      case 1:
        most = known.most + other.most;
        return x - y;
      case 2:
        most = known.most * other.most;
        return x * y;
      case 3:
        most = std::max(known.most, other.most);
        return maximum(x, y);
      case 4:
        most = known.most * other.most * count;
        return matmul(x, y) + 0;  // + 0: the sign of a zero sum depends on the kernel, thus on a task's rows
      case 5:
        return -x;
      case 6:
        most = known.most * count;
        return sum(x, {axis}, dice_.one_in(2));
      case 7:
        return max(x, {axis}, dice_.one_in(2));
      case 8:
        return transpose(x);
      case 9:
        most = std::max(known.most, other.most);
        return concat({x, y}, axis);
      case 10:
        return slice(x, axis, dice_.below(3), dice_.one_in(2) ? kEnd : 3);
      case 11:
        return reshape(x, {-1});
      case 12:
        most = std::max(known.most, other.most);
        return select(less(x, y), x, y);
      case 13:
        most = 11;
        return nonzero(x);
      case 14:
        return unique(x).values;
      case 15:
        return gather(x, index_into(x, axis, y), axis);
      case 16:
        most = known.most * count;
        return cumsum(x, axis, dice_.one_in(2), dice_.one_in(2));
      case 17:
        return flip(x, {axis});
      case 18:
        return pad(x, ones(x, 1), ones(x, dice_.below(2)));
      case 19:
        most = kSize;
        return argmax(x, axis);
      case 20:
        return cast(x, dice_.one_in(2) ? DType::float32 : DType::int64);
      case 21:
        return identity(x);
      case 22:
        return loop(x, most);
      default:
        return branch(known, other, most);
    }
  }

  static std::vector<std::int64_t> ones(const Value& x, std::int64_t number) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()), number);
  }

  /// Indices made of the numbers of `y`, clamped to those that x has along the axis.
  static Value index_into(const Value& x, int axis, const Value& y) {
    if (x.rank() == 0 || x.shape()[axis].bounded() || x.shape()[axis].size() == 0)
      throw Error(Code::plan, "there may be no elements");
    return minimum(maximum(cast(y, DType::int64), 0), x.shape()[axis].size() - 1);
  }

  /// Subtracts 1 from x up to three times; half of the time a constant says how often, else a value of the graph. A
  /// third of the loops hand a value through that nobody uses.
  Value loop(const Value& x, std::optional<double>& most) {
    const std::int32_t times = dice_.below(4);
    const Value count = dice_.one_in(2) ? graph().constant(times, DType::int32) : small(dice_.of(values_).value);
    Values begin{graph().constant(0, DType::int32), x};
    if (dice_.one_in(3)) begin.push_back(dice_.of(values_).value);
    most = *most + 4;
    return while_loop(
        begin, [&](const Values& c) { return less(c[0], count); },
        [&](const Values& c) {
          Values next{c[0] + 1, c[1] - 1};
          next.insert(next.end(), c.begin() + 2, c.end());
          return next;
        })[1];
  }

  Value branch(const Known& known, const Known& other, std::optional<double>& most) {
    most = std::max(2 * known.most, known.most + other.most);
    const Value& x = known.value;
    return cond(
        less(small(other.value), 2), [&] { return Values{x + x}; }, [&] { return Values{maximum(x, 0)}; })[0];
  }

  /// An int32 scalar from 0 to 3, made of the sum of `x`.
  static Value small(const Value& x) { return cast(minimum(maximum(sum(x), 0), 3), DType::int32); }

  void assign_something(const Value& variable, MeshGraph::Request& request) {
    for (const Known& known : values_)
      if (known.value.type() == variable.type() && known.most <= kRange / 2 && dice_.one_in(2)) {
        request.targets.push_back(assign(variable, known.value));
        return;
      }
  }

  Dice dice_;
  int ops_;
  MeshGraph made_;
  std::vector<Place> meshes_;
  std::vector<Known> values_;
  std::vector<Value> variables_;
};

}  // namespace

MeshGraph mesh_graph(std::uint64_t seed, int ops) {
  return Builder(seed, ops).build();
}

Tensor integers_for(std::uint64_t seed, const Value& input) {
  Dice dice(hash64(input.name(), seed));
  return integers(dice, input.dtype(), input.shape().sizes());
}

}  // namespace ferry::test
