// Softmax and related ops. Several threads share a line: they find its largest element, then the sum of
// exp(x - largest).
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/rows/tiling.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {
namespace {

/// The elements of a line on which a thread works.
template <class T>
struct Lane {
  using C = typename Computed<T>::type;

  FERRY_DEVICE Lane(const Tiling& tiling, const Spot& spot, const T* in)
      : line(in + (spot.inside ? tiling.first(spot) : 0)),
        step(tiling.inner),
        begin(spot.lane),
        end(spot.inside ? tiling.along : 0),
        lanes(tiling.lanes()) {}
  [[nodiscard]] FERRY_DEVICE C operator[](std::int64_t i) const { return load(line[i * step]); }
  /// Calls f(i) for each of them.
  template <class F>
  FERRY_DEVICE void each(const F& f) const {
    for (std::int64_t i = begin; i < end; i += lanes) f(i);
  }

  const T* line;
  std::int64_t step, begin, end, lanes;
};

/// The totals of a whole line.
template <class C>
struct Totals {
  C top;  ///< the largest element
  C sum;  ///< of exp(x - top)
};

/// All threads of the block must call it.
template <class T, class C = typename Computed<T>::type>
FERRY_DEVICE Totals<C> totals_of(const Block& block, const Tiling& tiling, const Lane<T>& lane, C* room) {
  const int number = static_cast<int>(lane.begin);
  const functors::Maximum larger;
  C top = fold_strided(
      lane.begin, lane.end, lane.lanes, -math::kInf<C>, [&](std::int64_t i) { return lane[i]; }, larger);
  top = join_lanes(block, tiling, number, top, room, larger);
  const functors::Add add;
  const C sum = fold_strided(
      lane.begin, lane.end, lane.lanes, C(0), [&](std::int64_t i) { return math::exp(lane[i] - top); }, add);
  return {top, join_lanes(block, tiling, number, sum, room, add)};
}

template <class T, bool log>
struct SoftmaxLines {
  using C = typename Computed<T>::type;
  struct Shared {
    C room[kThreads];
  };

  FERRY_DEVICE void operator()(std::int64_t tile, const Block& block, Shared& shared) const {
    const Spot spot = tiling.spot(tile, block.thread());
    const Lane<T> lane(tiling, spot, in);
    const Totals<C> totals = totals_of(block, tiling, lane, shared.room);
    if (!spot.inside) return;
    T* const to = out + tiling.first(spot);
    const C factor = log ? math::log(totals.sum) : C(1) / totals.sum;
    lane.each([&](std::int64_t i) {
      const C above = lane[i] - totals.top;
      to[i * lane.step] = stored_as<T>(log ? above - factor : math::exp(above) * factor);
    });
  }

  Tiling tiling;
  const T* in;
  T* out;
};

constexpr std::int64_t kSerial = 16;  // about the number of elements of a line for each of its threads

std::unique_ptr<KernelState> prepare_softmax(const KernelSetup& setup) {
  return keep(tiling_of(pass_along_axis(setup), kSerial));
}

template <bool log>
void along_axis(KernelRun& run) {
  const Array &input = run.inputs[0], &output = run.outputs[0];
  const auto& tiling = kept<Tiling>(run);
  dispatch_all_floats(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_block(run, tiling.tiles(), SoftmaxLines<T, log>{tiling, input.as<const T>(), output.as<T>()});
  });
}

// ---- Cross-entropy: rows along the last dim, a label for each ----

/// Labels of dtype uint8, int32 or int64.
struct Labels {
  static constexpr std::int64_t kBad = -1;

  /// The label of `row`, or kBad if it is out of range. `reports`: also reports a label out of range as a bad value.
  [[nodiscard]] FERRY_DEVICE std::int64_t operator()(std::int64_t row, std::int64_t classes, bool reports) const {
    const std::int64_t label = at(row);
    if (label >= 0 && label < classes) return label;
    if (reports) report(Bad::label, input, label, classes);
    return kBad;
  }

  const std::byte* data;
  DType dtype;
  std::int64_t input;  ///< number of the kernel's input
  BadReport report;

 private:
  [[nodiscard]] FERRY_DEVICE std::int64_t at(std::int64_t row) const {
    if (dtype == DType::uint8) return reinterpret_cast<const std::uint8_t*>(data)[row];
    if (dtype == DType::int32) return reinterpret_cast<const std::int32_t*>(data)[row];
    return reinterpret_cast<const std::int64_t*>(data)[row];
  }
};

Labels labels_of(const KernelRun& run, std::size_t input) {
  const Array& labels = run.inputs[input];
  return {labels.data, labels.dtype, static_cast<std::int64_t>(input), report_of(run)};
}

Tiling tiling_of_rows(const Array& logits, const Array& labels) {
  return tiling_of({labels.count(), logits.sizes.back(), 1}, kSerial);
}

template <class T>
struct CrossEntropy {
  using Shared = typename SoftmaxLines<T, true>::Shared;

  FERRY_DEVICE void operator()(std::int64_t tile, const Block& block, Shared& shared) const {
    const Spot spot = tiling.spot(tile, block.thread());
    const Lane<T> lane(tiling, spot, logits);
    const auto totals = totals_of(block, tiling, lane, shared.room);
    if (!spot.inside || spot.lane != 0) return;
    const std::int64_t label = labels(spot.outer, tiling.along, true);
    const auto above = label == Labels::kBad ? 0 : lane[label] - totals.top;
    loss[spot.outer] = stored_as<T>(math::log(totals.sum) - above);
  }

  Tiling tiling;
  const T* logits;
  Labels labels;
  T* loss;
};

template <class T>
struct CrossEntropyGrad {
  using Shared = typename SoftmaxLines<T, false>::Shared;

  FERRY_DEVICE void operator()(std::int64_t tile, const Block& block, Shared& shared) const {
    const Spot spot = tiling.spot(tile, block.thread());
    const Lane<T> lane(tiling, spot, logits);
    const auto totals = totals_of(block, tiling, lane, shared.room);
    if (!spot.inside) return;
    const std::int64_t label = labels(spot.outer, tiling.along, spot.lane == 0);
    const auto scale = 1 / totals.sum, factor = load(dloss[spot.outer]);
    T* const to = out + tiling.first(spot);
    lane.each([&](std::int64_t i) {
      const auto share = math::exp(lane[i] - totals.top) * scale;
      to[i] = stored_as<T>((i == label ? share - 1 : share) * factor);
    });
  }

  Tiling tiling;
  const T* dloss;
  const T* logits;
  Labels labels;
  T* out;
};

void cross_entropy(KernelRun& run) {
  const Array &logits = run.inputs[0], &loss = run.outputs[0];
  const Tiling tiling = tiling_of_rows(logits, run.inputs[1]);
  dispatch_all_floats(logits.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_block(run, tiling.tiles(), CrossEntropy<T>{tiling, logits.as<const T>(), labels_of(run, 1), loss.as<T>()});
  });
}

