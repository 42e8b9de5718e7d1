#include "kernels/cuda/image/conv.hpp"

#include <limits>
#include <numeric>
#include <string>

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {

namespace {

/// A convolution along one dim.
struct ConvDim {
  std::int64_t image, outputs, taps;
  WindowSteps steps;
};

ConvDim rows_of(const Convolution& conv) {
  return {conv.image.rows, conv.output.rows, conv.filter.rows, conv.slide.rows};
}
ConvDim columns_of(const Convolution& conv) {
  return {conv.image.columns, conv.output.columns, conv.filter.columns, conv.slide.columns};
}

std::int64_t divided_up(std::int64_t n, std::int64_t divisor) {
  return (n + divisor - 1) / divisor;
}

/// The distance in the filter between consecutive taps that reach one position of the image.
std::int64_t tap_step(const WindowSteps& steps) {
  return steps.stride / std::gcd(steps.stride, steps.dilation);
}

/// `n` as 32 bits. All numbers of a reach fit if the dims of the padded image do.
std::int32_t narrow(std::int64_t n) {
  if (std::abs(n) > std::numeric_limits<int>::max())
    throw Error(Code::plan, "a convolution has a padded image with a dim of {}; the limit is 2147483647", std::abs(n));
  return static_cast<std::int32_t>(n);
}

/// The reach of a convolution: each output has all taps.
TapReach forward_reach(const ConvDim& dim) {
  const auto& [stride, padding, dilation] = dim.steps;
  return {.targets = narrow(dim.outputs),
          .first = 0,
          .stride = 1,
          .taps = narrow(dim.taps),
          .step = narrow(stride),
          .from = narrow(-padding),
          .from_step = narrow(dilation),
          .filter = 0,
          .filter_step = 1};
}

/// The reach of the image's gradient at positions `first`, `first` + stride, …. Its sources are the outputs that have
/// such a position under a tap.
TapReach backward_reach(const ConvDim& dim, std::int64_t first) {
  const auto& [stride, padding, dilation] = dim.steps;
  const std::int64_t step = tap_step(dim.steps);
  const auto at = [&](std::int64_t tap) { return first - dim.steps.position(0, tap); };
  std::int64_t tap = 0;
  while (tap < dim.taps && at(tap) % stride != 0) ++tap;
  return {.targets = narrow(divided_up(dim.image - first, stride)),
          .first = narrow(first),
          .stride = narrow(stride),
          .taps = narrow(divided_up(dim.taps - tap, step)),
          .step = 1,
          .from = narrow(at(tap) / stride),
          .from_step = narrow(-dilation * step / stride),
          .filter = narrow(tap),
          .filter_step = narrow(step)};
}

/// The number of reaches of the image's gradient along a dim.
std::int64_t remainders(const ConvDim& dim) {
  return std::min(dim.steps.stride, dim.image);
}

}  // namespace

std::vector<ConvReach> reaches_of(const Convolution& conv, bool backward) {
  const ConvDim rows = rows_of(conv), columns = columns_of(conv);
  if (!backward) return {{forward_reach(rows), forward_reach(columns)}};
  std::vector<ConvReach> reaches;
  for (std::int64_t r = 0; r < remainders(rows); ++r)
    for (std::int64_t c = 0; c < remainders(columns); ++c)
      reaches.emplace_back(backward_reach(rows, r), backward_reach(columns, c));
  return reaches;
}

ProductShape shape_of(const Convolution& conv, bool backward) {
  if (!backward)
    return {conv.groups, conv.out, checked_size(conv.images * conv.output.area()), checked_size(conv.depth())};
  std::int64_t positions = 1, taps = 1;
  for (const ConvDim& dim : {rows_of(conv), columns_of(conv)}) {
    positions *= divided_up(dim.image, dim.steps.stride);
    taps *= divided_up(dim.taps, tap_step(dim.steps));
  }
  return {conv.groups, conv.in, checked_size(conv.images * positions), checked_size(conv.out * taps)};
}

std::unique_ptr<KernelState> keep_conv(const KernelSetup& setup, const ConvOperands& of) {
  return std::make_unique<ConvState>(slide_here(setup, of), setup.attrs.get<std::int64_t>("groups"));
}

namespace {

void run_conv(const KernelRun& run, const Convolution& conv, bool backward) {
  dispatch_all_floats(run.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const Numbers<T> source{run.inputs[0].as<const T>()}, filter{run.inputs[1].as<const T>()};
    for (const ConvReach& reach : reaches_of(conv, backward))
      multiply(run, shape_of(conv, backward),
               ConvFactors<Numbers<T>, Numbers<T>, T>(conv, backward, reach, source, filter, run.outputs[0].as<T>()));
  });
}

std::int64_t scratch_of(const KernelSetup& setup, const Convolution& conv, DnnResult result) {
  return std::max(product_scratch(shape_of(conv, result == DnnResult::image), sum_bytes(setup)),
                  library_scratch(conv, result, setup.outputs[0].dtype));
}

// ---- The convolution ----

constexpr ConvOperands kOfConv{.image = 0, .filter = 1, .output = 2};

void conv2d(KernelRun& run) {
  ConvState& state = conv_state(run);
  const ConvArrays arrays{run.inputs[0], run.inputs[1], run.outputs[0]};
  const Convolution conv = conv_of(arrays.image, arrays.filter, arrays.output, state.slide, state.groups);
  if (!convolve_by_library(run, conv, DnnResult::output, arrays, state.by_library)) run_conv(run, conv, false);
}

std::unique_ptr<KernelState> prepare_conv(const KernelSetup& setup) {
  return keep_conv(setup, kOfConv);
}

std::int64_t conv_scratch(const KernelSetup& setup) {
  return scratch_of(setup, conv_of(setup, kOfConv), DnnResult::output);
}

// ---- The image's gradient ----

ConvOperands of_image_gradient(const KernelSetup& setup) {
  return {.image = setup.inputs.size(), .filter = 1, .output = 0};
}

void image_gradient(KernelRun& run) {
  ConvState& state = conv_state(run);
  const ConvArrays arrays{run.outputs[0], run.inputs[1], run.inputs[0]};
  const Convolution conv = conv_of(arrays.image, arrays.filter, arrays.output, state.slide, state.groups);
  if (!convolve_by_library(run, conv, DnnResult::image, arrays, state.by_library)) run_conv(run, conv, true);
}

std::unique_ptr<KernelState> prepare_image_gradient(const KernelSetup& setup) {
  return keep_conv(setup, of_image_gradient(setup));
}

std::int64_t image_gradient_scratch(const KernelSetup& setup) {
  return scratch_of(setup, conv_of(setup, of_image_gradient(setup)), DnnResult::image);
}

constexpr DTypeSet kFloatsHere = kComputed | kHalves;

constexpr Kernel kConvKernels[] = {
    {.op = "Conv2D", .run = conv2d, .prepare = prepare_conv, .scratch_bytes = conv_scratch, .takes = kFloatsHere},
    {.op = "Conv2DTranspose",
     .run = image_gradient,
     .prepare = prepare_image_gradient,
     .scratch_bytes = image_gradient_scratch,
     .takes = kFloatsHere},
    {.op = "Conv2DGradInput",
     .run = image_gradient,
     .prepare = prepare_image_gradient,
     .scratch_bytes = image_gradient_scratch,
     .takes = kFloatsHere},
};

}  // namespace

std::span<const Kernel> conv_kernels() {
  return kConvKernels;
}

}  // namespace ferry::cuda
