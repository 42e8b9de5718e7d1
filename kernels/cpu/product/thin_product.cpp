#include "kernels/cpu/product/thin_product.hpp"

#include <algorithm>

#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/parallel.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kLeast = 16, kFew = 128;  // limits of the small dim
constexpr std::int64_t kMostUnpackedRows = 48;   // with at most this many rows, packing a factor that fits in the cache
                                                 // does not pay
constexpr std::int64_t kWork = 1 << 21;          // the least multiplications for which packing pays
constexpr std::int64_t kMany = 1 << 16;          // the least elements of one factor for which packing the other pays
constexpr std::int64_t kDepth = 192;          // rows of a panel at a time, so that they stay in the first-level cache
constexpr std::int64_t kPacked = 4 * kDepth;  // rows of a large factor that are packed at a time
constexpr std::int64_t kMostInPlaceBytes =
    3 << 19;  // bytes of a factor that fits into the second-level cache: such a factor is read in place
constexpr std::int64_t kTogether = 32;  // rows; their sums are transposed together
constexpr std::int64_t kPieces = 8;     // the pieces into which work is divided, for threads

/// A factor that is read in place or from packed rows. For row r = `first` + `next` of the factor, in the tile with
/// first row `first`, element [r,i] is at first * row_step + next * next_step + i * depth_step.
template <class T>
struct Rows {
  const T* data;
  std::int64_t count, row_step, depth_step, next_step = row_step;
};

/// The product of `rows` and a factor that is packed into panels of its columns, or read in place.
template <class T>
class ThinProduct {
 public:
  ThinProduct(const KernelRun& run, const Rows<T>& rows, std::int64_t columns, std::int64_t depth, bool packs = true)
      : run_(run),
        rows_(rows),
        panels_(columns),
        columns_(columns),
        depth_(depth),
        packs_(packs),
        packed_(reinterpret_cast<T*>(run.scratch.data())),
        places_(rows.next_step) {
    for (std::int64_t i = 0; i < kDepth; ++i)
      steps_[i] = {i * rows.depth_step, packs ? i : i * columns / Panels<T>::width()};
  }

  /// Whether panels of a factor may be read in place. Rows of the factor must be whole rows of panels. They must also
  /// stay in the cache while they are multiplied by the few rows of the other factor.
  [[nodiscard]] static bool may_read_in_place(const ProductSizes& sizes) {
    return sizes.n % Panels<T>::width() == 0 && sizes.m <= kMostUnpackedRows &&
           sizes.n * sizes.k * static_cast<std::int64_t>(sizeof(T)) <= kMostInPlaceBytes;
  }

