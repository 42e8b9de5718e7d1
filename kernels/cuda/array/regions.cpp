#include "kernels/shared/regions.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {
namespace {

struct CheckImages {
  FERRY_DEVICE void operator()(std::int64_t r) const {
    if (images[r] < 0 || images[r] >= count) report(Bad::image, 2, images[r], count, first + r);
  }
  const std::int64_t* images;
  std::int64_t count;
  std::int64_t first;  ///< number of the first region of this part
  BadReport report;
};

template <class T>
struct AlignRegions {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t q = i % across, p = i / across % down;
    const std::int64_t plane = i / across / down, r = plane / channels, c = plane % channels;
    const T* const region = regions + r * 4;
    const RegionSide<T> rows(region[1], region[3], down, height, cut),
        columns(region[0], region[2], across, width, cut);
    const std::int64_t n = images[r];
    if (!rows.finite() || !columns.finite())
      out[i] = std::numeric_limits<T>::quiet_NaN();
    else if (n < 0 || n >= count)
      out[i] = T(0);  // a bad value, which has been reported
    else
      out[i] = part_of_region(x + (n * channels + c) * height * width, width, rows, columns, p, q, cut.largest);
  }
  const T* x;
  const T* regions;
  const std::int64_t* images;
  T* out;
  std::int64_t count, channels, height, width;  ///< of x
  std::int64_t down, across;                    ///< parts of a region
  RegionCut cut;
};

template <class T>
void align(const KernelRun& run) {
  const Array &x = run.inputs[0], &regions = run.inputs[1], &y = run.outputs[0];
  const auto* const images = run.inputs[2].as<const std::int64_t>();
  for_each(run, regions.sizes[0], CheckImages{images, x.sizes[0], first_number(run.inputs[2]), report_of(run)});
  for_each(run, y.count(),
           AlignRegions<T>{x.as<const T>(), regions.as<const T>(), images, y.as<T>(), x.sizes[0], x.sizes[1],
                           x.sizes[2], x.sizes[3], y.sizes[2], y.sizes[3], kept<RegionCut>(run)});
}

void roi_align(KernelRun& run) {
  dispatch_floats(run.inputs[0].dtype, [&](auto zero) { align<decltype(zero)>(run); });
}

constexpr Kernel kRegionsKernels[] = {{.op = "RoiAlign", .run = roi_align, .prepare = prepare_regions}};

}  // namespace

std::span<const Kernel> region_kernels() {
  return kRegionsKernels;
}

}  // namespace ferry::cuda
