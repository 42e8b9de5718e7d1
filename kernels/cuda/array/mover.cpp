#include "kernels/cuda/array/mover.hpp"
#include "kernels/cuda/array/large_elements.hpp"

namespace ferry::cuda {
namespace {

/// Replaces each two elements that are consecutive in both arrays by one element of twice the size. Repeats this as
/// long as it is possible, so that a thread moves up to kGroupBytes at once. Returns the size of the new elements.
/// `from` is null for a fill, which has no source.
std::size_t join_elements(StridedCopy& copy, std::size_t bytes, const std::byte* from, const std::byte* to) {
  const auto is_even = [](std::int64_t n) { return n % 2 == 0; };
  Nest<2>& nest = copy.nest;
  for (; bytes < kGroupBytes && nest.dims > 0; bytes *= 2) {
    const auto last = static_cast<std::size_t>(nest.dims - 1);
    bool joins = nest.steps[1][last] == 1 && (from == nullptr || nest.steps[0][last] == 1) &&
                 is_even(nest.sizes[last]) && is_even(copy.from_begin) && is_even(copy.to_begin) &&
                 detail::is_aligned(to, 2 * bytes) && (from == nullptr || detail::is_aligned(from, 2 * bytes));
    for (std::size_t d = 0; d < last; ++d) joins = joins && is_even(nest.steps[0][d]) && is_even(nest.steps[1][d]);
    if (!joins) break;
    for (std::size_t d = 0; d < last; ++d)
      for (auto& steps : nest.steps) steps[d] /= 2;
    nest.sizes[last] /= 2;
    copy.from_begin /= 2;
    copy.to_begin /= 2;
    copy.count /= 2;
    if (nest.sizes[last] == 1) --nest.dims;
  }
  return bytes;
}

/// A T that consists of copies of `element`, which has `bytes` bytes.
template <class T>
T repeated(ElementBits element, std::size_t bytes) {
  T all;
  for (std::size_t at = 0; at < sizeof(T); at += bytes)
    std::memcpy(reinterpret_cast<std::byte*>(&all) + at, &element, bytes);
  return all;
}

/// The dims of a copy, as an argument of a GPU's kernel.
struct CopiedDims {
  int dims;
  bool small;  ///< all element numbers fit 32 bits, which a GPU divides several times as fast
  std::int64_t sizes[kMaxDims];
  std::int64_t from_steps[kMaxDims], to_steps[kMaxDims];

  void add(std::int64_t size, std::int64_t from_step, std::int64_t to_step) {
    sizes[dims] = size;
    from_steps[dims] = from_step;
    to_steps[dims++] = to_step;
  }
  /// Adds the offsets of element i in the source and in the target to `from` and `to`.
  FERRY_DEVICE void add_offsets(std::int64_t i, std::int64_t& from, std::int64_t& to) const {
    if (small)
      add_offsets_in(static_cast<std::uint32_t>(i), from, to);
    else
      add_offsets_in(static_cast<std::uint64_t>(i), from, to);
  }

 private:
  template <class Int>
  FERRY_DEVICE void add_offsets_in(Int i, std::int64_t& from, std::int64_t& to) const {
    for (int d = dims - 1; d >= 0; --d) {
      const auto size = static_cast<Int>(sizes[d]);
      const Int rest = d == 0 ? 0 : i / size;
      const auto index = static_cast<std::int64_t>(i - rest * size);
      from += index * from_steps[d];
      to += index * to_steps[d];
      i = rest;
    }
  }
};

CopiedDims dims_of(const Nest<2>& nest, std::int64_t count) {
  CopiedDims dims{0, count <= INT32_MAX, {}, {}, {}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(nest.dims); ++d)
    dims.add(nest.sizes[d], nest.steps[0][d], nest.steps[1][d]);
  return dims;
}

template <class T>
struct CopyElements {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    std::int64_t from_at = 0, to_at = 0;
    dims.add_offsets(i, from_at, to_at);
    to[to_at] = from == nullptr ? element : from[from_at];
  }
  CopiedDims dims;
  const T* from;  ///< null: sets all elements to `element`
  T element;
  T* to;
};

/// A copy with elements that are consecutive along one dim in the source, and along another dim in the target. A block
/// reads a tile of these two dims along the first dim and writes it along the second, so that neighbouring threads
/// always access neighbouring elements.
template <class T>
struct CopyTiles {
  static constexpr int kSide = sizeof(T) >= 4 ? 32 : 64;
  struct Shared {
    T tile[kSide][kSide + 1];  // so that the elements of a column are in different banks
  };

  FERRY_DEVICE void operator()(std::int64_t item, const Block& block, Shared& shared) const {
    const auto number = static_cast<std::uint32_t>(item);  // it fits: a tile of an array has 64 elements or more
    const std::uint32_t down = number / across_tiles;
    const std::int64_t first = static_cast<std::int64_t>(number - down * across_tiles) * kSide;
    const std::int64_t first_row = static_cast<std::int64_t>(down % down_tiles) * kSide;
    std::int64_t from_at = first_row * from_step + first, to_at = first * to_step + first_row;
    others.add_offsets(down / down_tiles, from_at, to_at);
    const auto rows_here = static_cast<int>(rows - first_row < kSide ? rows - first_row : kSide);
    const auto columns_here = static_cast<int>(columns - first < kSide ? columns - first : kSide);
    for (int k = block.thread(); k < kSide * kSide; k += block.threads()) {
      const int r = k / kSide, c = k % kSide;
      if (r < rows_here && c < columns_here) shared.tile[r][c] = from[from_at + r * from_step + c];
    }
    block.sync();
    for (int k = block.thread(); k < kSide * kSide; k += block.threads()) {
      const int r = k % kSide, c = k / kSide;
      if (r < rows_here && c < columns_here) to[to_at + c * to_step + r] = shared.tile[r][c];
    }
  }