  /// Computes c[r * columns + v] from factor[i * columns + v], which fits into the cache when packed. Threads divide
  /// the rows.
  void compute(const T* factor, T* c) const {
    for_chunks(run_.parallel, depth_, grain_of(columns_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t d = begin; d < end; ++d) pack_row(factor + d * columns_, d, depth_, packed_);
    });
    for_rows(
        kMostTileRows,
        [&](std::int64_t row, std::int64_t count) {
          for (std::int64_t p = 0; p < panels_.count(); ++p)
            add_panel(row, count, 0, depth_, packed_ + panels_.at(p).first * depth_, panels_.at(p), c);
        },
        [&](std::int64_t row, std::int64_t count) {
          finish_rows(run_, row * columns_, count * columns_, 1, count * columns_);
        });
  }

  /// Does the same for a large factor: packs some of its rows at a time. Threads divide the columns.
  void compute_by_columns(const T* factor, T* c) const {
    for (std::int64_t begin = 0; begin < depth_; begin += kPacked) {
      const std::int64_t end = std::min(begin + kPacked, depth_), blocks = (end - begin + kDepth - 1) / kDepth;
      const auto packed = [&](std::int64_t block) { return packed_ + block * kDepth * panels_.padded(); };
      const auto depth = [&](std::int64_t block) { return std::min(kDepth, end - begin - block * kDepth); };
      const auto panel_block = [&](std::int64_t block, const Panel& panel) {
        return packs_ ? packed(block) + panel.first * depth(block)
                      : factor + (begin + block * kDepth) * columns_ + panel.first;
      };
      const std::int64_t to_pack = packs_ ? end - begin : 0;
      for_chunks(run_.parallel, to_pack, grain_of(columns_), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t d = first; d < last; ++d)
          pack_row(factor + (begin + d) * columns_, d % kDepth, depth(d / kDepth), packed(d / kDepth));
      });
      const std::int64_t pieces = std::min(panels_.count(), kPieces);
      for_chunks(run_.parallel, pieces, 1, [&](std::int64_t piece, std::int64_t) {
        const std::int64_t first = panels_.count() * piece / pieces, last = panels_.count() * (piece + 1) / pieces;
        for (std::int64_t p = first; p < last; ++p)
          for (std::int64_t block = 0; block < blocks; ++block)
            for (std::int64_t row = 0; row < rows_.count; row += kMostTileRows)
              add_panel(row, std::min<std::int64_t>(kMostTileRows, rows_.count - row), begin + block * kDepth,
                        depth(block), panel_block(block, panels_.at(p)), panels_.at(p), c);
        const std::int64_t column = panels_.at(first).first, after = std::min(columns_, panels_.at(last).first);
        if (end == depth_) finish_rows(run_, column, after - column, rows_.count, columns_);
      });
    }
  }

  /// Computes c[v * rows + r] from factor[v * depth + i].
  void compute_transposed(const T* factor, T* c) const {
    for_chunks(run_.parallel, panels_.count(), 1, [&](std::int64_t p, std::int64_t) {
      const Panel panel = panels_.at(p);
      pack(factor + panel.first * depth_, depth_, depth_, panel, packed_ + panel.first * depth_);
    });
    for_rows(
        kTogether,
        [&](std::int64_t row, std::int64_t count) {
          for (std::int64_t p = 0; p < panels_.count(); ++p) {
            const Panel panel = panels_.at(p);
            const std::int64_t width = Panels<T>::width(panel);
            T sums[kTogether * Panels<T>::kMostWidth];
            for (std::int64_t i = 0; i < depth_; i += kDepth)
              add(row, count, i, std::min(kDepth, depth_ - i), packed_ + panel.first * depth_ + i * width, panel, sums,
                  width);
            unpack(sums, count, {}, panel, c + panel.first * rows_.count + row, rows_.count);
          }
        },
        [&](std::int64_t row, std::int64_t count) { finish_rows(run_, row, count, columns_, rows_.count); });
  }

 private:
  /// Calls body(first, count) for `together` rows at a time, then done(first, count) for all rows of a piece.
  template <class Body, class Done>
  void for_rows(std::int64_t together, const Body& body, const Done& done) const {
    const std::int64_t blocks = (rows_.count + together - 1) / together, pieces = std::min(blocks, kPieces);
    for_chunks(run_.parallel, pieces, 1, [&](std::int64_t piece, std::int64_t) {
      const std::int64_t first = blocks * piece / pieces, last = blocks * (piece + 1) / pieces;
      for (std::int64_t block = first; block < last; ++block)
        body(block * together, std::min(together, rows_.count - block * together));
      done(first * together, std::min(last * together, rows_.count) - first * together);
    });
  }

  /// Packs a row of the factor as row d of the `depth` rows of all panels at `packed`.
  void pack_row(const T* row, std::int64_t d, std::int64_t depth, T* packed) const {
    const std::int64_t whole = columns_ / Panels<T>::width() * Panels<T>::width(), most = Panels<T>::width();
    for (std::int64_t first = 0; first < whole; first += most)
      std::copy_n(row + first, most, packed + first * depth + d * most);
    if (whole == columns_) return;
    const std::int64_t last = panels_.padded() - whole;
    T* to = packed + whole * depth + d * last;
    std::fill(std::copy(row + whole, row + columns_, to), to + last, T(0));
  }

  void add_panel(std::int64_t row, std::int64_t count, std::int64_t i, std::int64_t depth, const T* columns,
                 const Panel& panel, T* c) const {
    add_to_columns<kMostTileRows>(
        panel, c + row * columns_ + panel.first, columns_, count, i > 0,
        [&](T* sums, std::int64_t step) { add(row, count, i, depth, columns, panel, sums, step); });
  }

  /// Adds the products of elements [i, i + depth) to the sums. The first call has i = 0.
  void add(std::int64_t row, std::int64_t count, std::int64_t i, std::int64_t depth, const T* columns,
           const Panel& panel, T* sums, std::int64_t step) const {
    const ProductTiles<T>& tiles = product_tiles_of<T>();
    const EvenPlaces sums_places(step);
    for (std::int64_t r = 0; r < count; r += tiles.rows)
      tiles.of[panel.vectors - 1][std::min(tiles.rows, count - r) - 1](
          depth, rows_.data + (row + r) * rows_.row_step + i * rows_.depth_step, places_.at, steps_, columns,
          sums + r * step, sums_places.at, i > 0);
  }

  const KernelRun& run_;
  const Rows<T> rows_;
  const Panels<T> panels_;
  const std::int64_t columns_, depth_;
  const bool packs_;
  T* const packed_;
  const EvenPlaces places_;
  ProductStep steps_[kDepth];
};

