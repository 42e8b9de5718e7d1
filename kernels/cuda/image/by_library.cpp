#include "kernels/cuda/image/by_library.hpp"

#include <algorithm>
#include <bit>

#include "kernels/cuda/workspace.hpp"

namespace ferry::cuda {
namespace {

constexpr std::uintptr_t kArraysAligned = 16;  // a larger alignment makes no plan faster

/// An array in row-major order, which all arrays of ferry have.
DnnArray row_by_row(std::int64_t images, std::int64_t channels, const Plane& plane) {
  return {{images, channels, plane.rows, plane.columns}, {channels * plane.area(), plane.area(), plane.columns, 1}};
}

/// The padding behind the image's last row or column that gives `outputs` outputs; nothing if it would be negative.
/// Several paddings may do. The function takes the padding in front if possible, because the library has more plans for
/// equal paddings.
std::optional<std::int64_t> padding_after(const WindowSteps& steps, std::int64_t image, std::int64_t taps,
                                          std::int64_t outputs) {
  const std::int64_t least = steps.position(outputs - 1, taps - 1) + 1 - image;
  const std::int64_t most = least + steps.stride - 1;
  if (most < 0) return {};
  return std::clamp(steps.padding, std::max<std::int64_t>(least, 0), most);
}

/// The number of elements of all three arrays, with channels rounded up to a multiple of 8, as tensor cores need them.
std::int64_t elements_for_tensor_cores(const Convolution& conv) {
  const auto filled = [](std::int64_t channels) { return (channels + 7) / 8 * 8; };
  const std::int64_t in = filled(conv.groups * conv.in), out = filled(conv.groups * conv.out);
  return conv.images * (in * conv.image.area() + out * conv.output.area()) + out * filled(conv.in) * conv.taps();
}

}  // namespace

std::optional<DnnConvolution> for_library(const Convolution& conv, DnnResult result, DType dtype) {
  const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
  for (const std::int64_t size : {conv.images, conv.image.area(), conv.output.area(), conv.out, conv.depth()})
    if (size == 0) return {};
  if (rows.padding < 0 || columns.padding < 0) return {};
  const auto below = padding_after(rows, conv.image.rows, conv.filter.rows, conv.output.rows);
  const auto right = padding_after(columns, conv.image.columns, conv.filter.columns, conv.output.columns);
  if (!below || !right) return {};
  return DnnConvolution{.result = result,
                        .dtype = dtype,
                        .image = row_by_row(conv.images, conv.groups * conv.in, conv.image),
                        .filter = row_by_row(conv.groups * conv.out, conv.in, conv.filter),
                        .output = row_by_row(conv.images, conv.groups * conv.out, conv.output),
                        .strides = {rows.stride, columns.stride},
                        .dilations = {rows.dilation, columns.dilation},
                        .before = {rows.padding, columns.padding},
                        .after = {*below, *right}};
}

std::int64_t workspace_bytes(const Convolution& conv, DnnResult result, DType dtype) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 20, kMostOfFilter = std::int64_t{128} << 20;
  const std::int64_t bytes = elements_for_tensor_cores(conv) * static_cast<std::int64_t>(size_of(dtype));
  // On tensor cores, the channels of a position must be consecutive. The library first copies the arrays to this order.
  if (size_of(dtype) == 2) return 8 * kLeast + bytes;
  return kLeast + (result == DnnResult::filter ? std::min(bytes, kMostOfFilter) : 0);
}

std::int64_t library_scratch(const Convolution& conv, DnnResult result, DType dtype) {
  return scratch_for_workspace(workspace_bytes(conv, result, dtype));
}

bool convolve_by_library(const KernelRun& run, const Convolution& conv, DnnResult result, const ConvArrays& arrays,
                         ConvByLibrary& kept) {
  if (!why_no_dnn().empty()) return false;
  const DType dtype = arrays.image.dtype;
  const auto convolution = for_library(conv, result, dtype);
  if (!convolution) return false;
  const std::span<std::byte> workspace = workspace_in(run, workspace_bytes(conv, result, dtype));
  std::uintptr_t addresses = kArraysAligned;
  for (const Array* array : {&arrays.image, &arrays.filter, &arrays.output})
    addresses |= reinterpret_cast<std::uintptr_t>(array->data);
  const std::uint32_t alignment = 1U << std::countr_zero(addresses);
  if (kept.alignment == 0 || alignment < kept.alignment) {
    kept.plan = choose_plan(*convolution, alignment, workspace.size());
    kept.alignment = alignment;
  }
  if (kept.plan == nullptr) return false;
  convolve(run, *kept.plan, arrays.image.data, arrays.filter.data, arrays.output.data, workspace);
  return true;
}

}  // namespace ferry::cuda
