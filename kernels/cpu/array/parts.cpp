// The ops of ops/control/comm.hpp: parts of split values, cut out of the whole and put together again.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/array/strided.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/state.hpp"

namespace ferry::cpu {
namespace {

/// Sets the extent of y, clamped to between 0 and its bound, which y.sizes[0] still holds.
void limit(Array& y, std::int64_t extent) {
  y.sizes[0] = std::clamp<std::int64_t>(extent, 0, y.sizes[0]);
}

/// TakePart: copies the part of x that is y's window.
void take_part(KernelRun& run) {
  const Array& x = run.inputs[0];
  Array& y = run.outputs[0];
  if (y.bounded) limit(y, x.sizes[0] - (y.begin[0] - x.begin[0]));
  StridedCopy copy = copy_of_block(y.sizes, x.sizes, y.sizes);
  copy.from_begin = elements_before(y.begin, x.sizes) - elements_before(x.begin, x.sizes);
  copy.run(run.parallel, x.dtype, x.data, y.data);
}

struct Parts {
  std::size_t dim;
  std::int64_t count;
};

std::unique_ptr<KernelState> prepare_parts(const KernelSetup& setup) {
  return keep(
      Parts{static_cast<std::size_t>(setup.attrs.get<std::int64_t>("dim")), setup.attrs.get<std::int64_t>("parts")});
}

/// Copies part by part between a whole array of `sizes` and its parts, which lie one after another.
void move_parts(KernelRun& run, std::span<const std::int64_t> sizes, bool join) {
  const Parts& parts = kept<Parts>(run);
  const Array& x = run.inputs[0];
  const Array& y = run.outputs[0];
  const Steps whole = steps_of(sizes);
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
    copy.run(run.parallel, x.dtype, x.data, y.data);
    listed += rows * part_row;
  }
}

std::size_t bytes_of(const Array& array) {
  return static_cast<std::size_t>(array.count()) * size_of(array.dtype);
}

void fill_bound(KernelRun& run) {
  const std::size_t bytes = bytes_of(run.inputs[0]), all = bytes_of(run.outputs[0]);
  if (bytes > 0) std::memcpy(run.outputs[0].data, run.inputs[0].data, bytes);
  if (all > bytes) std::memset(run.outputs[0].data + bytes, 0, all - bytes);
}

void extent_of(KernelRun& run) {
  *run.outputs[0].as<std::int64_t>() = run.inputs[0].sizes[0];
}

void with_extent(KernelRun& run) {
  Array& y = run.outputs[0];
  limit(y, *run.inputs[1].as<const std::int64_t>() - y.begin[0]);
  if (const std::size_t bytes = bytes_of(y); bytes > 0) std::memcpy(y.data, run.inputs[0].data, bytes);
}

void add_up(KernelRun& run) {
  const Array& y = run.outputs[0];
  dispatch_numbers(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const out = run.outputs[0].as<T>();
    const std::int64_t count = y.count();
    for (std::int64_t i = 0; i < count; ++i) {
      T total = run.inputs[0].as<const T>()[i];
      for (std::size_t k = 1; k < run.inputs.size(); ++k) total += run.inputs[k].as<const T>()[i];
      out[i] = total;
    }
  });
}

constexpr Kernel kKernels[] = {
    {.op = "TakePart", .run = take_part, .takes = kAnyType},
    {.op = "JoinParts",
     .run = [](KernelRun& run) { move_parts(run, run.outputs[0].sizes, true); },
     .prepare = prepare_parts,
     .takes = kAnyType},
    {.op = "CutParts",
     .run = [](KernelRun& run) { move_parts(run, run.inputs[0].sizes, false); },
     .prepare = prepare_parts,
     .takes = kAnyType},
    {.op = "FillBound", .run = fill_bound, .takes = kAnyType},
    {.op = "ExtentOf", .run = extent_of, .takes = kAnyType},
    {.op = "WithExtent", .run = with_extent, .takes = kAnyType},
    {.op = "AddUp", .run = add_up},
};

}  // namespace

std::span<const Kernel> parts_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
