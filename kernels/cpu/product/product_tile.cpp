// The tiles. This file is built with -ffp-contract=fast: a product and its addition become one instruction if the
// processor has it.
#include "kernels/cpu/product/product_tile.hpp"

#include <utility>

#include "base/system/cache_lines.hpp"
#include "kernels/cpu/vector_bytes.hpp"

namespace ferry::cpu {
namespace {

#if defined(__x86_64__)
constexpr int kRows = kVectorBytes == 64 ? 12 : 6;
#else
constexpr int kRows = 8;
#endif
/// Twelve row addresses do not fit in the registers for addresses. Rows that are one or two elements apart need only
/// one.
constexpr bool kApart = kRows > 8;
constexpr int kAhead = 128;  // bytes to prefetch ahead, because the hardware prefetches only within a page
#if defined(__FMA__) || defined(__aarch64__)
constexpr bool kFused = true;
#else
constexpr bool kFused = false;
#endif

template <class T>
struct VectorOf {
  using Type [[gnu::vector_size(kVectorBytes), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
};
template <class T>
inline constexpr int kLanesOf = kVectorBytes / sizeof(T);

/// Whether a tile's rows are `step` elements apart.
template <int rows>
bool has_spacing(const std::int64_t* places, std::int64_t step) {
  bool all = true;
  for (int r = 1; r < rows; ++r) all &= places[r] == places[0] + r * step;
  return all;
}

/// Adds the terms of a tile to its sums. element(r, offset) returns the factor of row r. fetch(i, offset) prefetches
/// elements that will be read soon.
template <class T, int rows, int vectors, class Element, class Fetch>
[[gnu::always_inline]] inline void add_terms(std::int64_t k, const ProductStep* steps, const T* panel,
                                             typename VectorOf<T>::Type (&sums)[rows][vectors], const Element& element,
                                             const Fetch& fetch) {
  using V = typename VectorOf<T>::Type;
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t offset = steps[i].offset;
    const T* const line = panel + steps[i].row * (vectors * kLanesOf<T>);
    fetch(i, offset);
    V columns[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) columns[v] = *reinterpret_cast<const V*>(line + v * kLanesOf<T>);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[r][v] += element(r, offset) * columns[v];
  }
}

/// A tile with rows `step` elements apart; 0: the rows may be anywhere. Each variant is a function of its own. Else GCC
/// would leave all variants only the registers that are free in the variant that needs the most.
template <class T, int rows, int vectors, int step>
[[gnu::noinline]] void tile_of(std::int64_t k, const T* x, const std::int64_t* places, const ProductStep* steps,
                               const T* panel, T* c, const std::int64_t* c_places, bool add) {
  using V = typename VectorOf<T>::Type;
  constexpr int kLanes = kLanesOf<T>;
  constexpr std::int64_t kFetched = kAhead / sizeof(T);
  V sums[rows][vectors];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      sums[r][v] = add ? *reinterpret_cast<const V*>(c + c_places[r] + v * kLanes) : V{};

  if constexpr (step > 0) {
    const T* const first = x + places[0];
    add_terms<T, rows, vectors>(
        k, steps, panel, sums, [&](int r, std::int64_t offset) { return first[offset + r * step]; },
        [&](std::int64_t, std::int64_t offset) { fetch_to_read(first + offset + kFetched); });
  } else {
    constexpr int kTurns = 16;  // prefetches the elements ahead of each row in turn
    const T *row[rows], *ahead[kTurns];
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r) row[r] = x + places[r];
    for (int r = 0; r < kTurns; ++r) ahead[r] = row[r % rows] + kFetched;
    add_terms<T, rows, vectors>(
        k, steps, panel, sums, [&](int r, std::int64_t offset) { return row[r][offset]; },
        [&](std::int64_t i, std::int64_t offset) { fetch_to_read(ahead[i % kTurns] + offset); });
  }

#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) *reinterpret_cast<V*>(c + c_places[r] + v * kLanes) = sums[r][v];
}

template <class T, int rows, int vectors>
void tile(std::int64_t k, const T* x, const std::int64_t* places, const ProductStep* steps, const T* panel, T* c,
          const std::int64_t* c_places, bool add) {
  const auto compute = kApart && has_spacing<rows>(places, 1)   ? tile_of<T, rows, vectors, 1>
                       : kApart && has_spacing<rows>(places, 2) ? tile_of<T, rows, vectors, 2>
                                                                : tile_of<T, rows, vectors, 0>;
  compute(k, x, places, steps, panel, c, c_places, add);
}

template <class T, int rows>
void sweep_of(const T* weights, const T* x, std::int64_t step, std::int64_t n, T* y, bool add) {
  using V = typename VectorOf<T>::Type;
  for (std::int64_t i = 0; i < n; i += kLanesOf<T>) {
    V sum = add ? *reinterpret_cast<const V*>(y + i) : V{};
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) sum += weights[r] * *reinterpret_cast<const V*>(x + r * step + i);
    *reinterpret_cast<V*>(y + i) = sum;
  }
}

template <class T>
void sweep(std::int64_t rows, const T* weights, const T* x, std::int64_t step, std::int64_t n, T* y, bool add) {
  const auto take = [&]<int some>() {
    if ((rows & some) == 0) return;
    sweep_of<T, some>(weights, x, step, n, y, add);
    weights += some;
    x += some * step;
    add = true;
  };
  take.template operator()<16>();
  take.template operator()<8>();
  take.template operator()<4>();
  take.template operator()<2>();
  take.template operator()<1>();
}

template <class T, int vectors, int... rows>
constexpr void set_tiles(ProductTiles<T>& all, std::integer_sequence<int, rows...>) {
  ((all.of[vectors - 1][rows] = tile<T, rows + 1, vectors>), ...);
}

template <class T>
constexpr ProductTiles<T> tiles() {
  ProductTiles<T> all{kLanesOf<T>, kRows, kApart, {}, sweep<T>};
  set_tiles<T, 1>(all, std::make_integer_sequence<int, kRows>());
  set_tiles<T, 2>(all, std::make_integer_sequence<int, kRows>());
  return all;
}

}  // namespace

constexpr ProductTileSet FERRY_PRODUCT_TILES = {kFused, tiles<float>(), tiles<double>()};

}  // namespace ferry::cpu
