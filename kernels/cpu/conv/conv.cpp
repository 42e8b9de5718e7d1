// The kernels of convolution and its gradients, and the choice of the way to compute each (conv.hpp).
#include "kernels/cpu/conv/conv.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// Whether the tasks' parts of images or outputs can begin at different rows or columns. Then the scratch must suffice
/// for all of them.
bool begins_apart(const KernelSetup& setup, const ConvOperands& of) {
  if (setup.parts.empty()) return false;
  for (const std::size_t operand : {of.image, of.output})
    for (std::size_t d = 2; d < 4; ++d)
      if (setup.parts[operand].whole[d] != type_of(setup, operand).shape[static_cast<int>(d)].size()) return true;
  return false;
}

/// The number of positions of an operand in all images of the whole value. All tasks have the same number, so all
/// choose the same way.
std::int64_t all_positions(const KernelSetup& setup, std::size_t operand) {
  const std::vector<std::int64_t> sizes = type_of(setup, operand).shape.sizes();
  const std::span<const std::int64_t> whole = setup.parts.empty() ? std::span(sizes) : setup.parts[operand].whole;
  return whole[0] * whole[2] * whole[3];
}

bool is_empty(const Convolution& conv) {
  return conv.images * conv.groups * conv.in * conv.out * conv.taps() * conv.output.area() == 0 ||
         conv.image.area() == 0;
}

void set_to_zero(const Array& array) {
  if (array.count() > 0) std::memset(array.data, 0, static_cast<std::size_t>(array.count()) * size_of(array.dtype));
}

std::int64_t element_bytes(const KernelSetup& setup) {
  return static_cast<std::int64_t>(size_of(setup.outputs[0].dtype));
}

/// Whether to compute directly: the target channels fill vectors, there are enough positions to make packing the filter
/// worthwhile, and not too many taps.
bool is_direct(const Convolution& conv, std::int64_t targets, std::int64_t positions) {
  return !is_empty(conv) && targets >= kLeastTargets && conv.taps() <= kMostTaps && positions >= 4 * kLeastTargets;
}

/// Whether to compute plane by plane: target channels depend on one source channel, and are few or have few taps.
bool is_by_planes(const Convolution& conv) {
  return !is_empty(conv) && conv.in == 1 && conv.taps() <= (conv.out < kLeastTargets ? kMostTaps : kFewTaps);
}

struct State2D {
  Slide slide;
  std::int64_t groups = 1;
  std::optional<DirectConv> direct;
  std::optional<PlaneConv> planes;
};

std::unique_ptr<KernelState> state_of(const KernelSetup& setup, const ConvOperands& of,
                                      std::optional<DirectConv> direct, void (*find_rows)(DirectConv&),
                                      std::optional<PlaneConv> planes = {}) {
  if (direct) find_rows(*direct);
  return keep(
      State2D{slide_here(setup, of), setup.attrs.get<std::int64_t>("groups"), std::move(direct), std::move(planes)});
}

using ByColumnsFn = void (*)(KernelRun&, const Convolution&);
using ByPlanesFn = void (*)(KernelRun&, const PlaneConv&);
using DirectFn = void (*)(KernelRun&, const DirectConv&);

/// Runs the way that prepare() has chosen. The number of images may differ between steps.
void run_conv(KernelRun& run, const Array& x, const Array& w, const Array& y, DirectFn directly, ByPlanesFn by_planes,
              ByColumnsFn by_columns) {
  const auto& state = kept<State2D>(run);
  const Convolution conv = conv_of(x, w, y, state.slide, state.groups);
  if (is_empty(conv)) {
    set_to_zero(run.outputs[0]);
    return finish_all(run);
  }
  if (state.direct)
    directly(run, *state.direct);
  else if (state.planes)
    by_planes(run, *state.planes);
  else
    by_columns(run, conv);
}

// ---- The convolution ----

ConvOperands of_conv(const KernelSetup& setup) {
  return {.image = 0, .filter = 1, .output = setup.inputs.size()};
}

