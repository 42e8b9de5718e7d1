// Every elementwise case at the ends of its dtypes, at zeros, infinities and NaN, beside multiples of pi/2 and at the
// kinks of functions, for each dtype: as exact as its line in kAccuracies says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "ops/op_set.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry::test {
namespace {

/// How many units in the last place a function may be off: of its dtype, or of float32 before rounding where the dtype
/// has 16 bits. Results below `scale` may be off as much as results of that size, as they are differences of larger
/// numbers.
struct Accuracy {
  std::string_view op;
  double ulps;
  double scale = 0;
};

/// Functions that are not listed must be rounded exactly.
constexpr Accuracy kAccuracies[] = {
    {"Exp", 2},          {"Log", 1.5},        {"Rsqrt", 1.5},      {"Tanh", 2},
    {"Sigmoid", 2.5},    {"Swish", 4, 1e-36}, {"HardSwish", 4, 2}, {"Elu", 6},
    {"Erf", 3},          {"Pow", 1},          {"Sin", 1},          {"Cos", 1},
    {"Tan", 2.5},        {"Asin", 4},         {"Acos", 4},         {"Atan", 4},
    {"Sinh", 4},         {"Cosh", 4},         {"Asinh", 4},        {"Acosh", 4},
    {"Atanh", 4},        {"gelu", 4, 2},      {"gelu_tanh", 4, 1}, {"elu", 6},
    {"celu", 6},         {"selu", 6},         {"leaky_relu", 1.5}, {"softplus", 6},
    {"mish", 10, 1e-34}, {"softsign", 2},     {"swish", 4, 1e-36}, {"hard_sigmoid", 2, 1},
    {"Mod", 1},          {"Selu", 6},
};

Accuracy accuracy_of(std::string_view op) {
  const auto* const found =
      std::find_if(std::begin(kAccuracies), std::end(kAccuracies), [&](const Accuracy& a) { return a.op == op; });
  return found != std::end(kAccuracies) ? *found : Accuracy{op, 0.5};
}

std::vector<double> float_extremes(DType dtype) {
  std::vector<double> sizes{0,    0.1,  0.25, 0.5, 0.6, 0.7, 1,    1.5,  2,     2.4,   2.5, 3,   6,
                            9,    10,   20,   50,  87,  88,  89,   100,  104,   650,   709, 745, 1e-3,
                            1e-5, 1e-8, 1e3,  1e4, 1e5, 1e7, 1e10, 1e20, 1e-10, 1e-30, 1e30};
  const auto limits = [&](double tiny, double normal, double last, double largest) {
    sizes.insert(sizes.end(), {tiny, 3 * tiny, normal - tiny, normal, last, 1 - last / 2, 1 + last, largest,
                               largest / 2, std::numeric_limits<double>::infinity()});
  };
  if (dtype == DType::float16) limits(0x1p-24, 0x1p-14, 0x1p-10, 65504);
  if (dtype == DType::bfloat16) limits(0x1p-133, 0x1p-126, 0x1p-7, 0x1.fep127);
  if (dtype == DType::float32) limits(0x1p-149, 0x1p-126, 0x1p-23, 0x1.fffffep127);
  if (dtype == DType::float64) {
    limits(0x1p-1074, 0x1p-1022, 0x1p-52, std::numeric_limits<double>::max());
    sizes.insert(sizes.end(), {1e-200, 1e200, 0x1.6ac5b262ca1ffp+849});
  }
  for (double quarters : {1.0, 2.0, 3.0, 4.0, 11.0, 123456.0, 1e6 + 1, 1e9 + 1}) {
    const double angle = quarters * 1.57079632679489661923;
    sizes.insert(sizes.end(), {angle, std::nextafter(angle, 0.0), std::nextafter(angle, 1e300)});
  }
  std::vector<double> all{std::numeric_limits<double>::quiet_NaN()};
  for (double size : sizes) all.insert(all.end(), {size, -size});
  return all;
}

/// The extremes of one input, as a tensor. Integers leave out 0 where the case's range is above 0, and have only
/// numbers of that range where it begins at 0.
Tensor extremes_of(const Case& which, std::size_t input, DType tested) {
  const In in = which.input(input);
  const DType dtype = in.dtype.value_or(tested);
  return dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> numbers;
    if constexpr (std::is_same_v<T, bool>) {
      numbers = {false, true};
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      numbers = {Limits::min(),
                 static_cast<T>(Limits::min() + 1),
                 static_cast<T>(-2),
                 static_cast<T>(-1),
                 T(0),
                 T(1),
                 T(2),
                 T(3),
                 T(7),
                 T(Limits::max() / 2),
                 T(Limits::max() / 2 + 1),
                 T(Limits::max() - 1),
                 Limits::max()};
      const auto refused = [&](T x) {
        const auto wide = static_cast<double>(x);
        return (in.low > 0 && x == T(0)) || (in.low == 0 && (wide < 0 || wide > in.high));
      };
      numbers.erase(std::remove_if(numbers.begin(), numbers.end(), refused), numbers.end());
    } else {
      for (double x : float_extremes(dtype)) numbers.push_back(static_cast<T>(x));
    }
    Tensor tensor(dtype, {static_cast<std::int64_t>(numbers.size())});
    std::copy(numbers.begin(), numbers.end(), tensor.mutable_data<T>().begin());
    return tensor;
  });
}

