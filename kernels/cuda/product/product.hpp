// Products of matrices on GPUs. A kernel describes the two factors: matrices in memory, or a filter and the image
// elements under it. The way of computing and the number of parts along k depend only on the sizes, so each sum is
// added up in the same order in every run.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/error.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/functors.hpp"

#ifdef __CUDACC__
#define FERRY_UNROLL _Pragma("unroll")
#else
#define FERRY_UNROLL
#endif

namespace ferry::cuda {

/// The number of a row, a column or a step along k. A matrix has fewer than 2^31 of each, so the sum of two numbers
/// does not overflow.
using Index = std::uint32_t;

/// `count` products of matrices [m,k] and [k,n]. Some of the matrices may be smaller.
struct ProductShape {
  std::int64_t count = 1, m = 0, n = 0, k = 0;
  bool along_k = false;  ///< the elements of both factors are consecutive along k

  [[nodiscard]] std::int64_t sums() const { return count * m * n; }
};

/// How the sums are computed.
enum class ProductWay {
  tiles,        ///< a block computes 64 x 64 sums
  large_tiles,  ///< a block computes 128 x 128 sums
  threads,      ///< a thread computes one sum
  blocks,       ///< a block computes one sum
};

struct ProductPlan {
  ProductWay way;
  std::int64_t parts;  ///< k is cut into this number of parts
  std::int64_t depth;  ///< steps along k of a part
};

[[nodiscard]] ProductPlan plan_product(const ProductShape& shape, std::size_t sum_bytes);
/// The bytes that the sums of the parts need; 0 if there is one part.
[[nodiscard]] std::int64_t product_scratch(const ProductShape& shape, std::size_t sum_bytes);

// The members of F, the factors of multiply():
//
//   using Sum                                   the type of terms and sums
//   auto one(std::int64_t number) const         one of the products, with these members:
//     Index m, n, k                             its sizes
//     bool left_along_k(), right_along_k()      whether elements that follow each other along k are neighbours in
//                                               memory, so that neighbouring threads should read them
//     auto left(Index i), auto right(Index j)   a row of the left factor, a column of the right factor
//     Sum left_at(row, Index p), right_at(column, Index p)    their element at step p along k
//     auto column(Index j)                      a column of the result, which has store(Index i, Sum)

namespace detail {

template <class T>
FERRY_DEVICE T multiply_add(T a, T b, T sum) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fma(a, b, sum);
  else
    return functors::Add()(sum, functors::Mul()(a, b));
}

/// The sums of a product's parts, before they are added up.
template <class Sum>
struct ProductParts {
  Sum* sums;  ///< null if there is one part
  std::int64_t count, m, n;
  Index depth;

  [[nodiscard]] FERRY_DEVICE Sum* of(std::int64_t part, std::int64_t product) const {
    return sums + (part * count + product) * m * n;
  }
  [[nodiscard]] FERRY_DEVICE Index first(std::int64_t part, Index k) const {
    return std::min(static_cast<Index>(part) * depth, k);
  }
  [[nodiscard]] FERRY_DEVICE Index last(std::int64_t part, Index k) const {
    return std::min(first(part, k) + depth, k);
  }
};

/// A block computes a tile of sums. Each thread has some small tiles of it in registers. The block copies the elements
/// of kDepth steps along k to shared memory. While it computes with them, it loads the elements of the next steps.
template <class F, int tile>
struct MultiplyTiles {
  using Sum = typename F::Sum;
  static constexpr int kSide = 16;                        // small tiles along a side of the tile
  static constexpr int kSmall = tile / kSide;             // rows and columns of a small tile
  static constexpr int kGroup = 4;                        // consecutive rows or columns of a small tile
  static constexpr int kMine = kSide * kSide / kThreads;  // small tiles of a thread
  static constexpr int kLoads = 4;                        // elements of each factor that a thread loads at a time
  static constexpr int kDepth = kLoads * kThreads / tile;
  struct Shared {
    // One group of padding, so that neighbours along k are in different banks.
    Group<Sum, kGroup> left[kDepth][tile / kGroup + 1], right[kDepth][tile / kGroup + 1];
  };

