#include "kernels/shared/regions.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

template <class T>
void align(KernelRun& run, const RegionCut& cut) {
  const Array &x = run.inputs[0], &regions = run.inputs[1];
  const Array& y = run.outputs[0];
  const auto* images = run.inputs[2].as<const std::int64_t>();
  const std::int64_t channels = x.sizes[1], height = x.sizes[2], width = x.sizes[3];
  const std::int64_t parts[] = {y.sizes[2], y.sizes[3]};
  for (std::int64_t r = 0; r < regions.sizes[0]; ++r)
    if (images[r] < 0 || images[r] >= x.sizes[0])
      throw bad_image(2, first_number(run.inputs[2]) + r, images[r], x.sizes[0]);
  run.parallel.for_each(regions.sizes[0] * channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t r = i / channels, c = i % channels;
      const T* region = regions.as<const T>() + r * 4;
      const RegionSide<T> rows(region[1], region[3], parts[0], height, cut),
          columns(region[0], region[2], parts[1], width, cut);
      const T* image = x.as<const T>() + (images[r] * channels + c) * height * width;
      T* out = y.as<T>() + i * parts[0] * parts[1];
      const bool finite = rows.finite() && columns.finite();
      for (std::int64_t k = 0; k < parts[0] * parts[1]; ++k)
        out[k] = finite ? part_of_region(image, width, rows, columns, k / parts[1], k % parts[1], cut.largest)
                        : std::numeric_limits<T>::quiet_NaN();
    }
  });
}

void roi_align(KernelRun& run) {
  run.outputs[0].sizes[0] = run.inputs[1].sizes[0];
  dispatch_floats(run.inputs[0].dtype, [&](auto zero) { align<decltype(zero)>(run, kept<RegionCut>(run)); });
}

constexpr Kernel kKernels[] = {{.op = "RoiAlign", .run = roi_align, .prepare = prepare_regions}};

}  // namespace

std::span<const Kernel> region_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