/// The number of elements, of `element` bytes each, of the factor that is packed by columns. It suffices on any
/// processor.
std::int64_t packed_columns_elements(const ProductSizes& sizes, bool b_transposed, std::int64_t element) {
  const std::int64_t columns = b_transposed ? sizes.m : sizes.n, most = kPanelBytes / element;
  return (columns + most - 1) / most * most * (b_transposed ? sizes.k : std::min(kPacked, sizes.k));
}

/// The number of elements of the packed rows. It suffices on any processor; 0: the rows are read in place.
std::int64_t packed_rows_elements(const ProductSizes& sizes) {
  if (sizes.n <= kColumnsPerPackedRow) return 0;
  return (sizes.m + kMostTileRows - 1) / kMostTileRows * kMostTileRows * sizes.k;
}

/// Packs the rows of a, [m,k], tile by tile at `packed`, and returns them.
template <class T>
Rows<T> packed_rows(const KernelRun& run, const T* a, const ProductSizes& sizes, T* packed) {
  const std::int64_t rows = product_tiles_of<T>().rows, k = sizes.k;
  for_chunks(run.parallel, (sizes.m + rows - 1) / rows, grain_of(rows * k), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * rows, count = std::min(sizes.m, end * rows) - first;
    pack_rows(a + first * k, k, count, k, packed + first * k);
  });
  return {packed, sizes.m, k, rows, 1};
}

}  // namespace

bool is_thin(const ProductSizes& sizes, bool a_transposed, bool b_transposed) {
  const auto [m, n, k] = sizes;
  if (m * n * k < kWork) return false;
  if (b_transposed) return !a_transposed && m >= kLeast && m <= kFew && n >= m;
  if (n < kLeast) return false;
  const bool enough_rows = m >= 2 * kLeast, few_rows = m <= kFew && n * k >= kMany;
  return a_transposed ? few_rows || (enough_rows && k <= kFew) : few_rows && enough_rows;
}

std::int64_t thin_scratch(const ProductSizes& sizes, bool a_transposed, bool b_transposed, std::int64_t element) {
  const std::int64_t rows = a_transposed || b_transposed ? 0 : packed_rows_elements(sizes);
  return (packed_columns_elements(sizes, b_transposed, element) + rows) * element;
}

template <class T>
void multiply_thin(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  const auto [m, n, k] = sizes;
  if (b.transposed) return ThinProduct<T>(run, {b.data, n, k, 1}, m, k).compute_transposed(a.data, c);
  if (a.transposed && k <= kFew) return ThinProduct<T>(run, {a.data, m, 1, m}, n, k).compute(b.data, c);
  const bool packs = !ThinProduct<T>::may_read_in_place(sizes);
  Rows<T> rows{a.data, m, a.transposed ? 1 : k, a.transposed ? m : 1};
  if (!a.transposed && product_tiles_of<T>().apart && packed_rows_elements(sizes) > 0) {
    T* const packed = reinterpret_cast<T*>(run.scratch.data()) + packed_columns_elements(sizes, false, sizeof(T));
    rows = packed_rows(run, a.data, sizes, packed);
  }
  ThinProduct<T>(run, rows, n, k, packs).compute_by_columns(b.data, c);
}

template void multiply_thin(const KernelRun&, const ProductSizes&, const Matrix<float>&, const Matrix<float>&, float*);
template void multiply_thin(const KernelRun&, const ProductSizes&, const Matrix<double>&, const Matrix<double>&,
                            double*);

}  // namespace ferry::cpu
