// Window functions, and the discrete Fourier transform as a product with matrices of sines and cosines.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// Throws if a matrix is too large to be made while importing.
void check_count(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kMost = 1 << 28;
  if (rows < 0 || columns < 0 || checked_count(Ints{rows, columns}) > kMost)
    Context::fail(std::to_string(rows) + " times " + std::to_string(columns) + " elements");
}

/// Makes a matrix of a floating-point dtype; element(row, column) gives its elements.
template <class F>
Tensor matrix(DType dtype, std::int64_t rows, std::int64_t columns, const F& element) {
  if (!is_float(dtype)) Context::fail("of " + std::string(name_of(dtype)) + "; it takes floating-point dtypes");
  check_count(rows, columns);
  Tensor tensor(dtype, {rows, columns});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto out = tensor.mutable_data<T>();
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = 0; k < columns; ++k) out[r * columns + k] = static_cast<T>(element(r, k));
  });
  return tensor;
}

// ---- Windows ----

/// Makes a window. Its element i is a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), where n is its size if it is
/// periodic, else its size - 1.
Outs window(Context& c, double a0, double a1, double a2) {
  const auto size = c.whole_number(0);
  check_count(size, 1);
  const double n = static_cast<double>(c.integer("periodic", 1) != 0 ? size : size - 1);
  Tensor tensor(DType::float64, {size});
  const auto out = tensor.mutable_data<double>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / std::max(n, 1.0);
    out[i] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  return cast(c.graph().constant(tensor), c.dtype("output_datatype", DType::float32));
}

Outs to_blackman(Context& c) {
  return window(c, 0.42, 0.5, 0.08);
}
Outs to_hamming(Context& c) {
  return window(c, 25.0 / 46, 21.0 / 46, 0);
}
Outs to_hann(Context& c) {
  return window(c, 0.5, 0.5, 0);
}

// ---- Fourier's transform ----

struct Transform {
  std::int64_t taken;    ///< number of input elements that are read
  std::int64_t length;   ///< length of the transform; input elements beyond `taken` are zeros
  std::int64_t results;  ///< number of results: frequencies, or elements of the signal if inverse
  bool inverse = false;
  /// True for an inverse transform of only the first half of the frequencies. The other half mirrors it, so the signal
  /// is real.
  bool halved = false;
};

/// The matrix [taken, results] of f(2 pi row column / length), divided by the length if inverse. If the frequencies are
/// halved, each row also counts for its mirror image, except the first row and the middle row, which have none.
Value waves(Graph& graph, DType dtype, const Transform& t, double (*f)(double)) {
  return graph.constant(matrix(dtype, t.taken, t.results, [&](std::int64_t row, std::int64_t column) {
    const double turn = static_cast<double>(row * column % t.length) / static_cast<double>(t.length);
    const bool twice = t.halved && row != 0 && 2 * row != t.length;
    return f(2 * std::numbers::pi * turn) * (twice ? 2 : 1) / (t.inverse ? static_cast<double>(t.length) : 1.0);
  }));
}

/// Casts x to float64. The transform is computed in float64 because sums of many terms of both signs cancel.
Value to_float64(const Value& x) {
  if (x.defined() && !is_float(x.dtype()))
    Context::fail("a signal of " + std::string(name_of(x.dtype())) + "; it takes floating-point dtypes");
  return x.defined() ? cast(x, DType::float64) : x;
}

/// Transforms real and imaginary parts [..., taken]; `imaginary` is undefined for a real signal. Returns [..., results,
/// 2], or the real signal [..., results, 1] if the frequencies are halved.
Value apply_transform(const Value& real, const Value& imaginary, const Transform& t) {
  Graph& graph = real.graph().current();
  const Value cosines = waves(graph, real.dtype(), t, std::cos);
  const Value sines = waves(graph, real.dtype(), t, std::sin);
  const double sign = t.inverse ? 1 : -1;  // the sign in exp(sign i angle)
  Value re = matmul(real, cosines);
  if (imaginary.defined()) {
    const Value of_sines = matmul(imaginary, sines) * sign;
    re = re - of_sines;
  }
  if (t.halved) return expand_dims(re, {-1});
  Value im = matmul(real, sines) * sign;
  if (imaginary.defined()) im = im + matmul(imaginary, cosines);
  const Value columns = expand_dims(re, {-1});
  return concat({columns, expand_dims(im, {-1})}, -1);
}

/// The real part (which = 0) or imaginary part (which = 1) of x [..., 1 or 2]; undefined if x has no imaginary part.
Value complex_part(Context& c, const Value& x, std::int64_t which) {
  const std::int64_t parts = c.size(0, -1);
  if (parts != 1 && parts != 2) Context::fail("its last dim should be 1 or 2, and is " + std::to_string(parts));
  return which < parts ? squeeze(slice(x, -1, which, which + 1), {-1}) : Value();
}

