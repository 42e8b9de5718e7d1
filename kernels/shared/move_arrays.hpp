// Kernels that move elements by a few strided copies. Each kind of device provides a Mover, which runs the copies:
//
//     struct Mover {
//       /// Copies elements of arrays that begin at `from` and `to`.
//       static void copy(const KernelRun&, StridedCopy&, DType, const std::byte* from, std::byte* to);
//       /// Writes one element to all places that the copy would write.
//       static void fill(const KernelRun&, StridedCopy&, DType, ElementBits, std::byte* to);
//       /// Does the copy to an array `to`, and sets all other elements of `to` to one element.
//       static void place(const KernelRun&, StridedCopy&, const std::byte* from, const Array& to, ElementBits);
//     };
//
// These functions may change the copy.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/shared/element_bits.hpp"
#include "kernels/shared/state.hpp"
#include "kernels/shared/strided_copy.hpp"
#include "ops/array/array.hpp"

namespace ferry::moving {

inline std::unique_ptr<KernelState> prepare_axis(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("axis"));
}

// ---- Transpose ----

template <class Mover>
void transpose(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& perm = kept<Ints>(run);
  const Strides from = strides_of(input.sizes);
  if (output.rank() > 0) output.sizes[0] = input.sizes[dim_of(perm[0], input.rank())];
  const Strides to = strides_of(output.sizes);
  StridedCopy copy;
  for (std::size_t d = 0; d < perm.size(); ++d)
    copy.add_dim(output.sizes[d], from[dim_of(perm[d], input.rank())], to[d]);
  Mover::copy(run, copy, input.dtype, input.data, output.data);
}

inline std::unique_ptr<KernelState> prepare_transpose(const KernelSetup& setup) {
  return keep(setup.attrs.get<Ints>("perm"));
}

// ---- Broadcast ----

template <class Mover>
void broadcast(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  set_extent(run.inputs, output);
  const Strides from = strides_of(input.sizes);
  const Strides to = strides_of(output.sizes);
  const auto added = static_cast<std::size_t>(output.rank() - input.rank());
  StridedCopy copy;
  for (std::size_t d = 0; d < output.sizes.size(); ++d)
    copy.add_dim(output.sizes[d], d < added || input.sizes[d - added] == 1 ? 0 : from[d - added], to[d]);
  Mover::copy(run, copy, input.dtype, input.data, output.data);
}

// ---- Rows ----

template <class Mover>
void reshape_rows(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const std::int64_t elements = input.sizes[0] * product(input.whole, 1, input.rank());
  const std::int64_t row = product(output.whole, 1, output.rank());
  if (elements % row != 0)
    throw BadValue(0, std::to_string(input.sizes[0]) + " rows, " + std::to_string(elements) +
                          " elements, are not cut into rows of " + std::to_string(row));
  output.sizes[0] = elements / row;
  StridedCopy copy;
  copy.add_dim(input.count(), 1, 1);
  Mover::copy(run, copy, input.dtype, input.data, output.data);
}

// ---- Concat and Split ----

/// Copies all of `part` to or from `all`. `offset` is the position of `part` in `all` along `dim`, in elements.
template <class Mover>
void copy_part(const KernelRun& run, const Array& part, const Array& all, int dim, std::int64_t offset, bool to_part) {
  const Array &from = to_part ? all : part, &to = to_part ? part : all;
  StridedCopy copy = copy_of_block(part.sizes, from.sizes, to.sizes);
  (to_part ? copy.from_begin : copy.to_begin) = offset * strides_of(all.sizes)[dim];
  Mover::copy(run, copy, part.dtype, from.data, to.data);
}

template <class Mover>
void concat(KernelRun& run) {
  Array& output = run.outputs[0];
  const int dim = dim_of(kept<std::int64_t>(run), output.rank());
  output.sizes[0] = dim > 0 ? run.inputs[0].sizes[0] : 0;
  for (const Array& part : run.inputs)
    if (dim == 0) output.sizes[0] += part.sizes[0];
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const Array& part = run.inputs[i];
    if (dim > 0 && part.sizes[0] != output.sizes[0]) throw_extent_mismatch(i, output.sizes[0], part.sizes[0]);
    copy_part<Mover>(run, part, output, dim, offset, false);
    offset += part.sizes[dim];
  }
}

template <class Mover>
void split(KernelRun& run) {
  const Array& input = run.inputs[0];
  const int dim = dim_of(kept<std::int64_t>(run), input.rank());
  std::int64_t offset = 0;
  for (Array& part : run.outputs) {
    if (dim > 0) part.sizes[0] = input.sizes[0];
    copy_part<Mover>(run, part, input, dim, offset, true);
    offset += part.sizes[dim];
  }
}

// ---- Slice ----

struct SliceCut {
  Ints axes, begin, end, step;
};

inline std::unique_ptr<KernelState> prepare_slice(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  return keep(
      SliceCut{attrs.get<Ints>("axes"), attrs.get<Ints>("begin"), attrs.get<Ints>("end"), attrs.get<Ints>("step")});
}

/// The copy from `all` to `part` for a slice.
inline StridedCopy slice_copy(const SliceCut& cut, const Array& all, const Array& part) {
  Strides steps = strides_of(all.sizes);
  const Strides part_steps = strides_of(part.sizes);
  StridedCopy copy;
  for (std::size_t k = 0; k < cut.axes.size(); ++k) {
    const auto d = static_cast<std::size_t>(dim_of(cut.axes[k], all.rank()));
    copy.from_begin += slice_range(all.sizes[d], cut.begin[k], cut.end[k], cut.step[k]).first * steps[d];
    steps.of[d] *= cut.step[k];
  }
  for (std::size_t d = 0; d < part.sizes.size(); ++d) copy.add_dim(part.sizes[d], steps[d], part_steps[d]);
  return copy;
}

