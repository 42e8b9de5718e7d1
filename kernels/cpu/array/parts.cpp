// Kernels of the ops of ops/control/comm.hpp that cut parts out of whole values, and join parts to whole values.
#include <cstring>

#include "kernels/cpu/array/mover.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/shared/move_parts.hpp"

namespace ferry::cpu {
namespace {

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
  moving::limit(y, *run.inputs[1].as<const std::int64_t>() - y.begin[0]);
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
    {.op = "TakePart", .run = moving::take_part<CpuMover>, .takes = kAnyType},
    {.op = "JoinParts", .run = moving::join_parts<CpuMover>, .prepare = moving::prepare_parts, .takes = kAnyType},
    {.op = "CutParts", .run = moving::cut_parts<CpuMover>, .prepare = moving::prepare_parts, .takes = kAnyType},
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