/// All pairs (triples, …) of the elements of tensors with one dim.
std::vector<Tensor> all_pairs(const std::vector<Tensor>& each) {
  std::int64_t total = 1;
  for (const Tensor& tensor : each) total *= tensor.count();
  std::vector<Tensor> result;
  std::int64_t step = total;
  for (const Tensor& tensor : each) {
    step /= std::max<std::int64_t>(1, tensor.count());
    Tensor spread(tensor.dtype(), {total});
    dispatch(tensor.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const auto from = tensor.data<T>();
      auto to = spread.mutable_data<T>();
      for (std::int64_t i = 0; i < total; ++i) to[i] = from[i / step % tensor.count()];
    });
    result.push_back(std::move(spread));
  }
  return result;
}

/// The distance between neighbouring numbers of that size in a format of `digits` bits; `lowest`: its least exponent.
Real unit_of(Real size, int digits, int lowest) {
  const int exponent = size > 0 && std::isfinite(size) ? std::max(std::ilogb(size), lowest) : lowest;
  return std::ldexp(Real(1), exponent - digits + 1);
}

bool same_float(DType dtype, double got, Real wanted, const Accuracy& accuracy, bool zero_signs) {
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got);
  const double rounded =
      dispatch(dtype, [&](auto zero) { return static_cast<double>(static_cast<decltype(zero)>(wanted)); });
  if (got == 0 && rounded == 0) return !zero_signs || wanted != 0 || std::signbit(got) == std::signbit(wanted);
  if (got == rounded) return true;
  if (std::isinf(got) || std::isinf(rounded)) return false;
  const Real size = std::max(std::abs(wanted), static_cast<Real>(accuracy.scale));
  Real allowed =
      static_cast<Real>(accuracy.ulps) * (dtype == DType::float64 ? unit_of(size, 53, -1022) : unit_of(size, 24, -126));
  if (dtype == DType::float16) allowed += unit_of(std::abs(wanted), 11, -14) / 2;
  if (dtype == DType::bfloat16) allowed += unit_of(std::abs(wanted), 8, -126) / 2;
  return std::abs(static_cast<Real>(got) - wanted) <= allowed;
}

/// Integers wrap around, except in conversions of floats, which saturate. Results that the reference cannot hold
/// exactly are not compared.
bool same_integer(const Tensor& got, std::int64_t i, Real wanted, bool saturates) {
  if (!saturates && !(std::abs(wanted) < 0x1p64L)) return true;
  return dispatch(got.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      T number = 0;
      if (saturates && wanted <= static_cast<Real>(Limits::lowest())) {
        number = Limits::lowest();
      } else if (saturates && wanted >= static_cast<Real>(Limits::max())) {
        number = Limits::max();
      } else if (!std::isnan(wanted)) {
        const auto bits = static_cast<std::uint64_t>(std::abs(wanted));
        number = static_cast<T>(wanted < 0 ? 0 - bits : bits);
      }
      return got.integer(i) == static_cast<std::int64_t>(number);
    } else {
      return false;
    }
  });
}

/// "" or the first elements that differ.
std::string differences(const Case& which, const std::vector<Tensor>& inputs) {
  const CaseGraph made(which, inputs);
  const Tensor got = Evaluator(made.graph).run(made.y, feeds_of(inputs))[0];
  const Nd wanted = which.reference({inputs.begin(), inputs.end()})[0];
  const Accuracy accuracy = accuracy_of(which.op);
  const bool saturates = is_float(inputs[0].dtype());
  const bool zero_signs = inputs.size() == 1 && default_ops().find(which.op) != nullptr;
  std::ostringstream text;
  text.precision(17);
  int shown = 0;
  for (std::int64_t i = 0; i < got.count() && shown < 4; ++i) {
    const Real reference = wanted.data[i];
    if (is_float(got.dtype()) ? same_float(got.dtype(), got.number(i), reference, accuracy, zero_signs)
                              : same_integer(got, i, reference, saturates))
      continue;
    text << (shown++ > 0 ? "; of " : "of ");
    for (const Tensor& input : inputs) text << input.number(i) << ' ';
    text << "gives " << got.number(i) << ", the reference says " << reference;
  }
  return text.str();
}

}  // namespace

TEST_CASE("elementwise ops are exact at the ends and kinks of all dtypes") {
  int tested = 0;
  for (const Case& which : op_cases()) {
    if (!which.reference.elementwise) continue;
    const DTypeSet dtypes = dtypes_of(which);
    for (DType dtype : kDTypes) {
      if (!dtypes.has(dtype)) continue;
      std::vector<Tensor> each;
      for (std::size_t i = 0; i < which.shapes[0].size(); ++i) each.push_back(extremes_of(which, i, dtype));
      CAPTURE(which.op);
      CAPTURE(name_of(dtype));
      CHECK(differences(which, all_pairs(each)) == "");
      ++tested;
    }
  }
  CHECK(tested > 300);
}

TEST_CASE("each accuracy is one of an op that there is") {
  for (const Accuracy& accuracy : kAccuracies) {
    CAPTURE(accuracy.op);
    CHECK(std::any_of(op_cases().begin(), op_cases().end(),
                      [&](const Case& which) { return which.op == accuracy.op && which.reference.elementwise; }));
  }
}

}  // namespace ferry::test
