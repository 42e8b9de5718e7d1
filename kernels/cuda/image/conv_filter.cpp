// The gradient of a convolution's filter. Each element is a sum over all positions of all images: the gradient of the
// output times the image's element under the tap.
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/image/conv.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {
namespace {

/// Factors of multiply(): one product for each group.
template <class T>
class FilterGradient {
 public:
  using Sum = typename Computed<T>::type;

  FilterGradient(const Convolution& conv, const T* output_gradient, const T* images, T* filter_gradient)
      : dy_(output_gradient),
        x_(images),
        dw_(filter_gradient),
        conv_(conv),
        by_taps_(ConvReach::divider(conv.taps())),
        by_tap_columns_(ConvReach::divider(conv.filter.columns)),
        by_positions_(ConvReach::divider(conv.output.area())),
        by_columns_(ConvReach::divider(conv.output.columns)) {}

  /// One tap over one channel of all images.
  struct Tap {
    const T* channel;
    std::int64_t row, column;  ///< the element under the tap at the first position
  };
  /// The filter's elements at one tap, for all output channels.
  struct Column {
    FERRY_DEVICE void store(Index i, Sum sum) const { to[i * step] = stored_as<T>(sum); }
    T* to;
    std::int64_t step;
  };

  struct One {
    [[nodiscard]] FERRY_DEVICE static bool left_along_k() { return true; }
    [[nodiscard]] FERRY_DEVICE static bool right_along_k() { return true; }
    [[nodiscard]] FERRY_DEVICE const T* left(Index i) const {
      return all.dy_ + (group * all.conv_.out + i) * all.conv_.output.area();
    }
    [[nodiscard]] FERRY_DEVICE Sum left_at(const T* channel, Index p) const {
      const Index image = all.by_positions_.quotient(p), position = all.by_positions_.remainder(p, image);
      return load(channel[image * all.conv_.groups * all.conv_.out * all.conv_.output.area() + position]);
    }
    [[nodiscard]] FERRY_DEVICE Tap right(Index j) const {
      const Convolution& conv = all.conv_;
      const Index channel = all.by_taps_.quotient(j), tap = all.by_taps_.remainder(j, channel);
      const Index row = all.by_tap_columns_.quotient(tap), column = all.by_tap_columns_.remainder(tap, row);
      return {all.x_ + (group * conv.in + channel) * conv.image.area(), conv.slide.rows.position(0, row),
              conv.slide.columns.position(0, column)};
    }
    [[nodiscard]] FERRY_DEVICE Sum right_at(const Tap& tap, Index p) const {
      const Convolution& conv = all.conv_;
      const Index image = all.by_positions_.quotient(p), position = all.by_positions_.remainder(p, image);
      const Index r = all.by_columns_.quotient(position), c = all.by_columns_.remainder(position, r);
      const std::int64_t row = tap.row + r * conv.slide.rows.stride;
      const std::int64_t column = tap.column + c * conv.slide.columns.stride;
      if (row < 0 || row >= conv.image.rows || column < 0 || column >= conv.image.columns) return Sum(0);
      return load(tap.channel[image * conv.groups * conv.in * conv.image.area() + row * conv.image.columns + column]);
    }
    [[nodiscard]] FERRY_DEVICE Column column(Index j) const { return {all.dw_ + group * all.conv_.out * n + j, n}; }

    const FilterGradient& all;
    Index m, n, k;
    std::int64_t group;
  };

  [[nodiscard]] FERRY_DEVICE One one(std::int64_t group) const {
    return {*this, static_cast<Index>(conv_.out), static_cast<Index>(conv_.depth()),
            static_cast<Index>(conv_.images * conv_.output.area()), group};
  }

 private:
  const T *dy_, *x_;
  T* dw_;
  Convolution conv_;
  Divider by_taps_, by_tap_columns_, by_positions_, by_columns_;
};

ConvOperands operands(const KernelSetup& setup) {
  return {.image = 1, .filter = setup.inputs.size(), .output = 0};
}

ProductShape filter_shape(const Convolution& conv) {
  return {conv.groups, conv.out, conv.depth(), checked_size(conv.images * conv.output.area()), true};
}

void filter_gradient(KernelRun& run) {
  ConvState& state = conv_state(run);
  const Convolution conv = conv_of(run.inputs[1], run.outputs[0], run.inputs[0], state.slide, state.groups);
  const ConvArrays arrays{run.inputs[1], run.outputs[0], run.inputs[0]};
  if (convolve_by_library(run, conv, DnnResult::filter, arrays, state.by_library)) return;
  dispatch_all_floats(run.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    multiply(run, filter_shape(conv),
             FilterGradient<T>(conv, run.inputs[0].as<const T>(), run.inputs[1].as<const T>(), run.outputs[0].as<T>()));
  });
}

std::unique_ptr<KernelState> prepare_filter(const KernelSetup& setup) {
  return keep_conv(setup, operands(setup));
}

std::int64_t filter_scratch(const KernelSetup& setup) {
  const Convolution conv = conv_of(setup, operands(setup));
  return std::max(product_scratch(filter_shape(conv), sum_bytes(setup)),
                  library_scratch(conv, DnnResult::filter, setup.outputs[0].dtype));
}

constexpr Kernel kConvFilterKernels[] = {{.op = "Conv2DGradFilter",
                                          .run = filter_gradient,
                                          .prepare = prepare_filter,
                                          .scratch_bytes = filter_scratch,
                                          .takes = kComputed | kHalves}};

}  // namespace

std::span<const Kernel> conv_filter_kernels() {
  return kConvFilterKernels;
}

}  // namespace ferry::cuda
