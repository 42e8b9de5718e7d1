#include "tests/support/random_graph.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {
namespace {

Tensor random_tensor(Dice& dice, DType dtype, std::vector<std::int64_t> sizes) {
  Tensor tensor(dtype, std::move(sizes));
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& element : tensor.mutable_data<T>()) {
      const int number = dice.below(1000);
      element = is_float(dtype) ? static_cast<T>((number - 500) / 250.0) : static_cast<T>(number % 7);
    }
  });
  return tensor;
}

class Builder {
 public:
  Builder(std::uint64_t seed, int ops, int tasks, int gpus)
      : dice_(seed), devices_(seed), ops_(ops), tasks_(tasks), gpus_(gpus) {
    made_.graph = std::make_unique<Graph>();
  }

  RandomGraph build() {
    for (int i = 0; i < 4; ++i) leaf();
    while (static_cast<int>(graph().size()) < ops_) op();
    for (int i = 0; i < 3; ++i) made_.fetches.push_back(dice_.of(values_));
    for (const Value& variable : variables_) assign_something(variable);
    return std::move(made_);
  }

 private:
  Graph& graph() { return *made_.graph; }

  /// One of at most four tasks or no annotation; draws the same numbers however many tasks there are.
  DeviceSpec place() {
    const int task = dice_.below(5);
    DeviceSpec spec;
    if (task < 4) spec.task = task % tasks_;
    const int device = gpus_ == 0 ? 0 : devices_.below(gpus_ + 2);
    if (device > 0) {
      spec.kind = device > gpus_ ? DeviceKind::cpu : DeviceKind::gpu;
      spec.index = device > gpus_ ? 0 : device - 1;
    }
    return spec;
  }

  std::vector<std::int64_t> sizes() {
    static constexpr std::int64_t kSizes[] = {1, 2, 3, 3, 4, 8, 0};
    std::vector<std::int64_t> sizes;
    const int rank = dice_.below(3);
    for (int i = 0; i < rank; ++i) sizes.push_back(kSizes[dice_.below(dice_.one_in(8) ? 7 : 6)]);
    return sizes;
  }

  DType dtype() {
    static constexpr DType kChoice[] = {DType::float32, DType::float32, DType::float64, DType::int32, DType::int64};
    return kChoice[dice_.below(5)];
  }

  void leaf() {
    auto here = graph().device(place());
    const int kind = dice_.below(3);
    const DType type = dtype();
    if (kind == 0) {
      const auto at = sizes();
      made_.inputs.push_back(
          graph().input("in" + std::to_string(made_.inputs.size()), type, Shape(std::span<const std::int64_t>(at))));
      values_.push_back(made_.inputs.back());
      return;
    }
    const Value constant = graph().constant(random_tensor(dice_, type, sizes()));
    values_.push_back(constant);
    if (kind == 1) return;
    variables_.push_back(graph().variable("v" + std::to_string(variables_.size()), constant));
    values_.push_back(variables_.back());
  }

  void op() {
    if (dice_.one_in(12)) return leaf();
    auto here = graph().device(place());
    try {
      const Value made = one_op(dice_.of(values_));
      if (made.shape().count() <= 4096) values_.push_back(made);
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;  // shapes or dtypes that do not fit: the next op is tried
    }
  }

  Value one_op(const Value& x) {
    const Value& y = dice_.of(values_);
    const auto last = static_cast<std::int64_t>(x.rank()) - 1;
    switch (dice_.below(17)) {
      case 0:
        return x + y;
      case 1:
        return x - y;
      case 2:
        return x * y;
      case 3:
        return maximum(x, y);
      case 4:
        return matmul(x, y);
      case 5:
        return -x;
      case 6:
        return sum(x, {last}, dice_.one_in(2));
      case 7:
        return max(x, {0});
      case 8:
        return transpose(x);
      case 9: {
        const Value both[] = {x, y};
        return concat(both, 0);
      }
      case 10:
        return slice(x, 0, 1);
      case 11:
        return reshape(x, {-1});
      case 12:
        return again(x);
      case 13:
        return x * 1;
      case 14:
        return transpose(transpose(x));
      case 15:
        return ones_like(x) * 2 - 3;
      default:
        return select(less(x, y), x, y);
    }
  }

  /// A copy of the op that made x, unless it has no inputs.
  Value again(const Value& x) {
    const Op op = x.op();
    if (op.inputs().empty() || op.outputs() != 1) return -x;
    Values inputs;
    for (const ValueId input : op.inputs()) inputs.push_back(graph().value(input));
    return graph().add(op.def(), inputs, op.attrs(), op.line())[0];
  }

  void assign_something(const Value& variable) {
    for (const Value& value : values_)
      if (value.type() == variable.type() && dice_.one_in(2)) {
        made_.targets.push_back(
            graph().add(kAssign, std::vector<Value>{variable, value}, {}, SourceLine(__FILE__, __LINE__))[0]);
        graph().annotate(made_.targets.back().op().id(), variable.op().annotation());
        return;
      }
  }

  Dice dice_, devices_;
  int ops_, tasks_, gpus_;
  RandomGraph made_;
  std::vector<Value> values_, variables_;
};

}  // namespace

RandomGraph random_graph(std::uint64_t seed, int ops, int tasks, int gpus) {
  return Builder(seed, ops, tasks, gpus).build();
}

Tensor tensor_for(std::uint64_t seed, const Value& input) {
  Dice dice(hash64(input.name(), seed));
  return random_tensor(dice, input.dtype(), input.shape().sizes());
}

}  // namespace ferry::test