  FERRY_DEVICE void operator()(std::int64_t item, const Block& block, Shared& shared) const {
    const std::int64_t along = item % others, rest = item / others;
    const std::int64_t across = rest % tiles, product = rest / tiles % parts.count, part = rest / tiles / parts.count;
    const auto row = static_cast<Index>((rows_first ? along : across) * tile);
    const auto column = static_cast<Index>((rows_first ? across : along) * tile);
    const auto one = factors.one(product);
    if (row >= one.m || column >= one.n) return;
    const Index first = parts.first(part, one.k), last = parts.last(part, one.k);

    // The rows and columns that this thread reads. Beyond the last one, it reads the last one again: these sums are not
    // stored.
    const int thread = block.thread();
    const bool left_along = one.left_along_k(), right_along = one.right_along_k();
    decltype(one.left(0)) left[kLoads];
    decltype(one.right(0)) right[kLoads];
    FERRY_UNROLL
    for (int l = 0; l < kLoads; ++l) {
      left[l] = one.left(std::min(row + line_of(thread, l, left_along), one.m - 1));
      right[l] = one.right(std::min(column + line_of(thread, l, right_along), one.n - 1));
    }
    Sum next_left[kLoads], next_right[kLoads];
    const auto read = [&](Index from) {
      FERRY_UNROLL
      for (int l = 0; l < kLoads; ++l) {
        const Index p = from + step_of(thread, l, left_along), q = from + step_of(thread, l, right_along);
        next_left[l] = p < last ? one.left_at(left[l], p) : Sum(0);
        next_right[l] = q < last ? one.right_at(right[l], q) : Sum(0);
      }
    };
    const auto write = [&] {
      FERRY_UNROLL
      for (int l = 0; l < kLoads; ++l) {
        const Index i = line_of(thread, l, left_along), j = line_of(thread, l, right_along);
        shared.left[step_of(thread, l, left_along)][i / kGroup].all[i % kGroup] = next_left[l];
        shared.right[step_of(thread, l, right_along)][j / kGroup].all[j % kGroup] = next_right[l];
      }
    };

    Sum sums[kMine][kSmall][kSmall] = {};
    if (first < last) read(first);
    for (Index from = first; from < last; from += kDepth) {
      write();
      block.sync();
      if (from + kDepth < last) read(from + kDepth);
      FERRY_UNROLL
      for (int p = 0; p < kDepth; ++p) {
        FERRY_UNROLL
        for (int s = 0; s < kMine; ++s) add(shared, p, thread + s * kThreads, sums[s]);
      }
      block.sync();
    }

    FERRY_UNROLL
    for (int s = 0; s < kMine; ++s) {
      const int number = thread + s * kThreads;
      FERRY_UNROLL
      for (int c = 0; c < kSmall; ++c) {
        const Index j = column + place(number % kSide, c);
        if (j >= one.n) continue;
        const auto stores = one.column(j);
        FERRY_UNROLL
        for (int r = 0; r < kSmall; ++r) {
          const Index i = row + place(number / kSide, r);
          if (i >= one.m) continue;
          if (parts.sums == nullptr)
            stores.store(i, sums[s][r][c]);
          else
            parts.of(part, product)[i * parts.n + j] = sums[s][r][c];
        }
      }
    }
  }

  F factors;
  ProductParts<Sum> parts;
  std::int64_t tiles, others;  ///< numbers of tiles: along the second dim of the blocks' order, and along the first
  bool rows_first;             ///< consecutive blocks have consecutive rows of tiles

 private:
  /// The row or column, and the step along k, that a thread reads with its load `l`.
  FERRY_DEVICE static Index line_of(int thread, int l, bool along_k) {
    const int number = thread + l * kThreads;
    return static_cast<Index>(along_k ? number / kDepth : number % tile);
  }
  FERRY_DEVICE static Index step_of(int thread, int l, bool along_k) {
    const int number = thread + l * kThreads;
    return static_cast<Index>(along_k ? number % kDepth : number / tile);
  }
  /// The row or column in the tile of element r of small tile `number`. The groups of a small tile are kSide groups
  /// apart, so that neighbouring threads read neighbouring groups.
  FERRY_DEVICE static Index place(int number, int r) {
    return static_cast<Index>((r / kGroup * kSide + number) * kGroup + r % kGroup);
  }
  FERRY_DEVICE static void add(const Shared& shared, int p, int number, Sum (&sums)[kSmall][kSmall]) {
    Group<Sum, kGroup> rows[kSmall / kGroup], columns[kSmall / kGroup];
    FERRY_UNROLL
    for (int g = 0; g < kSmall / kGroup; ++g) {
      rows[g] = shared.left[p][g * kSide + number / kSide];
      columns[g] = shared.right[p][g * kSide + number % kSide];
    }
    FERRY_UNROLL
    for (int r = 0; r < kSmall; ++r) {
      FERRY_UNROLL
      for (int c = 0; c < kSmall; ++c)
        sums[r][c] = multiply_add(rows[r / kGroup].all[r % kGroup], columns[c / kGroup].all[c % kGroup], sums[r][c]);
    }
  }
};

/// The index of a sum: its product, row and column.
struct SumPlace {
  FERRY_DEVICE SumPlace(std::int64_t number, std::int64_t m, std::int64_t n) {
    if (number >> 32 == 0)  // 32-bit divisions are several times as fast
      find(static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(m), static_cast<std::uint32_t>(n));
    else
      find(number, m, n);
  }
  Index i, j;
  std::int64_t product;