/// x with dims a and b exchanged.
Value swap_dims(const Value& x, int a, int b) {
  Ints perm;
  for (int d = 0; d < x.rank(); ++d) perm.push_back(d == a ? b : (d == b ? a : d));
  return a == b ? x : transpose(x, perm);
}

Outs to_dft(Context& c) {
  const bool axis_is_input = c.opset() >= 20;
  const std::int64_t given = axis_is_input ? (c.has(2) ? c.whole_number(2) : -2) : c.integer("axis", 1);
  const int axis = c.axis(0, given);
  const int last = c.rank(0) - 2;
  if (axis > last) Context::fail("axis " + std::to_string(given) + " is the axis of the real and imaginary parts");
  const std::int64_t size = c.size(0, axis);
  const bool onesided = c.integer("onesided", 0) != 0, inverse = c.integer("inverse", 0) != 0;
  const std::int64_t length = c.has(1) ? c.whole_number(1) : (onesided && inverse ? 2 * (size - 1) : size);
  if (length < 1) Context::fail("a length of " + std::to_string(length));
  const std::int64_t half = length / 2 + 1;
  const Transform t{std::min(size, onesided && inverse ? half : length), length, onesided && !inverse ? half : length,
                    inverse, onesided && inverse};
  const Value x = slice(swap_dims(c.in(0), axis, last), last, 0, t.taken);
  const Value real = to_float64(complex_part(c, x, 0));
  const Value y = apply_transform(real, to_float64(complex_part(c, x, 1)), t);
  return cast(swap_dims(y, axis, last), x.dtype());
}

/// STFT of a signal [batch, length, 1 or 2], or of a real signal [batch, length]. The frames have the window's length
/// and begin `step` elements apart. The result is [batch, frames, frequencies, 2].
Outs to_stft(Context& c) {
  const auto step = c.whole_number(1);
  const std::int64_t size = c.size(0, 1);
  const std::int64_t length = c.has(2) ? c.size(2, 0) : (c.has(3) ? c.whole_number(3) : size);
  if (step < 1 || length < 1 || length > size) Context::fail("its frames do not fit the signal");
  const std::int64_t frames = (size - length) / step + 1;
  check_count(frames, length);
  Tensor places(DType::int64, {frames, length});
  for (std::int64_t i = 0; i < frames * length; ++i)
    places.mutable_data<std::int64_t>()[i] = i / length * step + i % length;
  const Value indices = c.graph().constant(places);
  const Value x = c.in(0);
  const auto framed = [&](std::int64_t which) {
    const Value signal = x.rank() > 2 ? complex_part(c, x, which) : which == 0 ? x : Value();
    if (!signal.defined()) return signal;
    const Value cut = gather(signal, indices, 1);
    return c.has(2) ? cut * c.in(2) : cut;
  };
  const Value real = to_float64(framed(0));
  const bool onesided = c.integer("onesided", 1) != 0;
  const Value y = apply_transform(real, to_float64(framed(1)), {length, length, onesided ? length / 2 + 1 : length});
  return cast(y, x.dtype());
}

/// MelWeightMatrix: triangular filters over frequencies, evenly spaced in mels, m = 2595 log10(1 + f / 700).
Outs to_mel_weights(Context& c) {
  const auto bins = c.whole_number(0), length = c.whole_number(1);
  const double rate = c.number(2), low = c.number(3), high = c.number(4);
  if (bins < 0 || length < 0 || rate <= 0) Context::fail("its sizes are negative");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double mel_step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  const auto edge = [&](std::int64_t i) {  // returns the index of a frequency
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * mel_step + mel(low)) / 2595) - 1);
    return std::floor(static_cast<double>(length + 1) * hertz / rate);
  };
  const Tensor weights = matrix(DType::float64, length / 2 + 1, bins, [&](std::int64_t row, std::int64_t bin) {
    const double at = static_cast<double>(row), from = edge(bin), top = edge(bin + 1), to = edge(bin + 2);
    if (at >= from && at <= top) return top == from ? 1.0 : (at - from) / (top - from);
    return at > top && at < to ? (to - at) / (to - top) : 0.0;
  });
  return cast(c.graph().constant(weights), c.dtype("output_datatype", DType::float32));
}

constexpr ConvertOp kSignal[] = {
    {"BlackmanWindow", 17, to_blackman},     {"DFT", 17, to_dft},
    {"HammingWindow", 17, to_hamming},       {"HannWindow", 17, to_hann},
    {"MelWeightMatrix", 17, to_mel_weights}, {"STFT", 17, to_stft},
};

}  // namespace

std::span<const ConvertOp> signal_converters() {
  return kSignal;
}

}  // namespace ferry::onnx
