#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/index/copy_rows.hpp"
#include "kernels/cuda/index/join_rows.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {
namespace {

struct NoPlace {
  FERRY_DEVICE std::int64_t operator()(std::int64_t) const { return kNowhere; }
};

void scatter_add(KernelRun& run) {
  const Array &y = run.inputs[0], &indices = run.inputs[1], &output = run.outputs[0];
  const int axis = dim_of(kept<std::int64_t>(run), output.rank());
  const std::int64_t before = product(output.sizes, 0, axis), rows = output.sizes[axis];
  const std::int64_t width = product(output.sizes, axis + 1, output.rank()), taken = indices.count();
  copy_rows(run, output, output, 1, output.count(), NoPlace());  // zeros
  const SortedPairs pairs =
      sort_pairs(run, run.scratch, taken, rows, RowsAlongAxis{Integers(indices), taken, rows, report_of(run)});
  dispatch_all_numbers(
      output.dtype, [&](auto zero) { join_rows<decltype(zero), functors::Add>(run, pairs, y, before, rows, width); });
}

std::unique_ptr<KernelState> prepare_scatter_add(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("axis"));
}

constexpr Kernel kScatterAddKernels[] = {
    {.op = "ScatterAdd",
     .run = scatter_add,
     .prepare = prepare_scatter_add,
     .scratch_bytes = [](const KernelSetup& setup) { return bytes_to_sort(setup.inputs[1].shape.count()); },
     .takes = kComputed | kHalves}};

}  // namespace

std::span<const Kernel> scatter_add_kernels() {
  return kScatterAddKernels;
}

}  // namespace ferry::cuda
