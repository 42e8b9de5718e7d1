// Products as in K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008. A part of b is
// packed into panels for all threads, and each thread packs some rows of a. One panel at a time is in the first-level
// cache. If there are few panels, rows are read in place.
#include "kernels/cpu/product/large_product.hpp"

#include <algorithm>

#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/parallel.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kLeast = 64;       // the least columns, and the least depth, of a large product
constexpr std::int64_t kLeastRows = 128;  // the least rows of a large product: with fewer, reading a panel does not pay
constexpr std::int64_t kWork = 1 << 21;   // the least multiplications for which packing pays
constexpr std::int64_t kDepth = 192;      // rows of a panel at a time, so that they stay in the first-level cache
constexpr std::int64_t kPacked = 4 * kDepth;  // rows of b that are packed at a time
constexpr std::int64_t kPackedBytes = 4096;   // bytes of each of these rows
constexpr std::int64_t kRows = 48;            // rows of a that a thread takes at a time; a multiple of all tiles' rows
constexpr std::int64_t kFewRows = 32;         // the least rows of a block, so that reading a panel pays
constexpr std::int64_t kPieces = 8;           // the pieces into which work is divided, for threads
constexpr std::int64_t kPanels = 4;           // the least panels of a piece, so that packing its rows pays

/// A part of the work: some columns of the result, and some of the terms of their sums.
struct Part {
  std::int64_t column, columns, begin, depth;
};

template <class T>
class LargeProduct {
 public:
  LargeProduct(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c)
      : run_(run),
        sizes_(sizes),
        a_(a),
        b_(b),
        c_(c),
        packed_(reinterpret_cast<T*>(run.scratch.data())),
        packs_rows_(a.transposed || sizes.n > kColumnsPerPackedRow),
        places_(packs_rows_ ? 1 : sizes.k) {
    for (std::int64_t i = 0; i < kDepth; ++i) steps_[i] = {packs_rows_ ? i * tiles_.rows : i, i};
  }

  void compute() const {
    constexpr std::int64_t kColumns = kPackedBytes / sizeof(T);
    for (std::int64_t column = 0; column < sizes_.n; column += kColumns)
      for (std::int64_t begin = 0; begin < sizes_.k; begin += kPacked)
        compute({column, std::min(kColumns, sizes_.n - column), begin, std::min(kPacked, sizes_.k - begin)});
  }

 private:
  /// Of the tile that begins with row r, the first element of depth i is at `at` + r * step + i * along.
  struct Rows {
    const T* at;
    std::int64_t step, along;
  };

  void compute(const Part& part) const {
    const Panels<T> panels(part.columns);
    for_chunks(run_.parallel, panels.count(), 1,
               [&](std::int64_t p, std::int64_t) { pack_columns(part, panels.at(p)); });
    // If there are few rows, each block is divided by panels.
    const std::int64_t tiles = (sizes_.m + tiles_.rows - 1) / tiles_.rows, blocks = blocks_of_rows();
    const std::int64_t cuts = std::clamp<std::int64_t>(panels.count() / kPanels, 1, (kPieces + blocks - 1) / blocks);
    for_chunks(run_.parallel, blocks * cuts, 1, [&](std::int64_t item, std::int64_t) {
      alignas(64) T rows[kRows * kPacked];
      const std::int64_t block = item / cuts, cut = item % cuts, row = tiles * block / blocks * tiles_.rows;
      const std::int64_t count = std::min(sizes_.m, tiles * (block + 1) / blocks * tiles_.rows) - row;
      const std::int64_t first = panels.count() * cut / cuts, last = panels.count() * (cut + 1) / cuts;
      if (packs_rows_) pack_some_rows(part, row, count, rows);
      const Rows source_rows =
          packs_rows_ ? Rows{rows, part.depth, tiles_.rows} : Rows{a_.data + row * sizes_.k + part.begin, sizes_.k, 1};
      for (std::int64_t p = first; p < last; ++p) add_panel(part, source_rows, row, count, panels.at(p));
      if (part.begin + part.depth < sizes_.k) return;
      const std::int64_t column = panels.at(first).first, after = std::min(part.columns, panels.at(last).first);
      finish_rows(run_, row * sizes_.n + part.column + column, after - column, count, sizes_.n);
    });
  }

