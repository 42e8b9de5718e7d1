// Dot products. This file is built with -ffp-contract=fast: a product and its addition become one instruction if the
// processor has it.
#include "kernels/cpu/product/dot_products.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cpu/vector_bytes.hpp"

namespace ferry::cpu {
namespace {

/// Vectors of T.
template <class T>
struct Lanes {
  using V [[gnu::vector_size(kVectorBytes), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
  using Number = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using Mask [[gnu::vector_size(kVectorBytes)]] = Number;
  static constexpr int kLanes = kVectorBytes / sizeof(T);
  static constexpr int kParts = kDotBytes / kVectorBytes;  // vectors that have the sums of a row
  static constexpr int kSums = kParts * kLanes;
  static constexpr int kMostRows = kParts == 1 ? kLanes : std::min(4, kLanes);  // at once, as registers allow

  static V at(const T* p, int part) { return *reinterpret_cast<const V*>(p + part * kLanes); }

  /// Returns sum + a * b. A caller has read all three, so that nothing stands between the product and the addition:
  /// they become one instruction in every build, also where a sanitizer checks each read.
  static V multiply_add(V sum, V a, V b) { return sum + a * b; }

  /// From each block of `width` lanes of a, and then of b, takes the first half (from == 0) or the second (from ==
  /// width / 2).
  template <int width, int from, std::size_t... lane>
  static V halves(V a, V b, std::index_sequence<lane...>) {
    return __builtin_shufflevector(
        a, b, (static_cast<int>(lane) / (width / 2) * width + static_cast<int>(lane) % (width / 2) + from)...);
  }

  /// v[0 … vectors) has the sums of consecutive rows, `width` sums for each row. Adds them in pairs, until v[0] begins
  /// with the total of each row.
  template <int vectors, int width>
  static void fold(V* v) {
    if constexpr (width > 1) {
      constexpr auto kAll = std::make_index_sequence<kLanes>();
      constexpr int kLeft = std::max(1, vectors / 2);
#pragma GCC unroll 8
      for (int i = 0; i < kLeft; ++i) {
        const V a = v[2 * i], b = vectors > 1 ? v[2 * i + 1] : a;
        v[i] = halves<width, 0>(a, b, kAll) + halves<width, width / 2>(a, b, kAll);
      }
      fold<kLeft, width / 2>(v);
    }
  }
};

/// Computes the dot products of `a` with `rows` rows of b.
template <class T, int rows>
void dot_rows(std::int64_t k, const T* a, const T* b, T* c) {
  using L = Lanes<T>;
  using V = typename L::V;
  V sums[L::kParts][rows] = {};
  std::int64_t i = 0;
  for (; i + L::kSums <= k; i += L::kSums)
#pragma GCC unroll 4
    for (int p = 0; p < L::kParts; ++p) {
      const V x = L::at(a + i, p);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) sums[p][r] = L::multiply_add(sums[p][r], x, L::at(b + r * k + i, p));
    }
  if (i < k)
#pragma GCC unroll 4
    for (int p = 0; p < L::kParts; ++p) {  // the last kSums terms, without those added before
      typename L::Mask left;
      for (int lane = 0; lane < L::kLanes; ++lane) left[lane] = k - L::kSums + p * L::kLanes + lane < i ? 0 : -1;
      const auto masked = [&](const T* from) {
        return reinterpret_cast<V>(reinterpret_cast<typename L::Mask>(L::at(from + k - L::kSums, p)) & left);
      };
      const V x = masked(a);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) sums[p][r] = L::multiply_add(sums[p][r], x, masked(b + r * k));
    }
#pragma GCC unroll 4
  for (int half = L::kParts / 2; half > 0; half /= 2)
#pragma GCC unroll 2
    for (int p = 0; p < half; ++p)
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) sums[p][r] += sums[p + half][r];
  L::template fold<rows, L::kLanes>(sums[0]);
  __builtin_memcpy(c, &sums[0][0], rows * sizeof(T));
}

template <class T>
void dots(std::int64_t k, std::int64_t n, const T* a, const T* b, T* c) {
  const auto next = [&]<int rows>() {
    for (; n >= rows; n -= rows, b += rows * k, c += rows) dot_rows<T, rows>(k, a, b, c);
  };
  next.template operator()<Lanes<T>::kMostRows>();
  next.template operator()<2>();
  next.template operator()<1>();
}

}  // namespace

constexpr DotProductSet FERRY_DOT_PRODUCTS = {dots<float>, dots<double>};

}  // namespace ferry::cpu
