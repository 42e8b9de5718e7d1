#include "tests/op_cases/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ops/array/indexing.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/op_set.hpp"

namespace ferry::test {

namespace {

/// The relative tolerance: what rounding takes, and a little more for the kernel.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0x1.2p-11;
    case DType::bfloat16:
      return 0x1.1p-8;
    case DType::float32:
      return 3e-5;
    default:
      return 1e-11;
  }
}

}  // namespace

std::vector<Tensor> inputs_for(const Case& which, std::size_t shape, DType dtype) {
  std::mt19937_64 random(shape + 1);
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < which.shapes[shape].size(); ++i) {
    const In in = which.input(i);
    Tensor tensor(in.dtype.value_or(dtype), which.shapes[shape][i]);
    dispatch(tensor.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (T& x : tensor.mutable_data<T>()) {
        const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
        if (is_float(tensor.dtype())) {
          x = static_cast<T>(in.low + unit * (in.high - in.low));
        } else {
          const double low = kSignedInts.has(tensor.dtype()) ? in.low : std::max(in.low, 0.0);
          x = static_cast<T>(std::floor(low + unit * (in.high - low + 1)));
        }
      }
    });
    result.push_back(std::move(tensor));
  }
  return result;
}

CaseGraph::CaseGraph(const Case& which, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    x.push_back(graph.input("x" + std::to_string(i), inputs[i].dtype(), inputs[i].type().shape));
  y = which.build(x);
}

std::vector<std::size_t> smooth_inputs(const Case& which, const std::vector<Tensor>& inputs) {
  const OpDef* def = default_ops().find(which.op);
  std::vector<std::size_t> smooth;
  if (def != nullptr && def->grad == nullptr) return smooth;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if ((which.smooth >> i & 1) != 0 && inputs[i].dtype() == DType::float64) smooth.push_back(i);
  return smooth;
}

void for_each_smooth(const std::function<void(const Case&, std::size_t, const std::vector<Tensor>&,
                                              const std::vector<std::size_t>&)>& f) {
  for (const Case& which : op_cases()) {
    if (!dtypes_of(which).has(DType::float64)) continue;
    for (std::size_t shape = 0; shape < which.shapes.size(); ++shape) {
      const std::vector<Tensor> inputs = inputs_for(which, shape, DType::float64);
      const std::vector<std::size_t> asked = smooth_inputs(which, inputs);
      if (!asked.empty()) f(which, shape, inputs, asked);
    }
  }
}

std::int64_t elements_of(const std::vector<Tensor>& tensors) {
  std::int64_t elements = 0;
  for (const Tensor& tensor : tensors) elements += tensor.count();
  return elements;
}

Value weighted_sum(Graph& graph, const Values& y) {
  Value total;
  double weight = 0.7;
  for (const Value& one : y) {
    Tensor weights(DType::float64, one.shape().sizes());
    for (double& w : weights.mutable_data<double>()) w = weight = std::fmod(weight * 7.3 + 0.31, 2.0);
    Value numbers = graph.constant(weights);
    if (one.shape().bounded()) {
      const Value count = size_of(one, {0}, DType::int64);
      numbers = gather(numbers, arange(count, one.shape()[0].size()));
    }
    const Value part = sum(one * numbers);
    total = total.defined() ? total + part : part;
  }
  return total;
}

std::map<std::string, Tensor, std::less<>> feeds_of(const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor, std::less<>> feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) feeds.emplace("x" + std::to_string(i), inputs[i]);
  return feeds;
}

std::string difference(const Tensor& got, const Nd& wanted, int roundings) {
  if (got.sizes() != wanted.sizes) return "sizes differ: " + got.type().str();
  const double tolerance = tolerance_of(got.dtype()) * (size_of(got.dtype()) == 2 ? roundings : 1);
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const Real reference = wanted.data[i];
    bool same = false;
    if (is_float(got.dtype())) {
      same = got.number(i) == reference || std::abs(got.number(i) - reference) <= tolerance * (1 + std::abs(reference));
    } else {
      dispatch(got.dtype(), [&](auto zero) {
        using T = decltype(zero);
        constexpr double kEnd = 9.2e18;  // an infinite reference stands for the end of the dtype's range
        const T number = reference > kEnd    ? std::numeric_limits<T>::max()
                         : reference < -kEnd ? std::numeric_limits<T>::lowest()
                                             : static_cast<T>(static_cast<std::int64_t>(reference));
        same = got.integer(i) == static_cast<std::int64_t>(number);
      });
    }
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(got.number(i)) + ", the reference says " +
             std::to_string(reference);
  }
  return "";
}

DTypeSet dtypes_of(const Case& which) {
  const OpDef* def = default_ops().find(which.op);
  if (def == nullptr || !which.dtypes.str().empty()) return which.dtypes;
  return def->types.find('T') != std::string_view::npos ? def->T : def->U;
}

}  // namespace ferry::test