  /// The number of blocks of rows: a multiple of kPieces if there are enough rows, so that threads get equal shares.
  [[nodiscard]] std::int64_t blocks_of_rows() const {
    const std::int64_t least = (sizes_.m + kRows - 1) / kRows, even = (least + kPieces - 1) / kPieces * kPieces;
    return even * kFewRows <= sizes_.m ? even : least;
  }

  void pack_columns(const Part& part, const Panel& panel) const {
    T* to = packed_ + panel.first * part.depth;
    const std::int64_t column = part.column + panel.first, width = Panels<T>::width(panel);
    if (b_.transposed) return pack(b_.data + column * sizes_.k + part.begin, sizes_.k, part.depth, panel, to);
    const T* from = b_.data + part.begin * sizes_.n + column;
    for (std::int64_t i = 0; i < part.depth; ++i, from += sizes_.n, to += width)
      std::fill(std::copy_n(from, panel.count, to), to + width, T(0));
  }

  void pack_some_rows(const Part& part, std::int64_t row, std::int64_t count, T* to) const {
    if (!a_.transposed) return pack_rows(a_.data + row * sizes_.k + part.begin, sizes_.k, count, part.depth, to);
    for (std::int64_t r = 0; r < count; r += tiles_.rows, to += tiles_.rows * part.depth)
      for (std::int64_t i = 0; i < part.depth; ++i)
        std::copy_n(a_.data + (part.begin + i) * sizes_.m + row + r, std::min(tiles_.rows, count - r),
                    to + i * tiles_.rows);
  }

  void add_panel(const Part& part, const Rows& rows, std::int64_t row, std::int64_t count, const Panel& panel) const {
    add_to_columns<kRows>(panel, c_ + row * sizes_.n + part.column + panel.first, sizes_.n, count, part.begin > 0,
                          [&](T* sums, std::int64_t step) { add(part, rows, count, panel, sums, step); });
  }

  void add(const Part& part, const Rows& rows, std::int64_t count, const Panel& panel, T* sums,
           std::int64_t step) const {
    const T* const packed = packed_ + panel.first * part.depth;
    const EvenPlaces sums_places(step);
    for (std::int64_t i = 0; i < part.depth; i += kDepth)
      for (std::int64_t r = 0; r < count; r += tiles_.rows)
        tiles_.of[panel.vectors - 1][std::min(tiles_.rows, count - r) - 1](
            std::min(kDepth, part.depth - i), rows.at + r * rows.step + i * rows.along, places_.at, steps_,
            packed + i * Panels<T>::width(panel), sums + r * step, sums_places.at, part.begin + i > 0);
  }

  const KernelRun& run_;
  const ProductTiles<T>& tiles_ = product_tiles_of<T>();
  const ProductSizes sizes_;
  const Matrix<T> a_, b_;
  T *const c_, *const packed_;
  const bool packs_rows_;
  const EvenPlaces places_;
  ProductStep steps_[kDepth];
};

}  // namespace

bool is_large(const ProductSizes& sizes) {
  const auto [m, n, k] = sizes;
  return m >= kLeastRows && n >= kLeast && k >= kLeast && m * n * k >= kWork;
}

std::int64_t large_scratch(const ProductSizes& sizes, std::int64_t element) {
  const std::int64_t most = kPanelBytes / element, columns = std::min(sizes.n, kPackedBytes / element);
  return (columns + most - 1) / most * most * std::min(kPacked, sizes.k) * element;
}

template <class T>
void multiply_large(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  LargeProduct<T>(run, sizes, a, b, c).compute();
}

template void multiply_large(const KernelRun&, const ProductSizes&, const Matrix<float>&, const Matrix<float>&, float*);
template void multiply_large(const KernelRun&, const ProductSizes&, const Matrix<double>&, const Matrix<double>&,
                             double*);

}  // namespace ferry::cpu