std::optional<PlaneConv> planes_forward(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, of_conv(setup));
  return is_by_planes(conv) ? plane_convolution(conv) : std::nullopt;
}

std::optional<DirectConv> direct_conv(const KernelSetup& setup, bool packed) {
  const Convolution conv = conv_of(setup, of_conv(setup));
  if (!is_direct(conv, conv.out, all_positions(setup, of_conv(setup).output)) || planes_forward(setup))
    return std::nullopt;
  return direct_convolution(conv, packed);
}

std::optional<DirectConv> direct_forward(const KernelSetup& setup) {
  return direct_conv(setup, setup.inputs.size() == 3);
}

void conv2d(KernelRun& run) {
  run.outputs[0].sizes[0] = run.inputs[0].sizes[0];
  run_conv(run, run.inputs[0], run.inputs[1], run.outputs[0], convolve_directly, convolve_planes, convolve_by_columns);
}

std::unique_ptr<KernelState> prepare_conv(const KernelSetup& setup) {
  return state_of(setup, of_conv(setup), direct_forward(setup), find_rows_of_positions, planes_forward(setup));
}

std::int64_t conv_scratch(const KernelSetup& setup) {
  const auto direct = direct_forward(setup);
  if (direct) return direct_scratch(*direct, setup.outputs[0].dtype);
  if (planes_forward(setup)) return 0;
  const Convolution conv = conv_of(setup, of_conv(setup));
  return columns_scratch(conv, element_bytes(setup), conv.plain() && !begins_apart(setup, of_conv(setup)));
}

std::int64_t packed_elements(const KernelSetup& setup) {
  const auto direct = direct_conv(setup, true);
  return direct ? packed_filter_elements(*direct, setup.outputs[0].dtype) : 0;
}

/// Checks inputs and outputs itself, because no op definition does it for this kernel.
std::unique_ptr<KernelState> prepare_packing(const KernelSetup& setup) {
  const auto groups = setup.attrs.get<std::int64_t>("groups");
  const bool one = setup.inputs.size() == 1 && setup.outputs.size() == 1;
  const Type filter = one ? setup.inputs[0] : Type(), packed = one ? setup.outputs[0] : Type();
  const std::vector<std::int64_t> sizes = filter.shape.sizes();
  if (sizes.empty() || sizes[0] < 1 || groups < 1 || sizes[0] % groups != 0 || !is_float(filter.dtype) ||
      packed.dtype != filter.dtype || packed.shape.count() != packed_filter_elements(filter, groups))
    throw Error(Code::plan, "PackedFilter: it cannot make " + packed.str() + " of " + filter.str() + " in " +
                                std::to_string(groups) + " groups");
  return keep(groups);
}

void packed_filter(KernelRun& run) {
  pack_filter(run, kept<std::int64_t>(run));
}

// ---- The image's gradient ----

ConvOperands of_image_gradient(const KernelSetup& setup) {
  return {.image = setup.inputs.size(), .filter = 1, .output = 0};
}

std::optional<DirectConv> direct_gradient(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, of_image_gradient(setup));
  if (!is_direct(conv, conv.in, all_positions(setup, of_image_gradient(setup).image))) return std::nullopt;
  return direct_image_gradient(conv);
}

/// The image's gradient with stride 1 and one target channel of each source channel. It is the convolution of the
/// output's gradient with the filter turned by 180 degrees.
std::optional<PlaneConv> planes_gradient(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, of_image_gradient(setup));
  const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
  if (!is_by_planes(conv) || conv.out > 1 || rows.stride > 1 || columns.stride > 1) return std::nullopt;
  Convolution turned = conv;
  turned.image = conv.output;
  turned.output = conv.image;
  turned.slide.rows.padding = (conv.filter.rows - 1) * rows.dilation - rows.padding;
  turned.slide.columns.padding = (conv.filter.columns - 1) * columns.dilation - columns.padding;
  return plane_convolution(turned);
}

