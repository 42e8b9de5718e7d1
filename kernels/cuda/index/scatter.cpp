#include "kernels/cuda/index/copy_rows.hpp"
#include "kernels/cuda/index/join_rows.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {
namespace {

/// place: the axis of ScatterElements, or the number of batch dims of ScatterND.
struct Scattering {
  std::int64_t place;
  How how;
};

struct Replace {
  template <class T>
  FERRY_DEVICE T operator()(T, T update) const {
    return update;
  }
};

struct SamePlace {
  FERRY_DEVICE std::int64_t operator()(std::int64_t row) const { return row; }
};

template <class Join>
void join_pairs(const KernelRun& run, const SortedPairs& pairs, std::int64_t rows, std::int64_t width) {
  dispatch_ordered(run.outputs[0].dtype,
                   [&](auto zero) { join_rows<decltype(zero), Join>(run, pairs, run.inputs[2], 1, rows, width); });
}

template <class Place>
void scatter(const KernelRun& run, const IndexedRows<Place>& places) {
  const Array &x = run.inputs[0], &output = run.outputs[0];
  if (output.data != x.data) copy_rows(run, x, output, 1, x.count(), SamePlace());
  const SortedPairs pairs = sort_pairs(run, run.scratch, places.rows, places.all, places.place);
  switch (kept<Scattering>(run).how) {
    case How::replace:
      return dispatch_sizes(output.dtype, [&](auto zero) {
        join_rows<decltype(zero), Replace>(run, pairs, run.inputs[2], 1, places.all, places.width);
      });
    case How::add:
      return join_pairs<functors::Add>(run, pairs, places.all, places.width);
    case How::multiply:
      return join_pairs<functors::Mul>(run, pairs, places.all, places.width);
    case How::largest:
      return join_pairs<functors::Maximum>(run, pairs, places.all, places.width);
    case How::smallest:
      return join_pairs<functors::Minimum>(run, pairs, places.all, places.width);
  }
}

void scatter_elements(KernelRun& run) {
  scatter(run, elements_at(run, dim_of(kept<Scattering>(run).place, run.inputs[0].rank())));
}

void scatter_blocks(KernelRun& run) {
  scatter(run, blocks_at(run, static_cast<int>(kept<Scattering>(run).place)));
}

std::unique_ptr<KernelState> prepare_scatter(const KernelSetup& setup, std::string_view place) {
  return keep(Scattering{setup.attrs.get<std::int64_t>(place), how_of(setup.attrs.get<std::string>("how"))});
}

constexpr DTypeSet kScattered = kOrdered | DTypeSet{DType::boolean};

constexpr Kernel kScatterKernels[] = {
    {.op = "ScatterElements",
     .run = scatter_elements,
     .prepare = [](const KernelSetup& setup) { return prepare_scatter(setup, "axis"); },
     .scratch_bytes = [](const KernelSetup& setup) { return bytes_to_sort(setup.inputs[1].shape.count()); },
     .in_place = 1,
     .takes = kScattered},
    {.op = "ScatterND",
     .run = scatter_blocks,
     .prepare = [](const KernelSetup& setup) { return prepare_scatter(setup, "batch_dims"); },
     .scratch_bytes =
         [](const KernelSetup& setup) {
           const Shape& indices = setup.inputs[1].shape;
           return bytes_to_sort(indices.count() / indices[indices.rank() - 1].size());
         },
     .in_place = 1,
     .takes = kScattered}};

}  // namespace

std::span<const Kernel> scatter_kernels() {
  return kScatterKernels;
}

}  // namespace ferry::cuda
