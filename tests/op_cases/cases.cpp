// The cases. To test a new op everywhere, add its line.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/microbatch.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/bits.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/math/trig.hpp"
#include "ops/nn/nn.hpp"
#include "ops/op_set.hpp"
#include "tests/op_cases/case.hpp"

namespace ferry::test {
namespace {

using Shapes = std::vector<std::vector<Sizes>>;
using X = const Values&;
using D = Real;
using I = std::int64_t;
using In1 = std::vector<In>;

const Shapes kOne{{{2, 3}}, {{}}, {{0, 4}}, {{3, 1, 2}}, {{20011}}};
const Shapes kTwo{{{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}},       {{}, {4}},
                  {{3}, {}},        {{0, 3}, {3}}, {{2, 3, 2}, {2, 1, 2}}, {{5, 300, 17}, {300, 1}}};
const Shapes kThree{{{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {}}, {{3}, {2, 3}, {2, 1}}, {{0, 2}, {2}, {1, 1}}};
const Shapes kMatrix{{{2, 3}}, {{4, 1}}, {{0, 3}}, {{300, 70}}};
const Shapes kCube{{{2, 3, 4}}, {{3, 1, 2}}, {{2, 0, 3}}, {{40, 30, 20}}};
const In kPositive{0.2, 3};
const In kBool{0, 1, DType::boolean};
/// Numbers of 8 bits with zero points, of the dtypes under test and a second one.
const In kSignedByte{-128, 127}, kByte{0, 255}, kSecondSigned{-128, 127, DType::int8},
    kSecondByte{0, 255, DType::uint8};
const In1 kBothSigned{kSignedByte, kSecondSigned, kSignedByte, kSecondSigned},
    kBothBytes{kByte, kSecondByte, kByte, kSecondByte},
    kSignedByBytes{kSignedByte, kSecondByte, kSignedByte, kSecondByte},
    kBytesBySigned{kByte, kSecondSigned, kByte, kSecondSigned};
constexpr DTypeSet kInt8{DType::int8}, kUInt8{DType::uint8};
constexpr In index_below(double end, DType dtype = DType::int64) {
  return {0, end - 1, dtype};
}

/// An op that has no builder function.
Values op(std::string_view name, X x, Attrs attrs = {}) {
  return x[0].graph().add(*default_ops().find(name), x, std::move(attrs), SourceLine());
}

D add(D a, D b) {
  return a + b;
}
/// The larger number; NaN where one is NaN.
D larger(D a, D b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
}
D smaller(D a, D b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
}
/// The remainder of a / b, with the sign of b.
D modulo(D a, D b) {
  const D rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
/// f of the numbers as integers of 64 bits: signed where one of them is negative, else unsigned.
template <class F>
D of_bits(D a, D b, F f) {
  if (a < 0 || b < 0) return static_cast<D>(f(static_cast<I>(a), static_cast<I>(b)));
  return static_cast<D>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
constexpr D kInf = std::numeric_limits<D>::infinity();

std::vector<D> softmax_row(const std::vector<D>& x) {
  D total = 0;
  std::vector<D> y;
  for (D v : x) total += std::exp(v);
  for (D v : x) y.push_back(std::exp(v) / total);
  return y;
}
std::vector<D> log_softmax_row(const std::vector<D>& x) {
  std::vector<D> y = softmax_row(x);
  for (D& v : y) v = std::log(v);
  return y;
}
/// softmax(logits)[..., c].
D softmax_at(const Nd& logits, const Sizes& index) {
  std::vector<D> row;
  Sizes at = index;
  for (at.back() = 0; at.back() < logits.sizes.back(); ++at.back()) row.push_back(logits.at(at));
  return softmax_row(row)[index.back()];
}
Sizes with(Sizes index, std::int64_t last) {
  index.push_back(last);
  return index;
}
Sizes but_last(const Sizes& index) {
  return {index.begin(), index.end() - 1};
}
Sizes as_first(const std::vector<Nd>& in) {
  return in[0].sizes;
}
Sizes as_second(const std::vector<Nd>& in) {
  return in[1].sizes;
}

/// The determinant of these rows and columns of the matrix at `index`, by the cofactors of the first row.
D determinant(const Nd& x, Sizes index, const Sizes& rows, const Sizes& columns) {
  if (rows.empty()) return 1;
  D sum = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    Sizes others = columns;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(c));
    Sizes at = index;
    at.insert(at.end(), {rows[0], columns[c]});
    sum += (c % 2 == 0 ? 1 : -1) * x.at(at) * determinant(x, index, {rows.begin() + 1, rows.end()}, others);
  }
  return sum;
}
Sizes all_but(std::int64_t n, std::int64_t left_out) {
  Sizes numbers;
  for (std::int64_t i = 0; i < n; ++i)
    if (i != left_out) numbers.push_back(i);
  return numbers;
}
D determinant_at(const std::vector<Nd>& in, const Sizes& index) {
  const Sizes all = all_but(in[0].sizes.back(), -1);
  return determinant(in[0], index, all, all);
}
D cofactor_at(const std::vector<Nd>& in, const Sizes& index) {
  const std::size_t rank = index.size();
  const std::int64_t n = in[0].sizes.back(), i = index[rank - 2], j = index[rank - 1];
  const D minor = determinant(in[0], {index.begin(), index.end() - 2}, all_but(n, i), all_but(n, j));
  return (i + j) % 2 == 0 ? minor : -minor;
}

/// The dtype of integers of the same size.
DType bits_of(DType dtype) {
  constexpr DType kIntegers[] = {DType::uint8, DType::int16, DType::int32, DType::int64};
  return *std::find_if(std::begin(kIntegers), std::end(kIntegers),
                       [&](DType one) { return size_of(one) == size_of(dtype); });
}

const Attrs kMiddle{{"axes", Ints{1}}, {"begin", Ints{1}}, {"end", Ints{-1}}, {"step", Ints{2}}};

// ---- Convolution and pooling, by their definitions ----

struct Windows {
  Sliding sliding;  // with four paddings
  std::int64_t groups = 1;
  Ints size = {};  // of a window of pooling; empty for convolutions

  [[nodiscard]] Attrs attrs() const {
    if (!size.empty()) return {{"padding", sliding.padding}, {"size", size}, {"strides", sliding.strides}};
    return {{"dilations", sliding.dilations},
            {"groups", groups},
            {"padding", sliding.padding},
            {"strides", sliding.strides}};
  }
  [[nodiscard]] std::int64_t place(std::size_t side, std::int64_t p, std::int64_t k) const {
    return p * sliding.strides[side] - sliding.padding[side] + k * sliding.dilations[side];
  }
  [[nodiscard]] std::int64_t outputs(std::size_t side, std::int64_t image, std::int64_t window) const {
    const std::int64_t padded = image + sliding.padding[side] + sliding.padding[side + 2];
    return (padded - (window - 1) * sliding.dilations[side] - 1) / sliding.strides[side] + 1;
  }
};

const Windows kPlain{{{1, 1}, {0, 0, 0, 0}, {1, 1}}};
const Windows kSame{{{1, 1}, {1, 1, 1, 1}, {1, 1}}};
const Windows kFar{{{1, 1}, {3, 2, 4, 3}, {1, 1}}};  // some windows lie in the padding alone
const Windows kUneven{{{2, 3}, {0, 2, 1, 1}, {1, 1}}};
const Windows kDilated{{{1, 2}, {2, 0, 0, 1}, {2, 1}}};
const Windows kGrouped{{{1, 1}, {1, 1, 1, 1}, {1, 1}}, 2};
const Windows kDepthwise{{{1, 1}, {1, 1, 1, 1}, {1, 1}}, 3};
const Windows kDepthwiseUneven{{{3, 2}, {2, 1, 0, 4}, {2, 3}}, 2};
const Windows kPairs{{{2, 2}, {0, 0, 0, 0}, {1, 1}}, 1, {2, 2}};
const Windows kLarge{{{1, 1}, {0, 0, 0, 0}, {1, 1}}, 1, {70, 70}};
const Windows kOverlapping{{{1, 2}, {1, 0, 1, 2}, {1, 1}}, 1, {2, 3}};

Nd zeros(Sizes sizes) {
  return Nd(std::move(sizes), [](const Sizes&) { return 0.0; });
}

/// Calls each({n,o,p,q}, {n,c,row,column}, {o,c in the group,u,v}) for all products of a convolution.
template <class Each>
void for_products(const Windows& windows, const Sizes& x, const Sizes& w, const Sizes& y, const Each& each) {
  const std::int64_t out = w[0] / windows.groups;
  const Nd all({y[0], y[1], y[2], y[3], w[1], w[2], w[3]}, [&](const Sizes& i) {
    const std::int64_t c = i[1] / std::max<std::int64_t>(1, out) * w[1] + i[4];
    const std::int64_t row = windows.place(0, i[2], i[5]), column = windows.place(1, i[3], i[6]);
    if (row >= 0 && row < x[2] && column >= 0 && column < x[3]) {
      each(Sizes{i[0], i[1], i[2], i[3]}, Sizes{i[0], c, row, column}, Sizes{i[1], i[4], i[5], i[6]});
      ++counted().operations;
    }
    return 0.0;
  });
}

Reference convolution(const Windows& windows) {
  return [windows](const std::vector<Nd>& in) {
    const Sizes &x = in[0].sizes, &w = in[1].sizes;
    Nd y = zeros({x[0], w[0], windows.outputs(0, x[2], w[2]), windows.outputs(1, x[3], w[3])});
    for_products(windows, x, w, y.sizes, [&](const Sizes& at, const Sizes& pixel, const Sizes& tap) {
      element(y, at) += in[0].at(pixel) * in[1].at(tap);
    });
    return std::vector<Nd>{y};
  };
}

/// A product of quantized numbers: inputs 2 and 3 are the zero points of inputs 0 and 1, in a shape that is broadcast.
Reference of_centred(const Reference& product) {
  return [product](const std::vector<Nd>& in) {
    const auto centred = [&](std::size_t i) {
      return Nd(in[i].sizes, [&](const Sizes& at) { return in[i].at(at) - in[i + 2].at(at); });
    };
    return product({centred(0), centred(1)});
  };
}

Reference image_gradient(const Windows& windows) {
  return [windows](const std::vector<Nd>& in) {
    Nd dx = zeros(in[2].sizes);
    for_products(windows, dx.sizes, in[1].sizes, in[0].sizes,
                 [&](const Sizes& at, const Sizes& pixel, const Sizes& tap) {
                   element(dx, pixel) += in[0].at(at) * in[1].at(tap);
                 });
    return std::vector<Nd>{dx};
  };
}

Reference transposed(const Windows& windows) {
  return [windows](const std::vector<Nd>& in) {
    const Sizes &x = in[0].sizes, &w = in[1].sizes;
    const auto size = [&](std::size_t side) {
      const Sliding& s = windows.sliding;
      return (x[side + 2] - 1) * s.strides[side] + (w[side + 2] - 1) * s.dilations[side] + 1 - s.padding[side] -
             s.padding[side + 2];
    };
    Nd y = zeros({x[0], w[1] * windows.groups, size(0), size(1)});
    for_products(windows, y.sizes, w, x, [&](const Sizes& at, const Sizes& pixel, const Sizes& tap) {
      element(y, pixel) += in[0].at(at) * in[1].at(tap);
    });
    return std::vector<Nd>{y};
  };
}

Reference filter_gradient(const Windows& windows) {
  return [windows](const std::vector<Nd>& in) {
    Nd dw = zeros(in[2].sizes);
    for_products(windows, in[1].sizes, dw.sizes, in[0].sizes,
                 [&](const Sizes& at, const Sizes& pixel, const Sizes& tap) {
                   element(dw, tap) += in[0].at(at) * in[1].at(pixel);
                 });
    return std::vector<Nd>{dw};
  };
}

/// The positions of a window's elements that lie in the image.
std::vector<Sizes> covered(const Windows& windows, const Sizes& image, const Sizes& at) {
  std::vector<Sizes> places;
  for (std::int64_t u = 0; u < windows.size[0]; ++u)
    for (std::int64_t v = 0; v < windows.size[1]; ++v) {
      const std::int64_t row = windows.place(0, at[2], u), column = windows.place(1, at[3], v);
      if (row >= 0 && row < image[2] && column >= 0 && column < image[3]) places.push_back({at[0], at[1], row, column});
    }
  counted().operations += static_cast<std::int64_t>(places.size());
  return places;
}

Sizes largest(const Windows& windows, const Nd& x, const Sizes& at) {
  const std::vector<Sizes> places = covered(windows, x.sizes, at);
  return *std::max_element(places.begin(), places.end(),
                           [&](const Sizes& a, const Sizes& b) { return x.at(a) < x.at(b); });
}

Sizes pooled(const Windows& windows, const Sizes& x) {
  return {x[0], x[1], windows.outputs(0, x[2], windows.size[0]), windows.outputs(1, x[3], windows.size[1])};
}

/// For each window the element of input `values` at the position of the largest one of input `keys`.
Reference picked(const Windows& windows, std::size_t values, std::size_t keys) {
  return [=](const std::vector<Nd>& in) {
    return std::vector<Nd>{Nd(pooled(windows, in[keys].sizes),
                              [&](const Sizes& at) { return in[values].at(largest(windows, in[keys], at)); })};
  };
}

Reference largest_gradient(const Windows& windows) {
  return [windows](const std::vector<Nd>& in) {
    Nd dx = zeros(in[1].sizes);
    static_cast<void>(
        Nd(in[0].sizes, [&](const Sizes& at) { return element(dx, largest(windows, in[1], at)) += in[0].at(at); }));
    return std::vector<Nd>{dx};
  };
}

Reference means(const Windows& windows) {
  return [windows](const std::vector<Nd>& in) {
    return std::vector<Nd>{Nd(pooled(windows, in[0].sizes), [&](const Sizes& at) {
      const std::vector<Sizes> places = covered(windows, in[0].sizes, at);
      D sum = 0;
      for (const Sizes& place : places) sum += in[0].at(place);
      return sum / static_cast<D>(places.size());
    })};
  };
}

Reference mean_gradient(const Windows& windows) {
  return [windows](const std::vector<Nd>& in) {
    Nd dx = zeros(in[1].sizes);
    static_cast<void>(Nd(in[0].sizes, [&](const Sizes& at) {
      const std::vector<Sizes> places = covered(windows, dx.sizes, at);
      for (const Sizes& place : places) element(dx, place) += in[0].at(at) / static_cast<D>(places.size());
      return 0.0;
    }));
    return std::vector<Nd>{dx};
  };
}

const std::vector<Case>& all() {
  // One line for each case, so that a missing op is easy to see.
  // clang-format off
  static const std::vector<Case> kCases{
      // ---- math ----
      {"Add", [](X x) -> Values { return {x[0] + x[1]}; }, elements([](D a, D b) { return a + b; }), kTwo},
      {"Sub", [](X x) -> Values { return {x[0] - x[1]}; }, elements([](D a, D b) { return a - b; }), kTwo},
      {"Mul", [](X x) -> Values { return {x[0] * x[1]}; }, elements([](D a, D b) { return a * b; }), kTwo},
      {"Div", [](X x) -> Values { return {x[0] / x[1]}; }, elements([](D a, D b) { return a / b; }), kTwo, {{-9, 9}, {1, 4}}},
      {"Neg", [](X x) -> Values { return {-x[0]}; }, elements([](D a) { return -a; }), kOne},
      {"Pow", [](X x) -> Values { return {pow(x[0], x[1])}; }, elements([](D a, D b) { return std::pow(a, b); }), kTwo, {{1, 3}, {}}},
      {"Mod", [](X x) -> Values { return {mod(x[0], x[1])}; }, elements(modulo), kTwo, {{-9, 9}, {1, 4}}},
      {"Mod", [](X x) -> Values { return {mod(x[0], -x[1])}; }, elements([](D a, D b) { return modulo(a, b > -0x1p63L ? -b : b); }), {{{5, 8}, {8}}}, {{-9, 9, DType::int64}, {1, 4, DType::int64}}},
      {"Fmod", [](X x) -> Values { return {fmod(x[0], x[1])}; }, elements([](D a, D b) { return std::fmod(a, b); }), kTwo, {{-9, 9}, {1, 4}}},
      {"Maximum", [](X x) -> Values { return {maximum(x[0], x[1])}; }, elements(larger), kTwo},
      {"Minimum", [](X x) -> Values { return {minimum(x[0], x[1])}; }, elements(smaller), kTwo},
      {"Abs", [](X x) -> Values { return {abs(x[0])}; }, elements([](D a) { return std::abs(a); }), kOne},
      {"Sign", [](X x) -> Values { return {sign(x[0])}; }, elements([](D a) { return a > 0 ? 1 : a < 0 ? -1 : a; }), kOne},
      {"Square", [](X x) -> Values { return {square(x[0])}; }, elements([](D a) { return a * a; }), kOne},
      {"Exp", [](X x) -> Values { return {exp(x[0])}; }, elements([](D a) { return std::exp(a); }), kOne},
      {"Log", [](X x) -> Values { return {log(x[0])}; }, elements([](D a) { return std::log(a); }), kOne, {kPositive}},
      {"Sqrt", [](X x) -> Values { return {sqrt(x[0])}; }, elements([](D a) { return std::sqrt(a); }), kOne, {kPositive}},
      {"Rsqrt", [](X x) -> Values { return {rsqrt(x[0])}; }, elements([](D a) { return 1 / std::sqrt(a); }), kOne, {kPositive}},
      {"Tanh", [](X x) -> Values { return {tanh(x[0])}; }, elements([](D a) { return std::tanh(a); }), kOne},
      {"Sigmoid", [](X x) -> Values { return {sigmoid(x[0])}; }, elements([](D a) { return 1 / (1 + std::exp(-a)); }), kOne},
      {"Swish", [](X x) -> Values { return {swish(x[0])}; }, elements([](D a) { return a / (1 + std::exp(-a)); }), kOne},
      {"HardSwish", [](X x) -> Values { return {hard_swish(x[0])}; }, elements([](D a) { return a * std::min(std::max(a / 6 + D(0.5), D(0)), D(1)); }), kOne, {{-5, 5}}},
      {"Selu", [](X x) -> Values { return {selu(x[0])}; }, elements([](D a) { return 1.05070102214813232421875 * (a > 0 ? a : 1.67326319217681884765625 * std::expm1(a)); }), kOne},
      {"Relu", [](X x) -> Values { return {relu(x[0])}; }, elements([](D a) { return std::max(a, D(0)); }), kOne},
      {"LeakyRelu", [](X x) -> Values { return {prelu(x[0], x[1])}; }, elements([](D a, D b) { return a < 0 ? a * b : a; }), kTwo},
      {"Elu", [](X x) { return op("Elu", x); }, elements([](D a, D b) { return a > 0 ? a : b * std::expm1(a); }), kTwo},
      {"ReluGrad", [](X x) { return op("ReluGrad", x); }, elements([](D dy, D y) { return y > 0 ? dy : 0; }), kTwo, {}, 0b01},
      {"Floor", [](X x) -> Values { return {floor(x[0])}; }, elements([](D a) { return std::floor(a); }), kOne},
      {"Ceil", [](X x) -> Values { return {ceil(x[0])}; }, elements([](D a) { return std::ceil(a); }), kOne},
      {"Round", [](X x) -> Values { return {round(x[0])}; }, elements([](D a) { return std::nearbyint(a); }), kOne, {{-9,9}}},
      {"Erf", [](X x) -> Values { return {erf(x[0])}; }, elements([](D a) { return std::erf(a); }), kOne},

      // ---- trig ----
      {"Sin", [](X x) -> Values { return {sin(x[0])}; }, elements([](D a) { return std::sin(a); }), kOne, {{-20, 20}}},
      {"Cos", [](X x) -> Values { return {cos(x[0])}; }, elements([](D a) { return std::cos(a); }), kOne, {{-20, 20}}},
      {"Tan", [](X x) -> Values { return {tan(x[0])}; }, elements([](D a) { return std::tan(a); }), kOne, {{-1.3, 1.3}}},
      {"Asin", [](X x) -> Values { return {asin(x[0])}; }, elements([](D a) { return std::asin(a); }), kOne, {{-0.95, 0.95}}},
      {"Acos", [](X x) -> Values { return {acos(x[0])}; }, elements([](D a) { return std::acos(a); }), kOne, {{-0.95, 0.95}}},
      {"Atan", [](X x) -> Values { return {atan(x[0])}; }, elements([](D a) { return std::atan(a); }), kOne, {{-9, 9}}},
      {"Sinh", [](X x) -> Values { return {sinh(x[0])}; }, elements([](D a) { return std::sinh(a); }), kOne, {{-3, 3}}},
      {"Cosh", [](X x) -> Values { return {cosh(x[0])}; }, elements([](D a) { return std::cosh(a); }), kOne, {{-3, 3}}},
      {"Asinh", [](X x) -> Values { return {asinh(x[0])}; }, elements([](D a) { return std::asinh(a); }), kOne, {{-9, 9}}},
      {"Acosh", [](X x) -> Values { return {acosh(x[0])}; }, elements([](D a) { return std::acosh(a); }), kOne, {{1.1, 9}}},
      {"Atanh", [](X x) -> Values { return {atanh(x[0])}; }, elements([](D a) { return std::atanh(a); }), kOne, {{-0.9, 0.9}}},

      // ---- bits ----
      {"BitAnd", [](X x) -> Values { return {bit_and(x[0], x[1])}; }, elements([](D a, D b) { return of_bits(a, b, [](auto x, auto y) { return x & y; }); }), kTwo, {{-9, 99}, {-9, 99}}},
      {"BitOr", [](X x) -> Values { return {bit_or(x[0], x[1])}; }, elements([](D a, D b) { return of_bits(a, b, [](auto x, auto y) { return x | y; }); }), kTwo, {{-9, 99}, {-9, 99}}},
      {"BitXor", [](X x) -> Values { return {bit_xor(x[0], x[1])}; }, elements([](D a, D b) { return of_bits(a, b, [](auto x, auto y) { return x ^ y; }); }), kTwo, {{-9, 99}, {-9, 99}}},
      {"ShiftLeft", [](X x) -> Values { return {shift_left(x[0], x[1])}; }, elements([](D a, D b) { return a * std::exp2(b); }), kTwo, {{-1, 7}, {0, 4}}},
      {"ShiftRight", [](X x) -> Values { return {shift_right(x[0], x[1])}; }, elements([](D a, D b) { return std::floor(a / std::exp2(b)); }), kTwo, {{-99, 99}, {0, 7}}},

      // ---- logic ----
      {"Equal", [](X x) -> Values { return {equal(x[0], x[1])}; }, elements([](D a, D b) { return D(a == b); }), kTwo},
      {"NotEqual", [](X x) -> Values { return {not_equal(x[0], x[1])}; }, elements([](D a, D b) { return D(a != b); }), kTwo},
      {"Less", [](X x) -> Values { return {less(x[0], x[1])}; }, elements([](D a, D b) { return D(a < b); }), kTwo},
      {"LessEqual", [](X x) -> Values { return {less_equal(x[0], x[1])}; }, elements([](D a, D b) { return D(a <= b); }), kTwo},
      {"Greater", [](X x) -> Values { return {greater(x[0], x[1])}; }, elements([](D a, D b) { return D(a > b); }), kTwo},
      {"GreaterEqual", [](X x) -> Values { return {greater_equal(x[0], x[1])}; }, elements([](D a, D b) { return D(a >= b); }), kTwo},
      {"And", [](X x) -> Values { return {logical_and(x[0], x[1])}; }, elements([](D a, D b) { return a * b; }), kTwo, {kBool, kBool}},
      {"Or", [](X x) -> Values { return {logical_or(x[0], x[1])}; }, elements(larger), kTwo, {kBool, kBool}},
      {"Not", [](X x) -> Values { return {logical_not(x[0])}; }, elements([](D a) { return 1 - a; }), kOne, {kBool}},
      {"Select", [](X x) -> Values { return {select(x[0], x[1], x[2])}; }, elements([](D c, D a, D b) { return c != 0 ? a : b; }), kThree, {kBool}},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::float32}}); }, elements([](D a) { return a; }), kOne, {}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::float64}}); }, elements([](D a) { return a; }), kOne},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::float16}}); }, elements([](D a) { return a; }), kOne, {}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::bfloat16}}); }, elements([](D a) { return a; }), kOne, {}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::int64}}); }, elements([](D a) { return std::trunc(a); }), kOne, {}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::int32}}); }, elements([](D a) { return std::trunc(a); }), kOne, {}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::int16}}); }, elements([](D a) { return std::trunc(a); }), kOne, {}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::int8}}); }, elements([](D a) { return std::trunc(a); }), kOne, {}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::uint8}}); }, elements([](D a) { return std::trunc(a); }), kOne, {{0, 9}}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::uint16}}); }, elements([](D a) { return std::trunc(a); }), kOne, {{0, 9}}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::uint32}}); }, elements([](D a) { return std::trunc(a); }), kOne, {{0, 9}}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::uint64}}); }, elements([](D a) { return std::trunc(a); }), kOne, {{0, 9}}, 0},
      {"Cast", [](X x) { return op("Cast", x, {{"dtype", DType::boolean}}); }, elements([](D a) { return D(a != 0); }), kOne, {}, 0},
      {"Narrow", [](X x) { return op("Narrow", x, {{"dtype", DType::float64}}); }, elements([](D a) { return a; }), kOne},
      {"Narrow", [](X x) { return op("Narrow", x, {{"dtype", DType::bfloat16}}); }, elements([](D a) { return a; }), kOne, {}, 0},

      {"BitCast", [](X x) -> Values { return {bit_cast(bit_cast(x[0], bits_of(x[0].dtype())), x[0].dtype())}; }, elements([](D a) { return a; }), kOne, {}, 0, kNumbers},
      {"BitCast", [](X x) -> Values { return {bit_cast(x[0], DType::int32)}; }, elements([](D a) { return D(std::bit_cast<std::int32_t>(static_cast<float>(a))); }), kOne, {}, 0, {DType::float32}},
      {"BitCast", [](X x) -> Values { return {bit_cast(x[0], DType::uint8)}; }, elements([](D a) { return a; }), kOne, {}, 0, {DType::boolean}},

      // ---- linalg ----
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1])}; }, einsum("mk,kn->mn"), {{{2, 3}, {3, 4}}, {{1, 3}, {3, 1}}, {{0, 3}, {3, 2}}, {{2, 0}, {0, 3}}, {{40, 33}, {33, 50}}}},
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1], true)}; }, einsum("km,kn->mn"), {{{3, 2}, {3, 4}}, {{33, 50}, {33, 40}}}},
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1], false, true)}; }, einsum("mk,nk->mn"), {{{2, 3}, {4, 3}}, {{50, 33}, {40, 33}}}},
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1], true, true)}; }, einsum("km,nk->mn"), {{{3, 2}, {4, 3}}, {{33, 50}, {40, 33}}}},
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1])}; }, einsum("bmk,bkn->bmn"), {{{2, 2, 3}, {2, 3, 4}}, {{1, 2, 3}, {3, 3, 2}}, {{0, 2, 3}, {1, 3, 2}}}},
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1])}; }, einsum("bmk,kn->bmn"), {{{3, 2, 3}, {3, 4}}}},
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1])}; }, einsum("mk,bkn->bmn"), {{{2, 3}, {3, 3, 4}}}},
      {"MatMul", [](X x) -> Values { return {matmul(x[0], x[1], true, true)}; }, einsum("abkm,bnk->abmn"), {{{2, 1, 3, 2}, {3, 4, 3}}}},

      {"MatMulOverRows", [](X x) { return op("MatMulOverRows", x); }, einsum("abk,abn->kn"), {{{2, 3, 4}, {2, 3, 5}}, {{2, 0, 3}, {2, 0, 2}}, {{1, 2, 0}, {1, 2, 3}}, {{8, 30, 40}, {8, 30, 50}}}},
      {"MatMulOverRows", [](X x) { return op("MatMulOverRows", x); }, einsum("ak,an->kn"), {{{3, 2}, {3, 4}}, {{300, 33}, {300, 70}}}},
      {"MatMulInteger", [](X x) -> Values { return {matmul_integer(x[0], x[1], x[2], x[3])}; }, of_centred(einsum("mk,kn->mn")), {{{2, 3}, {3, 4}, {}, {}}, {{1, 3}, {3, 1}, {}, {}}, {{0, 3}, {3, 2}, {}, {}}, {{2, 0}, {0, 3}, {}, {}}, {{40, 33}, {33, 50}, {}, {50}}, {{17, 64}, {64, 64}, {}, {}}, {{200, 70}, {70, 100}, {}, {100}}}, kBytesBySigned, 0, kUInt8},
      {"MatMulInteger", [](X x) -> Values { return {matmul_integer(x[0], x[1], reshape(x[2], {-1}), x[3])}; }, of_centred(einsum("mk,kn->mn")), {{{2, 3}, {3, 4}, {2, 1}, {}}, {{40, 33}, {33, 50}, {40, 1}, {50}}, {{1, 5}, {5, 33}, {1, 1}, {33}}}, kSignedByBytes, 0, kInt8},
      {"MatMulInteger", [](X x) -> Values { return {matmul_integer(x[0], x[1], x[2], x[3])}; }, of_centred(einsum("abk,kn->abn")), {{{2, 3, 5}, {5, 4}, {}, {4}}, {{3, 7, 130}, {130, 70}, {}, {}}}, kBothSigned, 0, kInt8},
      {"MatMulInteger", [](X x) -> Values { return {matmul_integer(x[0], x[1])}; }, einsum("k,kn->n"), {{{3}, {3, 4}}, {{300}, {300, 70}}}, kBothBytes, 0, kUInt8},
      {"Det", [](X x) -> Values { return {det(x[0])}; }, indexed([](auto& in) { return Sizes(in[0].sizes.begin(), in[0].sizes.end() - 2); }, determinant_at), {{{2, 3, 3}}, {{1, 1}}, {{2, 2}}, {{0, 2, 2}}, {{2, 0, 0}}}},
      {"Cofactors", [](X x) { return op("Cofactors", x); }, indexed(as_first, cofactor_at), {{{2, 3, 3}}, {{1, 1}}, {{0, 2, 2}}}},

      // ---- reshape ----
      {"Identity", [](X x) -> Values { return {identity(x[0])}; }, elements([](D a) { return a; }), kOne},
      {"EnterMicrobatch", [](X x) -> Values { return {enter_microbatch(x[0], x[1], {0, 1}, SourceLine())}; }, elements([](D a, D) { return a; }), {{{3}, {6}}, {{2, 3}, {4, 3}}, {{0}, {0}}}, {}, 0b01},
      {"LeaveMicrobatch", [](X x) -> Values { return {leave_microbatch(x[0], {1, 2}, SourceLine())}; }, elements([](D a) { return a; }), kOne},
      {"StopGradient", [](X x) -> Values { return {stop_gradient(x[0])}; }, elements([](D a) { return a; }), kOne, {}, 0},
      {"Reshape", [](X x) -> Values { return {reshape(x[0], {2, 6})}; }, indexed([](auto&) { return Sizes{2, 6}; }, [](auto& in, auto& i) { return in[0].data[i[0] * 6 + i[1]]; }), {{{3, 4}}, {{12}}, {{4, 3}}, {{6, 2}}, {{2, 3, 2}}}},
      {"ReshapeLike", [](X x) { return op("ReshapeLike", x); }, indexed(as_second, [](auto& in, auto& i) { return in[0].data[i[0] * 3 + i[1]]; }), {{{3, 4}, {4, 3}}, {{12}, {4, 3}}, {{2, 6}, {4, 3}}, {{0}, {0, 3}}}, {}, 0b01},
      {"ExpandDims", [](X x) -> Values { return {expand_dims(x[0], {0, -1})}; }, indexed([](auto& in) { return Sizes{1, in[0].sizes[0], in[0].sizes[1], 1}; }, [](auto& in, auto& i) { return in[0].at({i[1], i[2]}); }), {{{2, 3}}, {{0, 3}}}},
      {"Squeeze", [](X x) -> Values { return {squeeze(x[0], {1, 3})}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], in[0].sizes[2]}; }, [](auto& in, auto& i) { return in[0].at({i[0], 0, i[1], 0}); }), {{{2, 1, 3, 1}}, {{0, 1, 3, 1}}}},

      // ---- broadcast ----
      {"BroadcastTo", [](X x) { return op("BroadcastTo", x, {{"shape", Ints{2, 3, 4}}}); }, indexed([](auto&) { return Sizes{2, 3, 4}; }, [](auto& in, auto& i) { return in[0].at(i); }), {{{}}, {{4}}, {{3, 1}}, {{2, 1, 4}}, {{2, 3, 4}}, {{1, 1, 1}}}},
      {"BroadcastLike", [](X x) { return op("BroadcastLike", x); }, elements([](D a, D) { return a; }), {{{3}, {2, 3}}, {{}, {4}}, {{2, 1}, {2, 300}}, {{1, 3}, {0, 3}}}, {}, 0b01},
      {"SumLike", [](X x) { return op("SumLike", x); }, indexed(as_second, [](auto& in, auto& i) { D s = 0; for (std::int64_t k = 0; k < in[0].sizes[0]; ++k) s += in[0].at({k, i[0]}); return s; }), {{{2, 3}, {3}}, {{300, 3}, {3}}, {{0, 3}, {3}}}, {}, 0b01},
      {"SumLike", [](X x) { return op("SumLike", x); }, indexed(as_second, [](auto& in, auto& i) { D s = 0; for (std::int64_t k = 0; k < in[0].sizes[1]; ++k) s += in[0].at({i[0], k}); return s; }), {{{2, 3}, {2, 1}}, {{3, 9000}, {3, 1}}, {{2, 0}, {2, 1}}}, {}, 0b01},
      {"SizeOf", [](X x) -> Values { return {size_of(x[0], {0, -1}, DType::int64)}; }, indexed([](auto&) { return Sizes{}; }, [](auto& in, auto&) { return D(in[0].sizes.front() * in[0].sizes.back()); }), {{{2, 3}}, {{2, 5, 0}}}, {}, 0},

      // ---- reduce ----
      {"Sum", [](X x) -> Values { return {sum(x[0])}; }, indexed([](auto&) { return Sizes{}; }, [](auto& in, auto&) { D s = 0; for (D v : in[0].data) s += v; return s; }), kOne},
      {"Sum", [](X x) -> Values { return {sum(x[0], {0})}; }, folded({0}, 0, add), kMatrix},
      {"Sum", [](X x) -> Values { return {sum(x[0], {1})}; }, folded({1}, 0, add), kMatrix},
      {"Sum", [](X x) -> Values { return {sum(x[0], {1})}; }, folded({1}, 0, add), kCube},
      {"Sum", [](X x) -> Values { return {sum(x[0], {0, 2})}; }, folded({0, 2}, 0, add), kCube},
      {"Sum", [](X x) -> Values { return {sum(x[0], {0, 2}, true)}; }, indexed([](auto& in) { return Sizes{1, in[0].sizes[1], 1}; }, [](auto& in, auto& i) { D s = 0; for (std::int64_t a = 0; a < in[0].sizes[0]; ++a) for (std::int64_t b = 0; b < in[0].sizes[2]; ++b) s += in[0].at({a, i[1], b}); return s; }), kCube},
      {"Max", [](X x) -> Values { return {max(x[0], {1})}; }, folded({1}, -kInf, larger), {{{2, 3}}, {{0, 3}}, {{30, 700}}, {{2, 3, 2}}}},
      {"Min", [](X x) -> Values { return {min(x[0], {0})}; }, folded({0}, kInf, smaller), {{{2, 3}}, {{3, 0}}, {{700, 30}}, {{2, 3, 2}}}},
      {"Prod", [](X x) -> Values { return {prod(x[0], {1})}; }, folded({1}, 1, [](D a, D b) { return a * b; }), {{{2, 3}}, {{0, 3}}, {{3, 0}}, {{2, 3, 2}}}},
      {"Prod", [](X x) -> Values { return {prod(x[0])}; }, folded({0, 1}, 1, [](D a, D b) { return a * b; }), {{{2, 3}}}},
      {"ArgMin", [](X x) -> Values { return {argmin(x[0], 0)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[1]}; }, [](auto& in, auto& i) { std::int64_t best = 0; for (std::int64_t k = 1; k < in[0].sizes[0]; ++k) if (in[0].at({k, i[0]}) < in[0].at({best, i[0]})) best = k; return D(best); }), {{{3, 2}}, {{2, 0}}, {{60, 400}}}},
      {"ArgMin", [](X x) -> Values { return {argmin(x[0], 0, true)}; }, indexed([](auto&) { return Sizes{}; }, [](auto& in, auto&) { std::int64_t best = 0; for (std::int64_t k = 1; k < in[0].sizes[0]; ++k) if (in[0].at({k}) <= in[0].at({best})) best = k; return D(best); }), {{{9}}}},
      {"ArgMax", [](X x) -> Values { return {argmax(x[0], 0, true)}; }, indexed([](auto&) { return Sizes{}; }, [](auto& in, auto&) { std::int64_t best = 0; for (std::int64_t k = 1; k < in[0].sizes[0]; ++k) if (in[0].at({k}) >= in[0].at({best})) best = k; return D(best); }), {{{9}}}},
      {"ArgMax", [](X x) -> Values { return {argmax(x[0], 1)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0]}; }, [](auto& in, auto& i) { std::int64_t best = 0; for (std::int64_t k = 1; k < in[0].sizes[1]; ++k) if (in[0].at({i[0], k}) > in[0].at({i[0], best})) best = k; return D(best); }), {{{2, 3}}, {{3, 1}}, {{0, 2}}, {{400, 60}}, {{3, 200}}}},

      // ---- array ----
      {"Transpose", [](X x) -> Values { return {transpose(x[0])}; }, einsum("ab->ba"), kMatrix},
      {"Transpose", [](X x) -> Values { return {transpose(x[0])}; }, einsum("ab->ba"), {{{270, 75}}}},
      {"Transpose", [](X x) -> Values { return {transpose(x[0], {2, 0, 1})}; }, einsum("abc->cab"), kCube},
      {"Transpose", [](X x) -> Values { return {transpose(x[0], {2, 0, 1})}; }, einsum("abc->cab"), {{{9, 17, 33}}}},
      {"Transpose", [](X x) -> Values { return {transpose(x[0], {0, 2, 1})}; }, einsum("abc->acb"), {{{5, 40, 70}}}},
      {"Concat", [](X x) -> Values { return {concat({x[0], x[1]}, 1)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], in[0].sizes[1] + in[1].sizes[1]}; }, [](auto& in, auto& i) { const std::int64_t n = in[0].sizes[1]; return i[1] < n ? in[0].at(i) : in[1].at({i[0], i[1] - n}); }), {{{2, 3}, {2, 2}}, {{2, 0}, {2, 3}}, {{0, 3}, {0, 2}}, {{300, 40}, {300, 50}}}},
      {"Concat", [](X x) -> Values { return {concat({x[0], x[1]}, 0)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0] + in[1].sizes[0]}; }, [](auto& in, auto& i) { const std::int64_t n = in[0].sizes[0]; return i[0] < n ? in[0].at(i) : in[1].at({i[0] - n}); }), {{{2}, {3}}}},
      {"Concat", [](X x) -> Values { const Value some = gather(x[0], arange(x[1], 4)); return {concat({some, x[2], some}, 0)}; }, indexed([](auto& in) { return Sizes{2 * static_cast<std::int64_t>(in[1].data[0]) + in[2].sizes[0], in[2].sizes[1]}; }, [](auto& in, auto& i) { const auto n = static_cast<std::int64_t>(in[1].data[0]), m = in[2].sizes[0]; return i[0] < n ? in[0].at(i) : i[0] < n + m ? in[2].at({i[0] - n, i[1]}) : in[0].at({i[0] - n - m, i[1]}); }), {{{4, 3}, {}, {2, 3}}, {{4, 90}, {}, {5, 90}}}, {{}, index_below(5)}, 0b101},
      {"ReshapeRows", [](X x) -> Values { return {reshape(gather(x[0], arange(x[1], 4)), {-1, 3})}; }, indexed([](auto& in) { return Sizes{2 * static_cast<std::int64_t>(in[1].data[0]), 3}; }, [](auto& in, auto& i) { return in[0].at({i[0] / 2, i[0] % 2, i[1]}); }), {{{4, 2, 3}, {}}}, {{}, index_below(5)}, 0b01},
      {"ReshapeRows", [](X x) -> Values { return {reshape(gather(x[0], arange(x[1] + x[1], 6)), {-1, 2, 30})}; }, indexed([](auto& in) { return Sizes{static_cast<std::int64_t>(in[1].data[0]), 2, 30}; }, [](auto& in, auto& i) { return in[0].at({2 * i[0] + i[1], i[2]}); }), {{{6, 30}, {}}}, {{}, index_below(4)}, 0b01},
      {"Split", [](X x) { return split(x[0], 1, {1, 0, 2}); }, [](auto& in) { std::vector<Nd> parts; const std::int64_t sizes[] = {1, 0, 2}; std::int64_t from = 0; for (std::int64_t n : sizes) { parts.emplace_back(Sizes{in[0].sizes[0], n}, [&](const Sizes& i) { return in[0].at({i[0], i[1] + from}); }); from += n; } return parts; }, {{{2, 3}}, {{0, 3}}}},
      {"Slice", [](X x) -> Values { return {slice(x[0], 1, 1, -1, 2)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], (in[0].sizes[1] - 1) / 2}; }, [](auto& in, auto& i) { return in[0].at({i[0], 1 + 2 * i[1]}); }), {{{2, 6}}, {{3, 5}}, {{0, 4}}, {{200, 301}}}},
      {"Unslice", [](X x) { return op("Unslice", x, kMiddle); }, indexed(as_second, [](auto& in, auto& i) { return i[1] % 2 == 1 && i[1] + 1 < in[1].sizes[1] ? in[0].at({i[0], i[1] / 2}) : 0; }), {{{2, 2}, {2, 6}}, {{3, 2}, {3, 5}}}, {}, 0b01},
      {"Pad", [](X x) -> Values { return {pad(x[0], {1, 0}, {2, 3}, 1)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0] + 3, in[0].sizes[1] + 3}; }, [](auto& in, auto& i) { return i[0] >= 1 && i[0] <= in[0].sizes[0] && i[1] < in[0].sizes[1] ? in[0].at({i[0] - 1, i[1]}) : 1.0; }), {{{2, 3}}, {{0, 2}}, {{1, 1}}}},

      // ---- indexing ----
      {"Gather", [](X x) -> Values { return {gather(x[0], x[1], 0)}; }, indexed([](auto& in) { return Sizes{in[1].sizes[0], in[0].sizes[1]}; }, [](auto& in, auto& i) { return in[0].at({(static_cast<std::int64_t>(in[1].at({i[0]})) + 4) % 4, i[1]}); }), {{{4, 3}, {5}}, {{4, 3}, {0}}, {{4, 70}, {300}}}, {{}, {-4, 3, DType::int64}}, 0b01},
      {"Gather", [](X x) -> Values { return {gather(x[0], x[1], 1)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], in[1].sizes[0]}; }, [](auto& in, auto& i) { return in[0].at({i[0], static_cast<std::int64_t>(in[1].at({i[1]}))}); }), {{{3, 4}, {7}}}, {{}, index_below(4, DType::int64)}, 0b01},
      {"Gather", [](X x) -> Values { return {gather(x[0], x[1], 1)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], in[1].sizes[0], in[1].sizes[1], in[0].sizes[2]}; }, [](auto& in, auto& i) { return in[0].at({i[0], static_cast<std::int64_t>(in[1].at({i[1], i[2]})), i[3]}); }), {{{2, 4, 3}, {2, 2}}}, {{}, index_below(4, DType::int32)}, 0b01},
      {"ScatterAdd", [](X x) { return op("ScatterAdd", x, {{"axis", std::int64_t{0}}}); }, indexed([](auto& in) { return in[2].sizes; }, [](auto& in, auto& i) { D s = 0; for (std::int64_t k = 0; k < in[1].sizes[0]; ++k) if (in[1].at({k}) == D(i[0])) s += in[0].at({k, i[1]}); return s; }), {{{5, 3}, {5}, {4, 3}}, {{0, 3}, {0}, {4, 3}}, {{300, 70}, {300}, {4, 70}}}, {{}, index_below(4)}, 0b001},
      {"OneHot", [](X x) -> Values { return {one_hot(x[0], 3)}; }, indexed([](auto& in) { return with(in[0].sizes, 3); }, [](auto& in, auto& i) { return D(in[0].at(but_last(i)) == D(i.back())); }), {{{4}}, {{}}, {{2, 3}}, {{0}}}, {{-1, 3}}},
      {"NonZero", [](X x) -> Values { return {nonzero(x[0])}; }, [](auto& in) { std::vector<D> found; const std::int64_t n = in[0].sizes[1]; for (std::size_t k = 0; k < in[0].data.size(); ++k) if (in[0].data[k] != 0) { found.push_back(D(static_cast<std::int64_t>(k) / n)); found.push_back(D(static_cast<std::int64_t>(k) % n)); } return std::vector{Nd({static_cast<std::int64_t>(found.size() / 2), 2}, [&](const Sizes& i) { return found[i[0] * 2 + i[1]]; })}; }, {{{2, 3}}, {{4, 5}}, {{0, 3}}}, {{0, 1}}},
      {"NonZero", [](X x) -> Values { return {nonzero(slice(gather(x[0], squeeze(nonzero(x[1]), {1})), 1, 0, 1))}; }, [](auto& in) { std::vector<D> found; std::int64_t row = 0; for (std::int64_t k = 0; k < in[1].sizes[0]; ++k) if (in[1].at({k}) != 0) { if (in[0].at({k, 0}) != 0) found.push_back(D(row)); ++row; } return std::vector{Nd({static_cast<std::int64_t>(found.size()), 2}, [&](const Sizes& i) { return i[1] == 0 ? found[i[0]] : 0; })}; }, {{{6, 3}, {6}}}, {{0, 1}, {0, 1, DType::int64}}},
      {"Arange", [](X x) -> Values { return {arange(x[0], 4)}; }, [](auto& in) { return std::vector{Nd({std::max<std::int64_t>(0, static_cast<std::int64_t>(in[0].data[0]))}, [](const Sizes& i) { return D(i[0]); })}; }, {{{}}}, {{-1, 4, DType::int64}}, ~0U, {DType::int64}},
      {"CheckRange", [](X x) -> Values { return {check_range(x[0], 4)}; }, elements([](D a) { return a; }), {{{4}}, {{}}, {{2, 3}}, {{0}}}, {{0, 3}}},

      // ---- nn ----
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kPlain.sliding, kPlain.groups)}; }, convolution(kPlain), {{{2, 3, 5, 4}, {4, 3, 3, 2}}, {{1, 2, 3, 3}, {1, 2, 1, 1}}, {{0, 2, 3, 3}, {2, 2, 2, 2}}, {{2, 0, 3, 3}, {2, 0, 2, 2}}, {{2, 64, 20, 20}, {2, 64, 3, 3}}, {{1, 9, 20, 20}, {40, 9, 3, 3}}, {{9, 12, 6, 6}, {9, 12, 1, 1}}, {{17, 9, 6, 6}, {9, 9, 1, 1}}}},
      {"Conv2DTranspose", [](X x) -> Values { return {conv2d_transpose(x[0], x[1])}; }, transposed(kPlain), {{{2, 4, 3, 3}, {4, 3, 3, 2}}, {{0, 2, 2, 2}, {2, 2, 2, 2}}, {{2, 2, 18, 18}, {2, 64, 3, 3}}}},
      {"Conv2DTranspose", [](X x) -> Values { return {conv2d_transpose(x[0], x[1], kUneven.sliding)}; }, transposed(kUneven), {{{2, 2, 3, 3}, {2, 3, 2, 3}}, {{2, 10, 5, 4}, {10, 9, 2, 3}}}},
      {"Conv2DTranspose", [](X x) -> Values { return {conv2d_transpose(x[0], x[1], kDilated.sliding)}; }, transposed(kDilated), {{{2, 3, 3, 3}, {3, 2, 3, 2}}}},
      {"Conv2DTranspose", [](X x) -> Values { return {conv2d_transpose(x[0], x[1], kGrouped.sliding, 2)}; }, transposed(kGrouped), {{{2, 6, 4, 3}, {6, 2, 3, 3}}}},
      {"Conv2DGradInput", [](X x) { return op("Conv2DGradInput", x, kPlain.attrs()); }, image_gradient(kPlain), {{{2, 4, 3, 3}, {4, 3, 3, 2}, {2, 3, 5, 4}}, {{0, 2, 2, 2}, {2, 2, 2, 2}, {0, 2, 3, 3}}, {{2, 2, 18, 18}, {2, 64, 3, 3}, {2, 64, 20, 20}}, {{1, 1, 60, 60}, {1, 1, 7, 7}, {1, 1, 66, 66}}, {{1, 40, 18, 18}, {40, 9, 3, 3}, {1, 9, 20, 20}}, {{9, 9, 6, 6}, {9, 12, 1, 1}, {9, 12, 6, 6}}, {{17, 9, 6, 6}, {9, 9, 1, 1}, {17, 9, 6, 6}}}, {}, 0b011},
      {"Conv2DGradFilter", [](X x) { return op("Conv2DGradFilter", x, kPlain.attrs()); }, filter_gradient(kPlain), {{{2, 4, 3, 3}, {2, 3, 5, 4}, {4, 3, 3, 2}}, {{0, 2, 2, 2}, {0, 2, 3, 3}, {2, 2, 2, 2}}, {{2, 2, 18, 18}, {2, 64, 20, 20}, {2, 64, 3, 3}}, {{2, 1, 60, 60}, {2, 1, 66, 66}, {1, 1, 7, 7}}, {{1, 40, 18, 18}, {1, 9, 20, 20}, {40, 9, 3, 3}}, {{9, 9, 6, 6}, {9, 12, 6, 6}, {9, 12, 1, 1}}}, {}, 0b011},
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kSame.sliding, kSame.groups)}; }, convolution(kSame), {{{2, 3, 4, 5}, {2, 3, 3, 3}}, {{1, 9, 8, 9}, {17, 9, 3, 3}}, {{9, 9, 8, 9}, {17, 9, 3, 3}}, {{8, 9, 12, 12}, {17, 9, 3, 3}}, {{1, 30, 23, 24}, {17, 30, 3, 3}}}},
      {"Conv2DGradInput", [](X x) { return op("Conv2DGradInput", x, kSame.attrs()); }, image_gradient(kSame), {{{2, 2, 4, 5}, {2, 3, 3, 3}, {2, 3, 4, 5}}, {{1, 17, 8, 9}, {17, 9, 3, 3}, {1, 9, 8, 9}}, {{9, 17, 8, 9}, {17, 9, 3, 3}, {9, 9, 8, 9}}, {{8, 17, 12, 12}, {17, 9, 3, 3}, {8, 9, 12, 12}}, {{1, 30, 23, 24}, {30, 17, 3, 3}, {1, 17, 23, 24}}}, {}, 0b011},
      {"Conv2DGradFilter", [](X x) { return op("Conv2DGradFilter", x, kSame.attrs()); }, filter_gradient(kSame), {{{2, 2, 4, 5}, {2, 3, 4, 5}, {2, 3, 3, 3}}, {{1, 17, 8, 9}, {1, 9, 8, 9}, {17, 9, 3, 3}}, {{2, 17, 23, 24}, {2, 9, 23, 24}, {17, 9, 3, 3}}, {{2, 17, 23, 24}, {2, 2, 23, 24}, {17, 2, 3, 3}}}, {}, 0b011},
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kFar.sliding, kFar.groups)}; }, convolution(kFar), {{{2, 3, 3, 3}, {2, 3, 2, 2}}, {{2, 9, 5, 6}, {9, 9, 2, 2}}}},
      {"Conv2DGradInput", [](X x) { return op("Conv2DGradInput", x, kFar.attrs()); }, image_gradient(kFar), {{{2, 2, 9, 7}, {2, 3, 2, 2}, {2, 3, 3, 3}}, {{2, 9, 11, 10}, {9, 9, 2, 2}, {2, 9, 5, 6}}}, {}, 0b011},
      {"Conv2DGradFilter", [](X x) { return op("Conv2DGradFilter", x, kFar.attrs()); }, filter_gradient(kFar), {{{2, 2, 9, 7}, {2, 3, 3, 3}, {2, 3, 2, 2}}, {{2, 9, 11, 10}, {2, 9, 5, 6}, {9, 9, 2, 2}}}, {}, 0b011},
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kUneven.sliding, kUneven.groups)}; }, convolution(kUneven), {{{2, 3, 5, 7}, {2, 3, 2, 3}}, {{2, 9, 9, 11}, {10, 9, 2, 3}}, {{2, 9, 9, 11}, {10, 9, 1, 1}}}},
      {"Conv2DGradInput", [](X x) { return op("Conv2DGradInput", x, kUneven.attrs()); }, image_gradient(kUneven), {{{2, 2, 3, 3}, {2, 3, 2, 3}, {2, 3, 5, 7}}, {{2, 10, 5, 4}, {10, 9, 2, 3}, {2, 9, 9, 11}}, {{2, 10, 5, 5}, {10, 9, 1, 1}, {2, 9, 9, 11}}}, {}, 0b011},
      {"Conv2DGradFilter", [](X x) { return op("Conv2DGradFilter", x, kUneven.attrs()); }, filter_gradient(kUneven), {{{2, 2, 3, 3}, {2, 3, 5, 7}, {2, 3, 2, 3}}, {{2, 10, 5, 4}, {2, 9, 9, 11}, {10, 9, 2, 3}}, {{2, 10, 5, 5}, {2, 9, 9, 11}, {10, 9, 1, 1}}}, {}, 0b011},
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kDilated.sliding, kDilated.groups)}; }, convolution(kDilated), {{{2, 2, 5, 6}, {3, 2, 3, 2}}, {{2, 9, 9, 10}, {11, 9, 3, 2}}}},
      {"Conv2DGradInput", [](X x) { return op("Conv2DGradInput", x, kDilated.attrs()); }, image_gradient(kDilated), {{{2, 3, 3, 3}, {3, 2, 3, 2}, {2, 2, 5, 6}}, {{2, 11, 7, 5}, {11, 9, 3, 2}, {2, 9, 9, 10}}}, {}, 0b011},
      {"Conv2DGradFilter", [](X x) { return op("Conv2DGradFilter", x, kDilated.attrs()); }, filter_gradient(kDilated), {{{2, 3, 3, 3}, {2, 2, 5, 6}, {3, 2, 3, 2}}, {{2, 11, 7, 5}, {2, 9, 9, 10}, {11, 9, 3, 2}}}, {}, 0b011},
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kGrouped.sliding, kGrouped.groups)}; }, convolution(kGrouped), {{{2, 4, 4, 3}, {6, 2, 3, 3}}, {{2, 2, 4, 3}, {2, 1, 3, 3}}, {{2, 18, 7, 6}, {20, 9, 3, 3}}, {{19, 18, 7, 6}, {20, 9, 3, 3}}}},
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kDepthwise.sliding, kDepthwise.groups)}; }, convolution(kDepthwise), {{{2, 3, 7, 7}, {3, 1, 3, 3}}, {{1, 3, 4, 3}, {6, 1, 2, 3}}, {{30, 3, 9, 20}, {3, 1, 3, 3}}, {{1, 3, 70, 90}, {6, 1, 5, 4}}, {{1, 3, 3, 4200}, {3, 1, 3, 3}}, {{0, 3, 4, 4}, {3, 1, 3, 3}}, {{1, 3, 20, 300}, {3, 1, 17, 16}}}},
      {"Conv2D", [](X x) -> Values { return {conv2d(x[0], x[1], kDepthwiseUneven.sliding, kDepthwiseUneven.groups)}; }, convolution(kDepthwiseUneven), {{{2, 2, 9, 8}, {2, 1, 3, 3}}, {{1, 2, 10, 11}, {4, 1, 2, 3}}, {{1, 2, 100, 91}, {4, 1, 3, 2}}, {{1, 2, 300, 9}, {2, 1, 100, 2}}, {{1, 2, 9, 17}, {2, 1, 3, 2}}, {{1, 2, 9, 26}, {2, 1, 3, 2}}, {{1, 2, 9, 35}, {2, 1, 3, 2}}}},
      {"Conv2DGradInput", [](X x) { return op("Conv2DGradInput", x, kGrouped.attrs()); }, image_gradient(kGrouped), {{{2, 6, 4, 3}, {6, 2, 3, 3}, {2, 4, 4, 3}}, {{2, 20, 7, 6}, {20, 9, 3, 3}, {2, 18, 7, 6}}}, {}, 0b011},
      {"Conv2DGradFilter", [](X x) { return op("Conv2DGradFilter", x, kGrouped.attrs()); }, filter_gradient(kGrouped), {{{2, 6, 4, 3}, {2, 4, 4, 3}, {6, 2, 3, 3}}, {{2, 20, 7, 6}, {2, 18, 7, 6}, {20, 9, 3, 3}}}, {}, 0b011},
      {"Conv2DInteger", [](X x) -> Values { return {conv2d_integer(x[0], x[1], x[2], reshape(x[3], x[3].rank() == 0 ? Ints{} : Ints{-1}), kPlain.sliding, kPlain.groups)}; }, of_centred(convolution(kPlain)), {{{2, 3, 5, 4}, {4, 3, 3, 2}, {}, {}}, {{1, 2, 3, 3}, {1, 2, 1, 1}, {}, {1, 1, 1, 1}}, {{0, 2, 3, 3}, {2, 2, 2, 2}, {}, {}}, {{2, 0, 3, 3}, {2, 0, 2, 2}, {}, {}}, {{2, 64, 20, 20}, {2, 64, 3, 3}, {}, {}}, {{1, 9, 20, 20}, {40, 9, 3, 3}, {}, {40, 1, 1, 1}}, {{9, 12, 6, 6}, {9, 12, 1, 1}, {}, {}}}, kBothBytes, 0, kUInt8},
      {"Conv2DInteger", [](X x) -> Values { return {conv2d_integer(x[0], x[1], x[2], reshape(x[3], x[3].rank() == 0 ? Ints{} : Ints{-1}), kSame.sliding, kSame.groups)}; }, of_centred(convolution(kSame)), {{{2, 3, 4, 5}, {2, 3, 3, 3}, {}, {}}, {{1, 9, 8, 9}, {17, 9, 3, 3}, {}, {17, 1, 1, 1}}, {{1, 30, 23, 24}, {17, 30, 3, 3}, {}, {}}}, kBytesBySigned, 0, kUInt8},
      {"Conv2DInteger", [](X x) -> Values { return {conv2d_integer(x[0], x[1], x[2], reshape(x[3], x[3].rank() == 0 ? Ints{} : Ints{-1}), kFar.sliding, kFar.groups)}; }, of_centred(convolution(kFar)), {{{2, 3, 3, 3}, {2, 3, 2, 2}, {}, {}}, {{2, 9, 5, 6}, {9, 9, 2, 2}, {}, {}}}, kSignedByBytes, 0, kInt8},
      {"Conv2DInteger", [](X x) -> Values { return {conv2d_integer(x[0], x[1], x[2], reshape(x[3], x[3].rank() == 0 ? Ints{} : Ints{-1}), kUneven.sliding, kUneven.groups)}; }, of_centred(convolution(kUneven)), {{{2, 3, 5, 7}, {2, 3, 2, 3}, {}, {}}, {{2, 9, 9, 11}, {10, 9, 2, 3}, {}, {}}}, kBothSigned, 0, kInt8},
      {"Conv2DInteger", [](X x) -> Values { return {conv2d_integer(x[0], x[1], x[2], reshape(x[3], x[3].rank() == 0 ? Ints{} : Ints{-1}), kDilated.sliding, kDilated.groups)}; }, of_centred(convolution(kDilated)), {{{2, 2, 5, 6}, {3, 2, 3, 2}, {}, {}}, {{2, 9, 9, 10}, {11, 9, 3, 2}, {}, {}}}, kBytesBySigned, 0, kUInt8},
      {"Conv2DInteger", [](X x) -> Values { return {conv2d_integer(x[0], x[1], x[2], reshape(x[3], x[3].rank() == 0 ? Ints{} : Ints{-1}), kGrouped.sliding, kGrouped.groups)}; }, of_centred(convolution(kGrouped)), {{{2, 4, 4, 3}, {6, 2, 3, 3}, {}, {6, 1, 1, 1}}, {{2, 18, 7, 6}, {20, 9, 3, 3}, {}, {}}}, kBothBytes, 0, kUInt8},
      {"Conv2DInteger", [](X x) -> Values { return {conv2d_integer(x[0], x[1], x[2], reshape(x[3], x[3].rank() == 0 ? Ints{} : Ints{-1}), kDepthwise.sliding, kDepthwise.groups)}; }, of_centred(convolution(kDepthwise)), {{{2, 3, 7, 7}, {3, 1, 3, 3}, {}, {}}, {{1, 3, 70, 90}, {6, 1, 5, 4}, {}, {6, 1, 1, 1}}}, kBothSigned, 0, kInt8},
      {"MaxPool2D", [](X x) -> Values { return {max_pool2d(x[0], kPairs.size, kPairs.sliding)}; }, picked(kPairs, 0, 0), {{{2, 3, 4, 5}}, {{0, 2, 2, 2}}, {{20, 7, 16, 17}}, {{3, 2, 44, 18}}, {{1, 1, 2, 600}}}},
      {"MaxPool2DGrad", [](X x) { return op("MaxPool2DGrad", x, kPairs.attrs()); }, largest_gradient(kPairs), {{{2, 3, 2, 2}, {2, 3, 4, 5}}, {{0, 2, 1, 1}, {0, 2, 2, 2}}, {{20, 7, 8, 8}, {20, 7, 16, 17}}, {{3, 2, 22, 9}, {3, 2, 44, 18}}}, {}, 0b01},
      {"MaxPool2DPick", [](X x) { return op("MaxPool2DPick", x, kPairs.attrs()); }, picked(kPairs, 0, 1), {{{2, 3, 4, 5}, {2, 3, 4, 5}}}, {}, 0b01},
      {"AvgPool2D", [](X x) -> Values { return {avg_pool2d(x[0], kPairs.size, kPairs.sliding)}; }, means(kPairs), {{{2, 3, 4, 5}}, {{0, 2, 2, 2}}, {{20, 7, 16, 17}}}},
      {"AvgPool2DGrad", [](X x) { return op("AvgPool2DGrad", x, kPairs.attrs()); }, mean_gradient(kPairs), {{{2, 3, 2, 2}, {2, 3, 4, 5}}, {{0, 2, 1, 1}, {0, 2, 2, 2}}, {{20, 7, 8, 8}, {20, 7, 16, 17}}}, {}, 0b01},
      {"MaxPool2D", [](X x) -> Values { return {max_pool2d(x[0], kOverlapping.size, kOverlapping.sliding)}; }, picked(kOverlapping, 0, 0), {{{2, 2, 4, 5}}, {{2, 2, 40, 23}}}},
      {"MaxPool2D", [](X x) -> Values { return {max_pool2d(x[0], kLarge.size, kLarge.sliding)}; }, picked(kLarge, 0, 0), {{{1, 2, 71, 72}}}},
      {"MaxPool2DGrad", [](X x) { return op("MaxPool2DGrad", x, kOverlapping.attrs()); }, largest_gradient(kOverlapping), {{{2, 2, 5, 3}, {2, 2, 4, 5}}}, {}, 0b01},
      {"MaxPool2DPick", [](X x) { return op("MaxPool2DPick", x, kOverlapping.attrs()); }, picked(kOverlapping, 0, 1), {{{2, 2, 4, 5}, {2, 2, 4, 5}}}, {}, 0b01},
      {"AvgPool2D", [](X x) -> Values { return {avg_pool2d(x[0], kOverlapping.size, kOverlapping.sliding)}; }, means(kOverlapping), {{{2, 2, 4, 5}}}},
      {"AvgPool2DGrad", [](X x) { return op("AvgPool2DGrad", x, kOverlapping.attrs()); }, mean_gradient(kOverlapping), {{{2, 2, 5, 3}, {2, 2, 4, 5}}}, {}, 0b01},
      {"Softmax", [](X x) -> Values { return {softmax(x[0])}; }, rows(softmax_row), kMatrix},
      {"Softmax", [](X x) -> Values { return {softmax(x[0], 0)}; }, indexed(as_first, [](auto& in, auto& i) { D total = 0; for (std::int64_t k = 0; k < in[0].sizes[0]; ++k) total += std::exp(in[0].at({k, i[1]})); return std::exp(in[0].at(i)) / total; }), kMatrix},
      {"LogSoftmax", [](X x) -> Values { return {log_softmax(x[0])}; }, rows(log_softmax_row), kMatrix},
      {"SoftmaxCrossEntropy", [](X x) -> Values { return {softmax_cross_entropy(x[0], x[1])}; }, indexed(as_second, [](auto& in, auto& i) { return -std::log(softmax_at(in[0], with(i, static_cast<std::int64_t>(in[1].at(i))))); }), {{{4, 3}, {4}}, {{2, 2, 3}, {2, 2}}, {{3}, {}}, {{0, 3}, {0}}, {{2000, 10}, {2000}}}, {{}, index_below(3)}, 0b01},
      {"SoftmaxCrossEntropy", [](X x) -> Values { return {softmax_cross_entropy(x[0], x[1])}; }, indexed(as_second, [](auto& in, auto& i) { return -std::log(softmax_at(in[0], with(i, static_cast<std::int64_t>(in[1].at(i))))); }), {{{4, 3}, {4}}}, {{}, index_below(3, DType::uint8)}, 0b01},
      {"SoftmaxCrossEntropyGrad", [](X x) { return op("SoftmaxCrossEntropyGrad", x); }, indexed(as_second, [](auto& in, auto& i) { return in[0].at(but_last(i)) * (softmax_at(in[1], i) - D(in[2].at(but_last(i)) == D(i.back()))); }), {{{4}, {4, 3}, {4}}, {{}, {3}, {}}, {{0}, {0, 3}, {0}}, {{2000}, {2000, 10}, {2000}}}, {{}, {}, index_below(3, DType::int32)}, 0b011},
  };
  // clang-format on
  return kCases;
}

}  // namespace

std::span<const Case> op_cases() {
  static const std::vector<Case> kAll = [] {
    std::vector<Case> cases = all();
    for (const std::vector<Case>& more : {cell_cases(), moving_cases(), nn_cases(), function_cases()})
      cases.insert(cases.end(), more.begin(), more.end());
    return cases;
  }();
  return kAll;
}

}  // namespace ferry::test
