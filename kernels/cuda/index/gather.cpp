#include "kernels/cuda/index/copy_rows.hpp"
#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {
namespace {

void gather(KernelRun& run) {
  const Array &x = run.inputs[0], &indices = run.inputs[1];
  const int axis = dim_of(kept<std::int64_t>(run), x.rank());
  const std::int64_t before = product(x.sizes, 0, axis), taken = indices.count();
  const RowsAlongAxis place{Integers(indices), taken, x.sizes[axis], report_of(run)};
  copy_rows(run, x, run.outputs[0], before * taken, product(x.sizes, axis + 1, x.rank()), place);
}

void gather_elements(KernelRun& run) {
  copy_rows(run, elements_at(run, dim_of(kept<std::int64_t>(run), run.inputs[0].rank())));
}

void gather_blocks(KernelRun& run) {
  copy_rows(run, blocks_at(run, static_cast<int>(kept<std::int64_t>(run))));
}

std::unique_ptr<KernelState> prepare_gather(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("axis"));
}
std::unique_ptr<KernelState> prepare_batch_dims(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("batch_dims"));
}

constexpr Kernel kGatherKernels[] = {
    {.op = "Gather", .run = gather, .prepare = prepare_gather, .takes = kAnyType},
    {.op = "GatherElements", .run = gather_elements, .prepare = prepare_gather, .takes = kAnyType},
    {.op = "GatherND", .run = gather_blocks, .prepare = prepare_batch_dims, .takes = kAnyType}};

}  // namespace

std::span<const Kernel> gather_kernels() {
  return kGatherKernels;
}

}  // namespace ferry::cuda