/// For the inverse of a slice along one dim: elements of this task's part of the slice that belong into this task's
/// part of the whole. `count` elements from index `from` go to the positions `to`, `to` + `step`, and so on.
struct UnslicedRange {
  std::int64_t from = 0, to = 0, count = 0, step = 1;
};

inline UnslicedRange unsliced_range(const SliceRange& range, std::int64_t step, const Array& slice, const Array& all,
                                    std::size_t d) {
  const std::int64_t of_slice = slice.begin.empty() ? 0 : slice.begin[d], of_all = all.begin.empty() ? 0 : all.begin[d];
  const auto up = [step](std::int64_t n) { return n <= 0 ? 0 : (n - 1) / step + 1; };
  const std::int64_t first = std::max(of_slice, up(of_all - range.first));
  const std::int64_t end = std::min(of_slice + slice.sizes[d], up(of_all + all.sizes[d] - range.first));
  if (end <= first) return {};
  return {first - of_slice, range.first + first * step - of_all, end - first, step};
}

/// The size of dim 0 of a slice of `all`.
inline std::int64_t sliced_extent(const SliceCut& cut, const Array& all) {
  for (std::size_t k = 0; k < cut.axes.size(); ++k)
    if (dim_of(cut.axes[k], all.rank()) == 0)
      return slice_range(all.sizes[0], cut.begin[k], cut.end[k], cut.step[k]).count;
  return all.sizes[0];
}

template <class Mover>
void slice(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& cut = kept<SliceCut>(run);
  if (output.rank() > 0) output.sizes[0] = sliced_extent(cut, input);
  StridedCopy copy = slice_copy(cut, input, output);
  Mover::copy(run, copy, input.dtype, input.data, output.data);
}

/// If the output is split along a dim that is cut with steps, the arrays may be parts of the dim that begin anywhere.
template <class Mover>
void unslice(KernelRun& run) {
  const Array& part = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& cut = kept<SliceCut>(run);
  // Only the extent of input 1 is used, so its part on this task may differ from the output's part.
  if (output.bounded) output.sizes[0] = run.inputs[1].sizes[0];
  std::vector<UnslicedRange> all;
  for (const std::int64_t size : part.sizes) all.push_back({.count = size});
  for (std::size_t k = 0; k < cut.axes.size(); ++k) {
    const auto d = static_cast<std::size_t>(dim_of(cut.axes[k], output.rank()));
    const SliceRange range = slice_range(output.whole[d], cut.begin[k], cut.end[k], cut.step[k]);
    all[d] = unsliced_range(range, cut.step[k], part, output, d);
  }
  const Strides steps = strides_of(output.sizes), part_steps = strides_of(part.sizes);
  StridedCopy copy;
  for (std::size_t d = 0; d < all.size(); ++d) {
    copy.from_begin += all[d].from * part_steps[d];
    copy.to_begin += all[d].to * steps[d];
    copy.add_dim(all[d].count, part_steps[d], steps[d] * all[d].step);
  }
  Mover::place(run, copy, part.data, output, 0);
}

// ---- Pad ----

struct Padding {
  Ints low;
  ElementBits value;
  bool extent_stays;
};

inline std::unique_ptr<KernelState> prepare_pad(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  const auto& low = attrs.get<Ints>("low");
  const bool stays = !low.empty() && low[0] == 0 && attrs.get<Ints>("high")[0] == 0;
  return keep(Padding{low, bits_of(setup.outputs[0].dtype, attrs.get<double>("value")), stays});
}

template <class Mover>
void pad(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& padding = kept<Padding>(run);
  if (padding.extent_stays) output.sizes[0] = input.sizes[0];
  StridedCopy copy = copy_of_block(input.sizes, input.sizes, output.sizes);
  copy.to_begin = elements_before(padding.low, output.sizes);
  Mover::place(run, copy, input.data, output, padding.value);
}

// ---- SizeOf ----

template <class Mover>
void size_of_dims(KernelRun& run) {
  const Array& input = run.inputs[0];
  const auto& axes = kept<Ints>(run);
  std::int64_t count = 1;
  for (std::int64_t axis : axes) {
    const auto dim = static_cast<std::size_t>(dim_of(axis, input.rank()));
    count *= input.bounded && dim == 0 ? input.sizes[0] : input.whole[dim];
  }
  const Array& output = run.outputs[0];
  StridedCopy one;
  Mover::fill(run, one, output.dtype, bits_of(output.dtype, count), output.data);
}

inline std::unique_ptr<KernelState> prepare_size_of(const KernelSetup& setup) {
  return keep(setup.attrs.get<Ints>("axes"));
}

// ---- Flip ----

template <class Mover>
void flip(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  if (output.rank() > 0) output.sizes[0] = input.sizes[0];
  Strides from = strides_of(input.sizes);
  const Strides to = strides_of(output.sizes);
  StridedCopy copy;
  for (std::int64_t axis : kept<Ints>(run)) {
    const auto d = static_cast<std::size_t>(dim_of(axis, input.rank()));
    if (from[d] < 0) continue;  // the attribute lists the axis twice
    copy.from_begin += (input.sizes[d] - 1) * from[d];
    from.of[d] = -from[d];
  }
  for (std::size_t d = 0; d < output.sizes.size(); ++d) copy.add_dim(output.sizes[d], from[d], to[d]);
  Mover::copy(run, copy, input.dtype, input.data, output.data);
}

inline std::unique_ptr<KernelState> prepare_flip(const KernelSetup& setup) {
  return keep(setup.attrs.get<Ints>("axes"));
}

}  // namespace ferry::moving
