// The ops of ops/control/comm.hpp that move parts of split values: they cut parts out of the whole value, or join them.
// move_arrays.hpp describes a Mover.
#pragma once

#include <algorithm>
#include <memory>

#include "graph/types/layout.hpp"
#include "kernels/shared/state.hpp"
#include "kernels/shared/strided_copy.hpp"

namespace ferry::moving {

/// Sets the extent of y, clamped to [0, bound]. y.sizes[0] is the bound before the call.
inline void limit(Array& y, std::int64_t extent) {
  y.sizes[0] = std::clamp<std::int64_t>(extent, 0, y.sizes[0]);
}

/// TakePart: copies the part of x that y holds.
template <class Mover>
void take_part(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& y = run.outputs[0];
  if (y.bounded) limit(y, x.sizes[0] - (y.begin[0] - x.begin[0]));
  StridedCopy copy = copy_of_block(y.sizes, x.sizes, y.sizes);
  copy.from_begin = elements_before(y.begin, x.sizes) - elements_before(x.begin, x.sizes);
  Mover::copy(run, copy, x.dtype, x.data, y.data);
}

/// The number of parts of a split dim.
struct PartsOfDim {
  std::size_t dim;
  std::int64_t count;
};

inline std::unique_ptr<KernelState> prepare_parts(const KernelSetup& setup) {
  return keep(PartsOfDim{static_cast<std::size_t>(setup.attrs.get<std::int64_t>("dim")),
                         setup.attrs.get<std::int64_t>("parts")});
}

/// Copies between a whole array of `sizes` and the buffer of its parts, one part after another.
template <class Mover>
void move_parts(KernelRun& run, std::span<const std::int64_t> sizes, bool join) {
  const auto& parts = kept<PartsOfDim>(run);
  const Array& x = run.inputs[0];
  const Array& y = run.outputs[0];
  const Strides whole = strides_of(sizes);
  const std::int64_t row = product(sizes, static_cast<int>(parts.dim) + 1, static_cast<int>(sizes.size()));
  const std::int64_t rows = product(sizes, 0, static_cast<int>(parts.dim));
  std::int64_t listed = 0;
  for (std::int64_t i = 0; i < parts.count; ++i) {
    const Part part = part_of(sizes[parts.dim], parts.count, i);
    const std::int64_t placed = part.begin * whole[parts.dim];
    StridedCopy copy;
    copy.from_begin = join ? listed : placed;
    copy.to_begin = join ? placed : listed;
    const std::int64_t whole_row = sizes[parts.dim] * row, part_row = part.size * row;
    copy.add_dim(rows, join ? part_row : whole_row, join ? whole_row : part_row);
    copy.add_dim(part_row, 1, 1);
    Mover::copy(run, copy, x.dtype, x.data, y.data);
    listed += rows * part_row;
  }
}

template <class Mover>
void join_parts(KernelRun& run) {
  move_parts<Mover>(run, run.outputs[0].sizes, true);
}

template <class Mover>
void cut_parts(KernelRun& run) {
  move_parts<Mover>(run, run.inputs[0].sizes, false);
}

}  // namespace ferry::moving
