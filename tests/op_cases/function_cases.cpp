// Cases of functions that are made of several ops: they are tested as ops are.
#include <algorithm>
#include <cmath>

#include "ops/array/arrange.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/bits.hpp"
#include "ops/math/einsum.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/loss.hpp"
#include "tests/op_cases/case.hpp"

namespace ferry::test {
namespace {

using X = const Values&;
using D = Real;

using Shapes = std::vector<std::vector<Sizes>>;
const Shapes kOneInput{{{2, 3}}, {{0, 4}}, {{}}};
const Shapes kTwoInputs{{{2, 3}, {3}}, {{0, 3}, {3}}};
const std::vector<In> kWide{{-4, 4}};

D softplus_of(D a) {
  return std::max(a, D(0)) + std::log1p(std::exp(-std::abs(a)));
}
D cut(D a, D low, D high) {
  return std::min(std::max(a, low), high);
}

}  // namespace

std::vector<Case> function_cases() {
  // clang-format off
  return {
      // ---- math ----
      {"clip", [](X x) -> Values { return {clip(x[0], -1, 1)}; }, elements([](D a) { return cut(a, -1, 1); }), kOneInput, {}, ~0U, {DType::int32, DType::int64, DType::float32, DType::float64}},
      {"reciprocal", [](X x) -> Values { return {reciprocal(x[0])}; }, elements([](D a) { return 1 / a; }), kOneInput, {{0.2, 3}}, ~0U, kFloats},
      {"bit_not", [](X x) -> Values { return {bit_not(x[0])}; }, elements([](D a) { return -1 - a; }), kOneInput, {}, 0, {DType::uint8, DType::int32, DType::int64}},

      // ---- reduce ----
      {"log_sum_exp", [](X x) -> Values { return {log_sum_exp(x[0], {1})}; }, [](auto& in) { const Nd sums = folded({1}, 0, [](D a, D b) { return a + std::exp(b); })(in)[0]; return std::vector{Nd(sums.sizes, [&](const Sizes& i) { return std::log(sums.at(i)); })}; }, {{{2, 3}}, {{2, 0}}, {{0, 3}}}, {}, ~0U, kFloats},

      // ---- arrange ----
      {"roll", [](X x) -> Values { return {roll(x[0], 1, 0)}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { const std::int64_t n = in[0].sizes[0]; return in[0].at({(i[0] + n - 1) % n, i[1]}); }), {{{5, 2}}, {{1, 3}}, {{0, 3}}}, {}, ~0U, kAnyType},
      {"roll", [](X x) -> Values { return {roll(x[0], -8, -1)}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { return in[0].at({i[0], (i[1] + 8) % in[0].sizes[1]}); }), {{{2, 6}}, {{3, 4}}}, {}, ~0U, kAnyType},
      {"tile", [](X x) -> Values { return {tile(x[0], {2, 1, 3})}; }, indexed([](auto& in) { return Sizes{2 * in[0].sizes[0], in[0].sizes[1], 3 * in[0].sizes[2]}; }, [](auto& in, auto& i) { return in[0].at({i[0] % in[0].sizes[0], i[1], i[2] % in[0].sizes[2]}); }), {{{2, 3, 2}}, {{1, 0, 2}}}, {}, ~0U, kAnyType},
      {"pad_reflect", [](X x) -> Values { return {pad(x[0], {1, 0}, {5, -1}, PadMode::reflect)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0] + 6, in[0].sizes[1] - 1}; }, [](auto& in, auto& i) { std::int64_t at = std::abs(i[0] - 1); const std::int64_t last = in[0].sizes[0] - 1; while (at > last || at < 0) at = at > last ? 2 * last - at : -at; return in[0].at({at, i[1]}); }), {{{3, 2}}, {{4, 1}}}, {}, ~0U, kAnyType},
      {"pad_edge", [](X x) -> Values { return {pad(x[0], {1}, {2}, PadMode::edge)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0] + 3}; }, [](auto& in, auto& i) { return in[0].at({std::min(std::max<std::int64_t>(i[0] - 1, 0), in[0].sizes[0] - 1)}); }), {{{3}}, {{1}}}, {}, ~0U, kAnyType},
      {"pad_wrap", [](X x) -> Values { return {pad(x[0], {4}, {2}, PadMode::wrap)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0] + 6}; }, [](auto& in, auto& i) { return in[0].at({(i[0] + 2) % 3}); }), {{{3}}}, {}, ~0U, kAnyType},
      {"depth_to_space", [](X x) -> Values { return {depth_to_space(x[0], 2)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], in[0].sizes[1] / 4, in[0].sizes[2] * 2, in[0].sizes[3] * 2}; }, [](auto& in, auto& i) { return in[0].at({i[0], (i[2] % 2 * 2 + i[3] % 2) * (in[0].sizes[1] / 4) + i[1], i[2] / 2, i[3] / 2}); }), {{{2, 8, 1, 3}}, {{0, 4, 2, 2}}}, {}, ~0U, kAnyType},
      {"depth_to_space", [](X x) -> Values { return {depth_to_space(x[0], 2, true)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], in[0].sizes[1] / 4, in[0].sizes[2] * 2, in[0].sizes[3] * 2}; }, [](auto& in, auto& i) { return in[0].at({i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2}); }), {{{2, 8, 1, 3}}}, {}, ~0U, kAnyType},
      {"space_to_depth", [](X x) -> Values { return {space_to_depth(x[0], 2)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[0], in[0].sizes[1] * 4, in[0].sizes[2] / 2, in[0].sizes[3] / 2}; }, [](auto& in, auto& i) { const std::int64_t c = in[0].sizes[1], square = i[1] / c; return in[0].at({i[0], i[1] % c, i[2] * 2 + square / 2, i[3] * 2 + square % 2}); }), {{{2, 2, 2, 4}}}, {}, ~0U, kAnyType},

      // ---- einsum ----
      {"einsum_matmul", [](X x) -> Values { return {einsum("ij, jk -> ik", x)}; }, einsum("ij,jk->ik"), {{{2, 3}, {3, 4}}, {{0, 3}, {3, 2}}}, {}, ~0U, kNumbers},
      {"einsum_implicit", [](X x) -> Values { return {einsum("ba,cb", x)}; }, einsum("ba,cb->ac"), {{{2, 3}, {4, 2}}}, {}, ~0U, kNumbers},
      {"einsum_diagonal", [](X x) -> Values { return {einsum("iji->ji", x)}; }, indexed([](auto& in) { return Sizes{in[0].sizes[1], in[0].sizes[0]}; }, [](auto& in, auto& i) { return in[0].at({i[1], i[0], i[1]}); }), {{{3, 2, 3}}}, {}, ~0U, kNumbers},
      {"einsum_trace", [](X x) -> Values { return {einsum("ii", x)}; }, indexed([](auto&) { return Sizes{}; }, [](auto& in, auto&) { D s = 0; for (std::int64_t k = 0; k < in[0].sizes[0]; ++k) s += in[0].at({k, k}); return s; }), {{{3, 3}}}, {}, ~0U, kNumbers},
      {"einsum_outer", [](X x) -> Values { return {einsum("i,j->ji", x)}; }, einsum("i,j->ji"), {{{2}, {3}}}, {}, ~0U, kNumbers},
      {"einsum_heads", [](X x) -> Values { return {einsum("bsd,dhk->bhsk", x)}; }, einsum("bsd,dhk->bhsk"), {{{2, 3, 2}, {2, 3, 2}}}, {}, ~0U, kNumbers},
      {"einsum_two_inner", [](X x) -> Values { return {einsum("bshk,hkd->bsd", x)}; }, einsum("bshk,hkd->bsd"), {{{2, 2, 2, 3}, {2, 3, 2}}}, {}, ~0U, kNumbers},
      {"einsum_dot", [](X x) -> Values { return {einsum("ij,ij->", x)}; }, einsum("ij,ij->"), {{{2, 3}, {2, 3}}}, {}, ~0U, kNumbers},
      {"einsum_rows", [](X x) -> Values { return {einsum("...i,...i->...", x)}; }, einsum("abi,bi->ab"), {{{2, 3, 2}, {3, 2}}, {{2, 3, 2}, {1, 2}}}, {}, ~0U, kNumbers},
      {"einsum_three", [](X x) -> Values { return {einsum("ij,jk,kl->il", x)}; }, einsum("ij,jk,kl->il"), {{{2, 3}, {3, 2}, {2, 2}}}, {}, ~0U, kNumbers},
      {"einsum_lonely", [](X x) -> Values { return {einsum("ijk,jl->l", x)}; }, einsum("ijk,jl->l"), {{{2, 3, 2}, {3, 2}}}, {}, ~0U, kNumbers},

      // ---- linalg ----
      {"matmul_vector", [](X x) -> Values { return {matmul(x[0], x[1])}; }, einsum("mk,k->m"), {{{2, 3}, {3}}, {{0, 3}, {3}}}, {}, ~0U, kNumbers},
      {"matmul_vector", [](X x) -> Values { return {matmul(x[0], x[1], true, true)}; }, einsum("k,nk->n"), {{{3}, {2, 3}}}, {}, ~0U, kNumbers},
      {"matmul_vector", [](X x) -> Values { return {matmul(x[0], x[1])}; }, einsum("bmk,k->bm"), {{{2, 4, 3}, {3}}}, {}, ~0U, kNumbers},
      {"matmul_vector", [](X x) -> Values { return {matmul(x[0], x[1])}; }, einsum("k,k->"), {{{3}, {3}}}, {}, ~0U, kNumbers},

      // ---- loss ----
      // Not by elements(), whose ops are also tested with the largest numbers, which are no labels.
      {"binary_cross_entropy_with_logits", [](X x) -> Values { return {binary_cross_entropy_with_logits(x[0], x[1])}; }, indexed([](auto& in) { return in[0].sizes; }, [](auto& in, auto& i) { const D a = in[0].at(i), b = in[1].at(i); return b * softplus_of(-a) + (1 - b) * softplus_of(a); }), {{{2, 3}, {2, 3}}, {{0}, {0}}}, {{-6, 6}, {0, 1}}, ~0U, kFloats},

      // ---- activation ----
      {"gelu", [](X x) -> Values { return {gelu(x[0])}; }, elements([](D a) { return a * std::erfc(-a / std::sqrt(D(2))) / 2; }), kOneInput, kWide, ~0U, kFloats},
      {"gelu_tanh", [](X x) -> Values { return {gelu_tanh(x[0])}; }, elements([](D a) { return a / (1 + std::exp(-2 * std::sqrt(2 / std::acos(D(-1))) * (a + D(0.044715) * a * a * a))); }), kOneInput, kWide, ~0U, kFloats},
      {"elu", [](X x) -> Values { return {elu(x[0], 1.5)}; }, elements([](D a) { return a > 0 ? a : 1.5 * std::expm1(a); }), kOneInput, kWide, ~0U, kFloats},
      {"celu", [](X x) -> Values { return {celu(x[0], 2)}; }, elements([](D a) { return a > 0 ? a : 2 * std::expm1(a / 2); }), kOneInput, kWide, ~0U, kFloats},
      {"selu", [](X x) -> Values { return {selu(x[0], 1.5, 1.25)}; }, elements([](D a) { return 1.25 * (a > 0 ? a : 1.5 * std::expm1(a)); }), kOneInput, kWide, ~0U, kFloats},
      {"leaky_relu", [](X x) -> Values { return {leaky_relu(x[0], 0.1)}; }, elements([](D a) { return a < 0 ? a / 10 : a; }), kOneInput, kWide, ~0U, kFloats},
      {"prelu", [](X x) -> Values { return {prelu(x[0], x[1])}; }, elements([](D a, D b) { return a < 0 ? a * b : a; }), kTwoInputs, kWide, ~0U, kFloats},
      {"thresholded_relu", [](X x) -> Values { return {thresholded_relu(x[0])}; }, elements([](D a) { return a > 1 ? a : 0; }), kOneInput, kWide, ~0U, kFloats},
      {"softplus", [](X x) -> Values { return {softplus(x[0])}; }, elements(softplus_of), kOneInput, kWide, ~0U, kFloats},
      {"softsign", [](X x) -> Values { return {softsign(x[0])}; }, elements([](D a) { return a / (1 + std::abs(a)); }), kOneInput, kWide, ~0U, kFloats},
      {"swish", [](X x) -> Values { return {swish(x[0], 2)}; }, elements([](D a) { return a / (1 + std::exp(-2 * a)); }), kOneInput, kWide, ~0U, kFloats},
      {"mish", [](X x) -> Values { return {mish(x[0])}; }, elements([](D a) { return a * std::tanh(softplus_of(a)); }), kOneInput, kWide, ~0U, kFloats},
      {"hard_sigmoid", [](X x) -> Values { return {hard_sigmoid(x[0])}; }, elements([](D a) { return cut(a / 5 + 0.5, 0, 1); }), kOneInput, kWide, ~0U, kFloats},
      {"shrink", [](X x) -> Values { return {shrink(x[0], 1, 0.5)}; }, elements([](D a) { return a > 1 ? a - 0.5 : (a < -1 ? a + 0.5 : 0); }), kOneInput, kWide, ~0U, kFloats},
  };
  // clang-format on
}

}  // namespace ferry::test
