#include "kernels/cuda/image/conv.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {
namespace {

enum ConvInput : std::size_t { kImage, kFilter, kImageZero, kFilterZero };

constexpr ConvOperands kOperands{.image = kImage, .filter = kFilter, .output = 4};

void conv_integer(KernelRun& run) {
  const ConvState& state = conv_state(run);
  const Convolution conv = conv_of(run.inputs[kImage], run.inputs[kFilter], run.outputs[0], state.slide, state.groups);
  const CentredBytes image(run.inputs[kImage], run.inputs[kImageZero]);
  const CentredBytes filter(run.inputs[kFilter], run.inputs[kFilterZero]);
  multiply(run, shape_of(conv, false),
           ConvFactors<CentredBytes, CentredBytes, std::int32_t>(conv, false, reaches_of(conv, false)[0], image, filter,
                                                                 run.outputs[0].as<std::int32_t>()));
}

std::unique_ptr<KernelState> prepare_conv_integer(const KernelSetup& setup) {
  return keep_conv(setup, kOperands);
}

std::int64_t conv_integer_scratch(const KernelSetup& setup) {
  return product_scratch(shape_of(conv_of(setup, kOperands), false), sizeof(std::int32_t));
}

constexpr Kernel kConvIntegerKernels[] = {{.op = "Conv2DInteger",
                                           .run = conv_integer,
                                           .prepare = prepare_conv_integer,
                                           .scratch_bytes = conv_integer_scratch,
                                           .takes = {DType::int8, DType::uint8, DType::int32}}};

}  // namespace

std::span<const Kernel> conv_integer_kernels() {
  return kConvIntegerKernels;
}

}  // namespace ferry::cuda
