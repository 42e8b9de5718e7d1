// Cases of neural network functions that are made of several ops.
#include <algorithm>
#include <cmath>

#include "ops/image/resize.hpp"
#include "ops/image/sample.hpp"
#include "ops/image/windows.hpp"
#include "ops/math/quantize.hpp"
#include "ops/nn/attention.hpp"
#include "ops/nn/norm.hpp"
#include "ops/nn/recurrent.hpp"
#include "ops/train/loss.hpp"
#include "tests/op_cases/case.hpp"

namespace ferry::test {
namespace {

using X = const Values&;
using D = Real;
using I = std::int64_t;
using In2 = const std::vector<Nd>&;

// ---- Windows ----

/// Padding: before each dim, then after each dim.
Sliding moved(Ints strides, Ints padding, Ints dilations) {
  return {std::move(strides), std::move(padding), std::move(dilations)};
}
const Sliding kRow = moved({2}, {1, 2}, {2});
const Sliding kVolume = moved({1, 2, 1}, {1, 0, 0, 0, 1, 1}, {1, 1, 2});
const Sliding kPlane = moved({1, 2}, {1, 0, 0, 1}, {2, 1});

Nd zeros(Sizes sizes) {
  return Nd(std::move(sizes), [](const Sizes&) { return 0.0; });
}
Sizes joined(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Sizes image_of(const Sizes& sizes) {
  return {sizes.begin() + 2, sizes.end()};
}
Sizes positions(const Sliding& s, const Sizes& image, const Sizes& window) {
  Sizes sizes;
  for (std::size_t d = 0; d < image.size(); ++d)
    sizes.push_back((image[d] + s.padding[d] + s.padding[d + image.size()] - (window[d] - 1) * s.dilations[d] - 1) /
                        s.strides[d] +
                    1);
  return sizes;
}

/// Calls each(position, tap, pixel) for all taps of all windows with a pixel inside the image.
template <class Each>
void for_taps(const Sliding& s, const Sizes& image, const Sizes& window, const Each& each) {
  const std::size_t dims = image.size();
  const Nd all(joined(positions(s, image, window), window), [&](const Sizes& i) {
    const Sizes position(i.begin(), i.begin() + static_cast<I>(dims)), tap(i.begin() + static_cast<I>(dims), i.end());
    Sizes pixel;
    for (std::size_t d = 0; d < dims; ++d)
      pixel.push_back(position[d] * s.strides[d] - s.padding[d] + tap[d] * s.dilations[d]);
    bool inside = true;
    for (std::size_t d = 0; d < dims; ++d) inside = inside && pixel[d] >= 0 && pixel[d] < image[d];
    if (inside) each(position, tap, pixel);
    return 0.0;
  });
}

/// Calls each(index in the output, in the image, in the filter) for all products of a convolution.
template <class Each>
void for_products(const Sliding& s, const Sizes& x, const Sizes& w, I groups, const Each& each) {
  for_taps(s, image_of(x), image_of(w), [&](const Sizes& position, const Sizes& tap, const Sizes& pixel) {
    for (I n = 0; n < x[0]; ++n)
      for (I o = 0; o < w[0]; ++o)
        for (I c = 0; c < w[1]; ++c)
          each(joined({n, o}, position), joined({n, o / (w[0] / groups) * w[1] + c}, pixel), joined({o, c}, tap));
  });
}

Reference convolved(const Sliding& s, I groups) {
  return [s, groups](In2 in) {
    Nd y = zeros(joined({in[0].sizes[0], in[1].sizes[0]}, positions(s, image_of(in[0].sizes), image_of(in[1].sizes))));
    for_products(s, in[0].sizes, in[1].sizes, groups, [&](const Sizes& at, const Sizes& pixel, const Sizes& tap) {
      element(y, at) += in[0].at(pixel) * in[1].at(tap);
    });
    return std::vector<Nd>{y};
  };
}

/// Reference of a transposed convolution whose result is an image of these sizes.
Reference transposed(const Sliding& s, I groups, const Sizes& image) {
  return [=](In2 in) {
    Nd y = zeros(joined({in[0].sizes[0], in[1].sizes[1] * groups}, image));
    for_products(s, y.sizes, in[1].sizes, groups, [&](const Sizes& at, const Sizes& pixel, const Sizes& tap) {
      element(y, pixel) += in[0].at(at) * in[1].at(tap);
    });
    return std::vector<Nd>{y};
  };
}

/// Reference of pooling: end(the pixels under a window, folded by `join` from `start`).
Reference pooled(const Sliding& s, const Sizes& window, D start, D (*join)(D, D), D (*end)(D)) {
  return [=](In2 in) {
    const Sizes& x = in[0].sizes;
    Nd y = zeros(joined({x[0], x[1]}, positions(s, image_of(x), window)));
    for (D& number : y.data) number = start;
    for_taps(s, image_of(x), window, [&](const Sizes& position, const Sizes&, const Sizes& pixel) {
      for (I n = 0; n < x[0]; ++n)
        for (I c = 0; c < x[1]; ++c) {
          D& number = element(y, joined({n, c}, position));
          number = join(number, in[0].at(joined({n, c}, pixel)));
        }
    });
    for (D& number : y.data) number = end(number);
    return std::vector<Nd>{y};
  };
}

D larger(D a, D b) {
  return std::max(a, b);
}
D same(D a) {
  return a;
}

// ---- Normalisation and losses ----

/// x is cut into `blocks` blocks of successive elements, each normalised by itself: y = f(x, mean, mean of squares).
template <class F>
Reference by_blocks(I blocks, const F& f) {
  return [=](In2 in) {
    Nd y = in[0];
    const std::size_t size = y.data.size() / std::max<std::size_t>(1, static_cast<std::size_t>(blocks));
    for (std::size_t begin = 0; begin < y.data.size(); begin += size) {
      D mean = 0, squares = 0;
      for (std::size_t i = begin; i < begin + size; ++i) mean += y.data[i] / static_cast<D>(size);
      for (std::size_t i = begin; i < begin + size; ++i) squares += y.data[i] * y.data[i] / static_cast<D>(size);
      for (std::size_t i = begin; i < begin + size; ++i) y.data[i] = f(y.data[i], mean, squares);
    }
    return std::vector<Nd>{y};
  };
}
D normal(D x, D mean, D squares) {
  return (x - mean) / std::sqrt(squares - mean * mean + 0.5);
}

/// The result of `reference` times input 1 plus input 2, which have one number for each channel.
Reference scaled(const Reference& reference) {
  return [=](In2 in) {
    const Nd y = reference(in)[0];
    return std::vector<Nd>{Nd(y.sizes, [&](const Sizes& i) { return y.at(i) * in[1].at({i[1]}) + in[2].at({i[1]}); })};
  };
}

std::vector<D> unit_row(const std::vector<D>& x) {
  D squares = 0;
  for (D v : x) squares += v * v;
  std::vector<D> y;
  for (D v : x) y.push_back(v / std::sqrt(squares));
  return y;
}

// ---- Sequences ----

D sigma(D x) {
  return 1 / (1 + std::exp(-x));
}

/// Reference of lstm(): x [steps,n,features], weights [4 h,features] and [4 h,h], peepholes [3 h]; gives y and the last
/// c.
std::vector<Nd> lstm_reference(In2 in) {
  const Nd &x = in[0], &w = in[1], &r = in[2], &p = in[3];
  const I steps = x.sizes[0], batch = x.sizes[1], hidden = r.sizes[1];
  Nd y = zeros({steps, batch, hidden}), c = zeros({batch, hidden});
  for (I n = 0; n < batch; ++n)
    for (I t = 0; t < steps; ++t)
      for (I k = 0; k < hidden; ++k) {
        const auto sum = [&](I block) {
          D total = 0;
          for (I f = 0; f < x.sizes[2]; ++f) total += x.at({t, n, f}) * w.at({block * hidden + k, f});
          for (I j = 0; t > 0 && j < hidden; ++j) total += y.at({t - 1, n, j}) * r.at({block * hidden + k, j});
          return total;
        };
        D& cell = element(c, {n, k});
        const D before = cell;
        const D input = sigma(sum(0) + p.at({k}) * before), forget = sigma(sum(2) + p.at({2 * hidden + k}) * before);
        cell = forget * before + input * std::tanh(sum(3));
        element(y, {t, n, k}) = sigma(sum(1) + p.at({hidden + k}) * cell) * std::tanh(cell);
      }
  return {y, c};
}

Values lstm_of(X x) {
  Recurrent layer;
  layer.input = x[1];
  layer.state = x[2];
  layer.peepholes = x[3];
  const Sequence sequence = lstm(x[0], layer);
  return {sequence.y, sequence.c};
}

/// Reference of gru(): x [steps,n,features], weights [3 h,features] and [3 h,h].
std::vector<Nd> gru_reference(In2 in) {
  const Nd &x = in[0], &w = in[1], &r = in[2];
  const I steps = x.sizes[0], batch = x.sizes[1], hidden = r.sizes[1];
  Nd y = zeros({steps, batch, hidden});
  for (I n = 0; n < batch; ++n)
    for (I t = 0; t < steps; ++t) {
      const auto before = [&](I k) { return t > 0 ? y.at({t - 1, n, k}) : 0; };
      const auto from_input = [&](I row) {
        D total = 0;
        for (I f = 0; f < x.sizes[2]; ++f) total += x.at({t, n, f}) * w.at({row, f});
        return total;
      };
      const auto gate = [&](I row) {
        D total = from_input(row);
        for (I j = 0; j < hidden; ++j) total += before(j) * r.at({row, j});
        return sigma(total);
      };
      for (I k = 0; k < hidden; ++k) {
        D total = from_input(2 * hidden + k);
        for (I j = 0; j < hidden; ++j) total += gate(hidden + j) * before(j) * r.at({2 * hidden + k, j});
        element(y, {t, n, k}) = (1 - gate(k)) * std::tanh(total) + gate(k) * before(k);
      }
    }
  return {y};
}

Values gru_of(X x) {
  Recurrent layer;
  layer.input = x[1];
  layer.state = x[2];
  return {gru(x[0], layer).y};
}

/// Reference of causal attention() with softcap 2 and two query heads for each key head.
std::vector<Nd> attention_reference(In2 in) {
  const Nd &q = in[0], &k = in[1], &v = in[2];
  const I keys = k.sizes[2], size = k.sizes[3];
  const Nd y({q.sizes[0], q.sizes[1], q.sizes[2], v.sizes[3]}, [&](const Sizes& i) {
    D total = 0, sum = 0;
    for (I j = 0; j < keys && j <= i[2]; ++j) {
      D score = 0;
      for (I d = 0; d < size; ++d) score += q.at({i[0], i[1], i[2], d}) * k.at({i[0], i[1] / 2, j, d});
      const D weight = std::exp(std::tanh(score / std::sqrt(static_cast<D>(size)) / 2) * 2);
      total += weight;
      sum += weight * v.at({i[0], i[1] / 2, j, i[3]});
    }
    return sum / total;
  });
  return {y};
}

// ---- Sampling images ----

/// Reference of linear grid_sample(): rows of x [n,c,w] at the coordinates in grid [n,p,1], where -1 and 1 are the
/// outer edges of the first and the last pixel.
std::vector<Nd> sample_reference(In2 in) {
  const Nd &x = in[0], &grid = in[1];
  const I width = x.sizes[2];
  const Nd y({x.sizes[0], x.sizes[1], grid.sizes[1]}, [&](const Sizes& i) {
    const D place = ((grid.at({i[0], i[2], 0}) + 1) * static_cast<D>(width) - 1) / 2;
    D sum = 0;
    for (I k = 0; k < width; ++k)
      sum += x.at({i[0], i[1], k}) * std::max(D(0), 1 - std::abs(place - static_cast<D>(k)));
    return sum;
  });
  return {y};
}

}  // namespace

std::vector<Case> nn_cases() {
  // clang-format off
  return {
      // ---- windows ----
      {"conv", [](X x) -> Values { return {conv(x[0], x[1], kRow, 2)}; }, convolved(kRow, 2), {{{2, 4, 7}, {6, 2, 3}}}, {}, ~0U, kFloats},
      {"conv", [](X x) -> Values { return {conv(x[0], x[1], kVolume)}; }, convolved(kVolume, 1), {{{1, 2, 3, 3, 4}, {2, 2, 2, 2, 2}}}, {}, ~0U, kFloats},
      {"conv", [](X x) -> Values { return {conv(x[0], x[1], kVolume, 2)}; }, convolved(kVolume, 2), {{{2, 4, 3, 5, 4}, {4, 2, 2, 2, 2}}}, {}, ~0U, kFloats},
      {"conv_transpose", [](X x) -> Values { return {conv_transpose(x[0], x[1], kRow, 2)}; }, transposed(kRow, 2, {8}), {{{2, 4, 4}, {4, 3, 3}}}, {}, ~0U, kFloats},
      {"conv_transpose", [](X x) -> Values { return {conv_transpose(x[0], x[1], kVolume, 1, {0, 1, 0})}; }, transposed(kVolume, 1, {3, 3, 4}), {{{1, 2, 3, 2, 3}, {2, 2, 2, 1, 2}}}, {}, ~0U, kFloats},
      {"max_pool", [](X x) -> Values { return {max_pool(x[0], {{3, 2}, kPlane})}; }, pooled(kPlane, {3, 2}, -INFINITY, larger, same), {{{2, 2, 6, 4}}}, {}, ~0U, {DType::int32, DType::uint8, DType::float32, DType::float64}},
      {"lp_pool", [](X x) -> Values { return {lp_pool(x[0], {{3, 2}, kPlane}, 3)}; }, pooled(kPlane, {3, 2}, 0, [](D a, D b) { return a + b * b * b; }, [](D a) { return std::cbrt(a); }), {{{2, 2, 6, 4}}}, {{0.3, 2}}, ~0U, kFloats},

      // ---- norm ----
      {"normalize", [](X x) -> Values { return {normalize(x[0], {1, 2}, 0.5).y}; }, by_blocks(2, normal), {{{2, 3, 4}}}, {}, ~0U, kFloats},
      {"rms_norm", [](X x) -> Values { return {rms_norm(x[0], x[1], {1, 2}, 0.5)}; }, [](In2 in) { const Nd y = by_blocks(2, [](D x, D, D squares) { return x / std::sqrt(squares + 0.5); })(in)[0]; return std::vector<Nd>{Nd(y.sizes, [&](const Sizes& i) { return y.at(i) * in[1].at({i[2]}); })}; }, {{{2, 3, 4}, {4}}}, {}, ~0U, kFloats},
      {"instance_norm", [](X x) -> Values { return {instance_norm(x[0], x[1], x[2], 0.5)}; }, scaled(by_blocks(6, normal)), {{{2, 3, 4}, {3}, {3}}}, {}, ~0U, kFloats},
      {"group_norm", [](X x) -> Values { return {group_norm(x[0], 2, x[1], x[2], 0.5)}; }, scaled(by_blocks(4, normal)), {{{2, 4, 3}, {4}, {4}}}, {}, ~0U, kFloats},
      {"local_response_norm", [](X x) -> Values { return {local_response_norm(x[0], 3, 0.6, 0.75, 2)}; }, [](In2 in) { return std::vector<Nd>{Nd(in[0].sizes, [&](const Sizes& i) { D squares = 0; for (I c = std::max<I>(0, i[1] - 1); c <= std::min(in[0].sizes[1] - 1, i[1] + 1); ++c) squares += std::pow(in[0].at({i[0], c, i[2]}), 2); return in[0].at(i) / std::pow(2 + 0.2 * squares, 0.75); })}; }, {{{2, 4, 3}}}, {}, ~0U, kFloats},
      {"lp_normalize", [](X x) -> Values { return {lp_normalize(x[0])}; }, rows(unit_row), {{{3, 4}}, {{0, 3}}}, {}, ~0U, kFloats},
      {"nll_loss", [](X x) -> Values { return {nll_loss(x[0], x[1], {Reduction::none, x[2], 1})}; }, [](In2 in) { return std::vector<Nd>{Nd(in[1].sizes, [&](const Sizes& i) { const D label = in[1].at(i); return label == 1 ? 0 : -in[0].at({i[0], static_cast<I>(label), i[1]}) * in[2].at({static_cast<I>(label)}); })}; }, {{{3, 4, 2}, {3, 2}, {4}}}, {{}, {0, 3, DType::int64}, {}}, 0b101, kFloats},

      // ---- sequences ----
      {"lstm", lstm_of, lstm_reference, {{{3, 2, 2}, {8, 2}, {8, 2}, {6}}}, {}, ~0U, kFloats},
      {"gru", gru_of, gru_reference, {{{3, 2, 2}, {6, 2}, {6, 2}}}, {}, ~0U, kFloats},
      {"attention", [](X x) -> Values { return {attention(x[0], x[1], x[2], {.softcap = 2, .causal = true}).y}; }, attention_reference, {{{2, 2, 3, 2}, {2, 1, 4, 2}, {2, 1, 4, 3}}}, {}, ~0U, kFloats},
      {"rotary_embedding", [](X x) -> Values { return {rotary_embedding(x[0], x[1], x[2])}; }, [](In2 in) { return std::vector<Nd>{Nd(in[0].sizes, [&](const Sizes& i) { const I k = i[1]; if (k >= 4) return in[0].at(i); const D c = in[1].at({k % 2}), s = in[2].at({k % 2}); return k < 2 ? in[0].at({i[0], k}) * c - in[0].at({i[0], k + 2}) * s : in[0].at({i[0], k - 2}) * s + in[0].at({i[0], k}) * c; })}; }, {{{3, 5}, {2}, {2}}}, {}, ~0U, kFloats},

      // ---- images ----
      {"resize", [](X x) -> Values { return {resize(x[0], {{1, 6}}, {Interpolation::linear})}; }, [](In2 in) { return std::vector<Nd>{Nd({in[0].sizes[0], 6, in[0].sizes[2]}, [&](const Sizes& i) { const D place = std::clamp((static_cast<D>(i[1]) + 0.5) / 2 - 0.5, D(0), D(2)); const I below = std::min<I>(1, static_cast<I>(place)); const D part = place - static_cast<D>(below); return in[0].at({i[0], below, i[2]}) * (1 - part) + in[0].at({i[0], below + 1, i[2]}) * part; })}; }, {{{2, 3, 4}}}, {}, ~0U, kFloats},
      {"grid_sample", [](X x) -> Values { return {grid_sample(x[0], x[1])}; }, sample_reference, {{{2, 3, 5}, {2, 4, 1}}}, {{}, {-1.2, 1.2}}, ~0U, kFloats},
      {"dequantize", [](X x) -> Values { return {dequantize(x[1], x[0], x[2])}; }, [](In2 in) { return std::vector<Nd>{Nd(in[1].sizes, [&](const Sizes& i) { return (in[1].at(i) - in[2].at({})) * in[0].at(i); })}; }, {{{3, 1}, {3, 4}, {}}}, {{}, {0, 9, DType::uint8}, {0, 9, DType::uint8}}, ~0U, kFloats},
  };
  // clang-format on
}

}  // namespace ferry::test