void cross_entropy_grad(KernelRun& run) {
  const Array &dloss = run.inputs[0], &logits = run.inputs[1], &output = run.outputs[0];
  const Tiling tiling = tiling_of_rows(logits, run.inputs[2]);
  dispatch_all_floats(logits.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_block(
        run, tiling.tiles(),
        CrossEntropyGrad<T>{tiling, dloss.as<const T>(), logits.as<const T>(), labels_of(run, 2), output.as<T>()});
  });
}

constexpr DTypeSet kLabelled = kAllNumbers | DTypeSet{DType::uint8};

constexpr Kernel kSoftmaxKernels[] = {
    {.op = "Softmax", .run = along_axis<false>, .prepare = prepare_softmax, .in_place = 1, .takes = kAllNumbers},
    {.op = "LogSoftmax", .run = along_axis<true>, .prepare = prepare_softmax, .in_place = 1, .takes = kAllNumbers},
    {.op = "SoftmaxCrossEntropy", .run = cross_entropy, .takes = kLabelled},
    {.op = "SoftmaxCrossEntropyGrad", .run = cross_entropy_grad, .in_place = 0b010, .takes = kLabelled},
};

}  // namespace

std::span<const Kernel> softmax_kernels() {
  return kSoftmaxKernels;
}

}  // namespace ferry::cuda
