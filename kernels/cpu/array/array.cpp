// Kernels of ops that move elements (kernels/shared/move_arrays.hpp).
#include <cstring>

#include "kernels/cpu/array/mover.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/shared/move_arrays.hpp"

namespace ferry::cpu {
namespace {

/// Copies the task's part of the constant tensor to the output.
void constant(KernelRun& run) {
  const auto& value = kept<Tensor>(run);
  const Array& output = run.outputs[0];
  StridedCopy copy = copy_of_part(output);
  run_copy(run.parallel, copy, output.dtype, value.bytes().data(), output.data);
}

std::unique_ptr<KernelState> prepare_constant(const KernelSetup& setup) {
  return keep(setup.attrs.get<Tensor>("value"));
}

/// If each part is a contiguous piece of a small input, copies the pieces directly: the general kernel takes longer to
/// prepare than to copy. A recurrent layer splits such inputs in each step if the batch has one row.
void split(KernelRun& run) {
  constexpr std::int64_t kSmall = 4 * kElementGrain;
  const Array& input = run.inputs[0];
  const int dim = dim_of(kept<std::int64_t>(run), input.rank());
  if (product(input.sizes, 0, dim) != 1 || input.count() > kSmall) return moving::split<CpuMover>(run);
  const std::byte* from = input.data;
  for (Array& part : run.outputs) {
    if (dim > 0) part.sizes[0] = input.sizes[0];
    const std::size_t bytes = static_cast<std::size_t>(part.count()) * size_of(part.dtype);
    if (bytes > 0) std::memcpy(part.data, from, bytes);
    from += bytes;
  }
}

constexpr Kernel kKernels[] = {
    {.op = "Transpose", .run = moving::transpose<CpuMover>, .prepare = moving::prepare_transpose, .takes = kAnyType},
    {.op = "BroadcastTo", .run = moving::broadcast<CpuMover>, .takes = kAnyType},
    {.op = "BroadcastLike", .run = moving::broadcast<CpuMover>, .takes = kAnyType},
    {.op = "ReshapeRows", .run = moving::reshape_rows<CpuMover>, .takes = kAnyType},
    {.op = "Concat", .run = moving::concat<CpuMover>, .prepare = moving::prepare_axis, .takes = kAnyType},
    {.op = "Split", .run = split, .prepare = moving::prepare_axis, .takes = kAnyType},
    {.op = "Slice", .run = moving::slice<CpuMover>, .prepare = moving::prepare_slice, .takes = kAnyType},
    {.op = "Unslice", .run = moving::unslice<CpuMover>, .prepare = moving::prepare_slice, .takes = kAnyType},
    {.op = "Pad", .run = moving::pad<CpuMover>, .prepare = moving::prepare_pad, .takes = kAnyType},
    {.op = "Constant", .run = constant, .prepare = prepare_constant, .takes = kAnyType},
    {.op = "SizeOf", .run = moving::size_of_dims<CpuMover>, .prepare = moving::prepare_size_of, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> array_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