void image_gradient_by_planes(KernelRun& run, const PlaneConv& planes) {
  Array inputs[] = {run.inputs[0], run.inputs[1]};
  inputs[1].data = run.scratch.data();
  dispatch_floats(run.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* filter = run.inputs[1].as<const T>();
    const std::int64_t taps = planes.conv.taps();
    for (std::int64_t begin = 0; begin < run.inputs[1].count(); begin += taps)
      std::reverse_copy(filter + begin, filter + begin + taps, inputs[1].as<T>() + begin);
  });
  KernelRun turned = run;
  turned.inputs = inputs;
  convolve_planes(turned, planes);
}

void image_gradient(KernelRun& run) {
  run.outputs[0].sizes[0] = run.inputs[0].sizes[0];
  run_conv(run, run.outputs[0], run.inputs[1], run.inputs[0], convolve_directly, image_gradient_by_planes,
           image_gradient_by_columns);
}

std::unique_ptr<KernelState> prepare_image_gradient(const KernelSetup& setup) {
  return state_of(setup, of_image_gradient(setup), direct_gradient(setup), find_rows_of_positions,
                  planes_gradient(setup));
}

std::int64_t image_gradient_scratch(const KernelSetup& setup) {
  const ConvOperands of = of_image_gradient(setup);
  const Convolution conv = conv_of(setup, of);
  const auto direct = direct_gradient(setup);
  if (direct) return direct_scratch(*direct, setup.outputs[0].dtype, begins_apart(setup, of));
  if (planes_gradient(setup)) return conv.groups * conv.taps() * element_bytes(setup);
  return image_gradient_columns_scratch(conv, element_bytes(setup));
}

// ---- The filter's gradient ----

ConvOperands of_filter_gradient(const KernelSetup& setup) {
  return {.image = 1, .filter = setup.inputs.size(), .output = 0};
}

void filter_gradient(KernelRun& run) {
  run_conv(run, run.inputs[1], run.outputs[0], run.inputs[0], filter_gradient_directly, filter_gradient_by_planes,
           filter_gradient_by_columns);
}

std::optional<DirectConv> direct_filter(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, of_filter_gradient(setup));
  if (!is_direct(conv, conv.out, all_positions(setup, of_filter_gradient(setup).output))) return std::nullopt;
  return direct_filter_gradient(conv);
}

/// The filter's gradient with one target channel of each source channel, and groups enough for several threads.
std::optional<PlaneConv> planes_filter(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, of_filter_gradient(setup));
  if (!is_by_planes(conv) || conv.out > 1 || conv.groups < kScratchLanes) return std::nullopt;
  return plane_convolution(conv);
}

std::unique_ptr<KernelState> prepare_filter_gradient(const KernelSetup& setup) {
  return state_of(setup, of_filter_gradient(setup), direct_filter(setup), find_rows_of_taps, planes_filter(setup));
}

std::int64_t filter_gradient_scratch(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, of_filter_gradient(setup));
  const auto direct = direct_filter(setup);
  if (direct) return filter_gradient_direct_scratch(*direct, setup.outputs[0].dtype);
  if (planes_filter(setup)) return 0;
  return filter_gradient_columns_scratch(conv, element_bytes(setup));
}

constexpr Kernel kKernels[] = {
    {.op = "Conv2D",
     .run = conv2d,
     .prepare = prepare_conv,
     .scratch_bytes = conv_scratch,
     .finishes = true,
     .packing = {1, "PackedFilter", packed_elements}},
    {.op = "PackedFilter", .run = packed_filter, .prepare = prepare_packing},
    {.op = "Conv2DTranspose",
     .run = image_gradient,
     .prepare = prepare_image_gradient,
     .scratch_bytes = image_gradient_scratch,
     .finishes = true},
    {.op = "Conv2DGradInput",
     .run = image_gradient,
     .prepare = prepare_image_gradient,
     .scratch_bytes = image_gradient_scratch,
     .finishes = true},
    {.op = "Conv2DGradFilter",
     .run = filter_gradient,
     .prepare = prepare_filter_gradient,
     .scratch_bytes = filter_gradient_scratch},
};

}  // namespace

std::span<const Kernel> conv_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
