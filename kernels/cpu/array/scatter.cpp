// Kernels that read or write elements and blocks at positions that are data. They first check the positions and convert
// them to offsets, in scratch memory. Then they move the elements.
#include <algorithm>

#include "kernels/cpu/array/strided.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/indices.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// `place`: the axis, or the number of batch dims.
struct Places {
  std::int64_t place;
  How how;
};

template <bool kBlocks>
std::unique_ptr<KernelState> prepare(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  return keep(Places{attrs.get<std::int64_t>(kBlocks ? "batch_dims" : "axis"),
                     how_of(attrs.get_or<std::string>("how", "replace"))});
}

template <bool kBlocks>
std::int64_t scratch_bytes(const KernelSetup& setup) {
  const Shape& indices = setup.inputs[1].shape;
  const std::int64_t row = kBlocks ? std::max<std::int64_t>(1, indices[indices.rank() - 1].size()) : 1;
  return indices.count() / row * static_cast<std::int64_t>(sizeof(std::int64_t));
}

/// Returns the index counted from the front. Throws BadValue if it is out of range.
std::int64_t checked(std::int64_t index, std::int64_t size) {
  if (!is_index(index, size)) throw bad_index(1, index, size);
  return from_front(index, size);
}

/// For each index, writes the offset in x of its element.
template <class Index>
void element_offsets(const Array& x, const Array& indices, int dim, std::int64_t* offsets) {
  if (indices.count() == 0) return;
  const Nest<1> nest = nest_beside_axis(x, indices, dim);
  const auto along = static_cast<std::size_t>(dim);
  const std::int64_t size = x.sizes[along], step = strides_of(x.sizes)[along];
  Walk<1> walk(nest, 0);
  for (std::int64_t at = 0; at < indices.count(); ++at, walk.advance(1))
    offsets[at] = walk.offset(0) + checked(indices.as<const Index>()[at], size) * step;
}

/// For each row of indices, writes the offset in x of its block.
template <class Index>
void block_offsets(const Array& x, const Array& indices, std::int64_t batch, std::int64_t* offsets) {
  const Strides steps = strides_of(x.sizes);
  const std::int64_t k = indices.sizes.back();
  const std::int64_t rows = indices.count() / k;
  const std::int64_t batches = product(indices.sizes, 0, static_cast<int>(batch));
  const std::int64_t slab = product(x.sizes, static_cast<int>(batch), x.rank());
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t offset = r / (rows / batches) * slab;
    for (std::int64_t j = 0; j < k; ++j) {
      const auto d = static_cast<std::size_t>(batch + j);
      offset += checked(indices.as<const Index>()[r * k + j], x.sizes[d]) * steps[d];
    }
    offsets[r] = offset;
  }
}

/// The elements to move: `rows` blocks of `width` consecutive elements, to or from `offsets`.
struct Moves {
  const std::int64_t* offsets;
  std::int64_t rows, width;
};

template <bool kBlocks>
Moves moves_of(KernelRun& run) {
  const Array &x = run.inputs[0], &indices = run.inputs[1];
  const std::int64_t place = kept<Places>(run).place;
  auto* offsets = reinterpret_cast<std::int64_t*>(run.scratch.data());
  dispatch_indices(indices.dtype, [&](auto zero) {
    using Index = decltype(zero);
    if constexpr (kBlocks)
      block_offsets<Index>(x, indices, place, offsets);
    else
      element_offsets<Index>(x, indices, dim_of(place, x.rank()), offsets);
  });
  if constexpr (!kBlocks) return {offsets, indices.count(), 1};
  const std::int64_t k = indices.sizes.back();
  return {offsets, indices.count() / k, product(x.sizes, static_cast<int>(place + k), x.rank())};
}

template <bool kBlocks>
void gather(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& output = run.outputs[0];
  if (run.inputs[1].rank() > (kBlocks ? 1 : 0)) output.sizes[0] = run.inputs[1].sizes[0];
  const auto [offsets, rows, width] = moves_of<kBlocks>(run);
  dispatch_sizes(x.dtype, [&, offsets = offsets, rows = rows, width = width](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, rows, grain_of(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        std::copy_n(x.as<const T>() + offsets[r], width, output.as<T>() + r * width);
    });
  });
}

/// Writes the rows in order; threads divide the elements of wide rows.
template <class T, class Join>
void write_rows(KernelRun& run, const Moves& moves, const Join& join) {
  const T* from = run.inputs[2].as<const T>();
  T* to = run.outputs[0].as<T>();
  const auto [offsets, rows, width] = moves;
  for_chunks(run.parallel, width, grain_of(rows),
             [&, offsets = offsets, rows = rows, width = width](auto begin, auto end) {
               for (std::int64_t r = 0; r < rows; ++r)
                 for (std::int64_t k = begin; k < end; ++k) {
                   T& element = to[offsets[r] + k];
                   element = join(element, from[r * width + k]);
                 }
             });
}

template <class Join>
void join_rows(KernelRun& run, const Moves& moves) {
  dispatch_ordered(run.outputs[0].dtype, [&](auto zero) { write_rows<decltype(zero)>(run, moves, Join()); });
}

template <bool kBlocks>
void scatter(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& output = run.outputs[0];
  if (output.rank() > 0) output.sizes[0] = x.sizes[0];
  const Moves moves = moves_of<kBlocks>(run);
  if (output.data != x.data) {
    StridedCopy copy;
    copy.add_dim(x.count(), 1, 1);
    run_copy(run.parallel, copy, x.dtype, x.data, output.data);
  }
  switch (kept<Places>(run).how) {
    case How::replace:
      return dispatch_sizes(output.dtype, [&](auto zero) {
        using T = decltype(zero);
        write_rows<T>(run, moves, [](T, T update) { return update; });
      });
    case How::add:
      return join_rows<functors::Add>(run, moves);
    case How::multiply:
      return join_rows<functors::Mul>(run, moves);
    case How::largest:
      return join_rows<functors::Maximum>(run, moves);
    case How::smallest:
      return join_rows<functors::Minimum>(run, moves);
  }
}

constexpr DTypeSet kScattered = kOrdered | DTypeSet{DType::boolean};

constexpr Kernel kKernels[] = {
    {.op = "GatherElements",
     .run = gather<false>,
     .prepare = prepare<false>,
     .scratch_bytes = scratch_bytes<false>,
     .takes = kAnyType},
    {.op = "ScatterElements",
     .run = scatter<false>,
     .prepare = prepare<false>,
     .scratch_bytes = scratch_bytes<false>,
     .in_place = 1,
     .takes = kScattered},
    {.op = "GatherND",
     .run = gather<true>,
     .prepare = prepare<true>,
     .scratch_bytes = scratch_bytes<true>,
     .takes = kAnyType},
    {.op = "ScatterND",
     .run = scatter<true>,
     .prepare = prepare<true>,
     .scratch_bytes = scratch_bytes<true>,
     .in_place = 1,
     .takes = kScattered},
};

}  // namespace

std::span<const Kernel> scatter_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