 private:
  template <class Int>
  FERRY_DEVICE void find(Int number, Int m, Int n) {
    i = static_cast<Index>(number / n % m);
    j = static_cast<Index>(number % n);
    product = number / n / m;
  }
};

template <class F>
struct MultiplyEach {
  using Sum = typename F::Sum;
  FERRY_DEVICE void operator()(std::int64_t number) const {
    const SumPlace at(number, parts.m, parts.n);
    const std::int64_t part = parts.sums == nullptr ? 0 : at.product / parts.count;
    const std::int64_t product = at.product - part * parts.count;
    const auto one = factors.one(product);
    if (at.i >= one.m || at.j >= one.n) return;
    const auto row = one.left(at.i);
    const auto column = one.right(at.j);
    Sum sum = 0;
    const Index last = parts.last(part, one.k);
    for (Index p = parts.first(part, one.k); p < last; ++p)
      sum = multiply_add(one.left_at(row, p), one.right_at(column, p), sum);
    if (parts.sums == nullptr)
      one.column(at.j).store(at.i, sum);
    else
      parts.of(part, product)[at.i * parts.n + at.j] = sum;
  }
  F factors;
  ProductParts<Sum> parts;
};

template <class F>
struct MultiplyInBlocks {
  using Sum = typename F::Sum;
  struct Shared {
    Sum room[kMostWarps];
  };
  FERRY_DEVICE void operator()(std::int64_t number, const Block& block, Shared& shared) const {
    const SumPlace at(number, m, n);
    const auto one = factors.one(at.product);
    if (at.i >= one.m || at.j >= one.n) return;
    const auto row = one.left(at.i);
    const auto column = one.right(at.j);
    Sum mine = 0;
    for (auto p = static_cast<Index>(block.thread()); p < one.k; p += static_cast<Index>(block.threads()))
      mine = multiply_add(one.left_at(row, p), one.right_at(column, p), mine);
    const Sum sum = join_in_block(block, mine, shared.room, functors::Add());
    if (block.thread() == 0) one.column(at.j).store(at.i, sum);
  }
  F factors;
  std::int64_t m, n;
};

template <class F>
struct AddParts {
  using Sum = typename F::Sum;
  FERRY_DEVICE void operator()(std::int64_t number) const {
    const SumPlace at(number, parts.m, parts.n);
    const auto one = factors.one(at.product);
    if (at.i >= one.m || at.j >= one.n) return;
    Sum sum = parts.sums[number];
    for (std::int64_t part = 1; part < count; ++part) sum = functors::Add()(sum, parts.of(part, 0)[number]);
    one.column(at.j).store(at.i, sum);
  }
  F factors;
  ProductParts<Sum> parts;
  std::int64_t count;
};

template <int tile, class F>
void multiply_tiles(const KernelRun& run, const ProductShape& shape, const ProductPlan& plan, const F& factors,
                    const ProductParts<typename F::Sum>& parts) {
  const std::int64_t rows = (shape.m + tile - 1) / tile, columns = (shape.n + tile - 1) / tile;
  // Consecutive blocks differ in the shorter dim first, so they read the same part of the factor along the longer dim.
  const bool rows_first = rows <= columns;
  for_each_block(
      run, rows * columns * shape.count * plan.parts,
      MultiplyTiles<F, tile>{factors, parts, rows_first ? columns : rows, rows_first ? rows : columns, rows_first});
}

}  // namespace detail

/// Computes the products. Precondition: run.scratch has product_scratch() bytes.
template <class F>
void multiply(const KernelRun& run, const ProductShape& shape, const F& factors) {
  using Sum = typename F::Sum;
  if (shape.sums() == 0) return;
  const ProductPlan plan = plan_product(shape, sizeof(Sum));
  FERRY_ASSERT(std::ssize(run.scratch) >= product_scratch(shape, sizeof(Sum)), "a product has too little scratch");
  const detail::ProductParts<Sum> parts{plan.parts > 1 ? reinterpret_cast<Sum*>(run.scratch.data()) : nullptr,
                                        shape.count, shape.m, shape.n, static_cast<Index>(plan.depth)};
  switch (plan.way) {
    case ProductWay::tiles:
      detail::multiply_tiles<64>(run, shape, plan, factors, parts);
      break;
    case ProductWay::large_tiles:
      if constexpr (sizeof(Sum) == sizeof(float)) detail::multiply_tiles<128>(run, shape, plan, factors, parts);
      break;
    case ProductWay::threads:
      for_each(run, shape.sums() * plan.parts, detail::MultiplyEach<F>{factors, parts});
      break;
    case ProductWay::blocks:
      for_each_block(run, shape.sums(), detail::MultiplyInBlocks<F>{factors, shape.m, shape.n});
      break;
  }
  if (plan.parts > 1) for_each(run, shape.sums(), detail::AddParts<F>{factors, parts, plan.parts});
}

}  // namespace ferry::cuda
