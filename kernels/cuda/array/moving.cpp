// Kernels that move elements. They are the CPU's kernels, except that copies run on the device.
#include "kernels/cuda/array/mover.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/shared/move_arrays.hpp"
#include "kernels/shared/move_parts.hpp"
#include "kernels/shared/move_windows.hpp"

namespace ferry::cuda {
namespace {

/// The part of `whole` that begins at `begin` and has the given sizes.
Tensor part_of(const Tensor& whole, std::span<const std::int64_t> begin, std::vector<std::int64_t> sizes) {
  StridedCopy copy = copy_of_block(sizes, whole.sizes(), sizes);
  copy.from_begin = elements_before(begin, whole.sizes());
  Tensor part(whole.dtype(), std::move(sizes));
  const std::size_t bytes = size_of(whole.dtype());
  std::byte* to = part.mutable_bytes().data();
  const auto copy_row = [&](auto& self, int dim, std::int64_t from) -> void {
    const auto d = static_cast<std::size_t>(dim);
    const bool is_element = dim == copy.nest.dims;
    if (is_element || (dim + 1 == copy.nest.dims && copy.nest.steps[0][d] == 1)) {
      const std::size_t row = bytes * static_cast<std::size_t>(is_element ? 1 : copy.nest.sizes[d]);
      std::memcpy(to, whole.bytes().data() + static_cast<std::size_t>(from) * bytes, row);
      to += row;
      return;
    }
    for (std::int64_t i = 0; i < copy.nest.sizes[d]; ++i) self(self, dim + 1, from + i * copy.nest.steps[0][d]);
  };
  if (copy.count > 0) copy_row(copy_row, 0, copy.from_begin);
  return part;
}

std::unique_ptr<KernelState> prepare_constant(const KernelSetup& setup) {
  const auto& value = setup.attrs.get<Tensor>("value");
  if (setup.parts.empty()) return keep(value);
  return keep(part_of(value, setup.parts[0].begin, setup.outputs[0].shape.sizes()));
}

void constant(KernelRun& run) {
  const std::span<const std::byte> bytes = kept<Tensor>(run).bytes();
  copy_bytes(run, run.outputs[0].data, bytes.data(), bytes.size());
}

constexpr Kernel kMovingKernels[] = {
    {.op = "Transpose", .run = moving::transpose<CudaMover>, .prepare = moving::prepare_transpose, .takes = kAnyType},
    {.op = "BroadcastTo", .run = moving::broadcast<CudaMover>, .takes = kAnyType},
    {.op = "BroadcastLike", .run = moving::broadcast<CudaMover>, .takes = kAnyType},
    {.op = "ReshapeRows", .run = moving::reshape_rows<CudaMover>, .takes = kAnyType},
    {.op = "Concat", .run = moving::concat<CudaMover>, .prepare = moving::prepare_axis, .takes = kAnyType},
    {.op = "Split", .run = moving::split<CudaMover>, .prepare = moving::prepare_axis, .takes = kAnyType},
    {.op = "Slice", .run = moving::slice<CudaMover>, .prepare = moving::prepare_slice, .takes = kAnyType},
    {.op = "Unslice", .run = moving::unslice<CudaMover>, .prepare = moving::prepare_slice, .takes = kAnyType},
    {.op = "Pad", .run = moving::pad<CudaMover>, .prepare = moving::prepare_pad, .takes = kAnyType},
    {.op = "Flip", .run = moving::flip<CudaMover>, .prepare = moving::prepare_flip, .takes = kAnyType},
    {.op = "SizeOf", .run = moving::size_of_dims<CudaMover>, .prepare = moving::prepare_size_of, .takes = kAnyType},
    {.op = "Constant", .run = constant, .prepare = prepare_constant, .takes = kAnyType},
    {.op = "TakePart", .run = moving::take_part<CudaMover>, .takes = kAnyType},
    {.op = "JoinParts", .run = moving::join_parts<CudaMover>, .prepare = moving::prepare_parts, .takes = kAnyType},
    {.op = "CutParts", .run = moving::cut_parts<CudaMover>, .prepare = moving::prepare_parts, .takes = kAnyType},
    {.op = "CutHalo", .run = moving::cut_halo<CudaMover>, .prepare = moving::prepare_halo, .takes = kAnyType},
    {.op = "Window", .run = moving::window<CudaMover>, .prepare = moving::prepare_window, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> moving_kernels() {
  return kMovingKernels;
}

}  // namespace ferry::cuda
