#include "kernels/cuda/image/conv.hpp"

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/state.hpp"

namespace ferry::cuda {

ProductShape shape_of(const Convolution& conv, bool backward) {
  ProductShape shape{.count = conv.groups, .m = conv.out, .n = conv.images * conv.output.area(), .k = conv.depth()};
  if (backward) {
    const auto each = [](std::int64_t all, std::int64_t step) { return (all + step - 1) / step; };
    const WindowSteps &rows = conv.slide.rows, &columns = conv.slide.columns;
    shape.count *= std::min(rows.stride, conv.image.rows) * std::min(columns.stride, conv.image.columns);
    shape.m = conv.in;
    shape.n = conv.images * each(conv.image.rows, rows.stride) * each(conv.image.columns, columns.stride);
    shape.k = conv.out * each(conv.filter.rows, rows.stride / std::gcd(rows.stride, rows.dilation)) *
              each(conv.filter.columns, columns.stride / std::gcd(columns.stride, columns.dilation));
  }
  shape.n = checked_size(shape.n);
  shape.k = checked_size(shape.k);
  return shape;
}

std::unique_ptr<KernelState> keep_conv(const KernelSetup& setup, const ConvOperands& of) {
  return keep(ConvState{slide_here(setup, of), setup.attrs.get<std::int64_t>("groups")});
}

namespace {

void run_conv(const KernelRun& run, const Convolution& conv, bool backward) {
  dispatch_all_floats(run.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const Numbers<T> source{run.inputs[0].as<const T>()}, filter{run.inputs[1].as<const T>()};
    multiply(run, shape_of(conv, backward),
             ConvFactors<Numbers<T>, Numbers<T>, T>(conv, backward, source, filter, run.outputs[0].as<T>()));
  });
}

std::size_t sum_bytes(const KernelSetup& setup) {
  return setup.outputs[0].dtype == DType::float64 ? sizeof(double) : sizeof(float);
}

// ---- The convolution ----

constexpr ConvOperands kOfConv{.image = 0, .filter = 1, .output = 2};

void conv2d(KernelRun& run) {
  const auto& state = kept<ConvState>(run);
  run_conv(run, conv_of(run.inputs[0], run.inputs[1], run.outputs[0], state.slide, state.groups), false);
}

std::unique_ptr<KernelState> prepare_conv(const KernelSetup& setup) {
  return keep_conv(setup, kOfConv);
}

std::int64_t conv_scratch(const KernelSetup& setup) {
  return product_scratch(shape_of(conv_of(setup, kOfConv), false), sum_bytes(setup));
}

// ---- The image's gradient ----

ConvOperands of_image_gradient(const KernelSetup& setup) {
  return {.image = setup.inputs.size(), .filter = 1, .output = 0};
}

void image_gradient(KernelRun& run) {
  const auto& state = kept<ConvState>(run);
  run_conv(run, conv_of(run.outputs[0], run.inputs[1], run.inputs[0], state.slide, state.groups), true);
}

std::unique_ptr<KernelState> prepare_image_gradient(const KernelSetup& setup) {
  return keep_conv(setup, of_image_gradient(setup));
}

std::int64_t image_gradient_scratch(const KernelSetup& setup) {
  return product_scratch(shape_of(conv_of(setup, of_image_gradient(setup)), true), sum_bytes(setup));
}

constexpr DTypeSet kFloatsHere = kComputed | kHalves;

constexpr Kernel kKernels[] = {
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
  return kKernels;
}

}  // namespace ferry::cuda