  CopiedDims others;
  const T* from;
  T* to;
  std::int64_t rows, from_step;   ///< rows of the source
  std::int64_t columns, to_step;  ///< its columns, which are rows of the target
  std::uint32_t down_tiles, across_tiles;
};

template <class T>
void copy_tiles(const KernelRun& run, const StridedCopy& copy, std::size_t dim, const T* from, T* to) {
  constexpr std::int64_t kSide = CopyTiles<T>::kSide;
  const Nest<2>& nest = copy.nest;
  const auto last = static_cast<std::size_t>(nest.dims - 1);
  const auto tiles = [](std::int64_t size) { return (size + kSide - 1) / kSide; };
  const std::int64_t down = tiles(nest.sizes[last]), across = tiles(nest.sizes[dim]);
  CopiedDims others{0, true, {}, {}, {}};
  for (std::size_t d = 0; d < last; ++d)
    if (d != dim) others.add(nest.sizes[d], nest.steps[0][d], nest.steps[1][d]);
  const CopyTiles<T> all{others,
                         from,
                         to,
                         nest.sizes[last],
                         nest.steps[0][last],
                         nest.sizes[dim],
                         nest.steps[1][dim],
                         static_cast<std::uint32_t>(down),
                         static_cast<std::uint32_t>(across)};
  for_each_block(run, copy.count / (nest.sizes[last] * nest.sizes[dim]) * down * across, all);
}

/// Writes the whole target: copied elements, and `element` between them. An element is copied if its distance from the
/// first copied element is a sum of the steps.
template <class T>
struct PlaceElements {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    if (i < begin)
      to[i] = element;
    else
      to[i] = dims.small ? at(static_cast<std::uint32_t>(i - begin)) : at(static_cast<std::uint64_t>(i - begin));
  }

  CopiedDims dims;
  const T* from;
  T element;
  T* to;
  std::int64_t begin;

 private:
  template <class Int>
  FERRY_DEVICE T at(Int rest) const {
    std::int64_t from_at = 0;
    for (int d = 0; d < dims.dims; ++d) {
      const auto step = static_cast<Int>(dims.to_steps[d]);
      const Int index = step == 1 ? rest : rest / step;
      if (index >= static_cast<Int>(dims.sizes[d])) return element;
      rest -= index * step;
      from_at += static_cast<std::int64_t>(index) * dims.from_steps[d];
    }
    return rest == 0 ? from[from_at] : element;
  }
};

}  // namespace

void CudaMover::copy(const KernelRun& run, StridedCopy& copy, DType dtype, const std::byte* from, std::byte* to) {
  if (copy.count == 0) return;
  const Nest<2>& nest = copy.nest;
  if (nest.dims == 0 || (nest.dims == 1 && nest.steps[0][0] == 1 && nest.steps[1][0] == 1)) {
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    return copy_bytes(run, to + copy.to_begin * bytes, from + copy.from_begin * bytes,
                      static_cast<std::size_t>(copy.count * bytes));
  }
  dispatch_joined(join_elements(copy, size_of(dtype), from, to), [&](auto zero) {
    using T = decltype(zero);
    const T* const first = reinterpret_cast<const T*>(from) + copy.from_begin;
    T* const first_to = reinterpret_cast<T*>(to) + copy.to_begin;
    const int dim = copy.transposed_dim();
    if (dim >= 0) return copy_tiles(run, copy, static_cast<std::size_t>(dim), first, first_to);
    for_each(run, copy.count, CopyElements<T>{dims_of(nest, copy.count), first, {}, first_to});
  });
}

void CudaMover::fill(const KernelRun& run, StridedCopy& copy, DType dtype, ElementBits element, std::byte* to) {
  if (copy.count == 0) return;
  dispatch_joined(join_elements(copy, size_of(dtype), nullptr, to), [&](auto zero) {
    using T = decltype(zero);
    T* const first = reinterpret_cast<T*>(to) + copy.to_begin;
    const T all = repeated<T>(element, size_of(dtype));
    for_each(run, copy.count, CopyElements<T>{dims_of(copy.nest, copy.count), nullptr, all, first});
  });
}

void CudaMover::place(const KernelRun& run, StridedCopy& copy, const std::byte* from, const Array& to,
                      ElementBits element) {
  const std::size_t one = size_of(to.dtype);
  const auto all_bytes = static_cast<std::size_t>(to.count()) * one;
  if (copy.count == 0) {
    StridedCopy all;
    all.add_dim(to.count(), 0, 1);
    return fill(run, all, to.dtype, element, to.data);
  }
  const std::size_t bytes = all_bytes % kGroupBytes == 0 ? join_elements(copy, one, from, to.data) : one;
  const auto count = static_cast<std::int64_t>(all_bytes / bytes);
  dispatch_joined(bytes, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, count,
             PlaceElements<T>{dims_of(copy.nest, count), reinterpret_cast<const T*>(from) + copy.from_begin,
                              repeated<T>(element, one), reinterpret_cast<T*>(to.data), copy.to_begin});
  });
}

}  // namespace ferry::cuda
