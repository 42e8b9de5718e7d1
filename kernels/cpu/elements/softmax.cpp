// Softmax and related ops, row by row. The largest element of a row is found first and subtracted, so that no exp
// overflows.
#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/elements/lanes.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/bad_values.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// A row of `n` elements, `step` apart.
template <class T>
struct Row {
  const T* data;
  std::int64_t n, step;
  [[nodiscard]] T operator[](std::int64_t i) const { return data[i * step]; }
};

/// The larger of two numbers. Unlike functors::Maximum, it skips NaN and takes either zero, so it needs two
/// instructions instead of eleven. The results of a row are the same: if one element is NaN, so are exp(NaN - top) and
/// the sum, and with the sum the whole row; and subtracting 0 or -0 makes no difference to exp().
struct LargerNumber {
  template <class T>
  T operator()(T largest, T x) const {
    return x > largest ? x : largest;
  }
};

template <class T>
T largest(const Row<T>& row) {
  return fold_lanes(
      row.n, -math::kInf<T>, [&row](std::int64_t i) { return row[i]; }, LargerNumber());
}

/// The sum of exp(x - top).
template <class T>
T sum_of_exp(const Row<T>& row, T top) {
  return fold_lanes(
      row.n, T(0), [&row, top](std::int64_t i) { return math::exp_of_negative(row[i] - top); }, functors::Add());
}

/// Rows that are computed together: a vector has one element of each row.
constexpr std::int64_t kColumns = 16;
template <class T>
using Columns = std::array<T, kColumns>;

/// Joins get(0, row) … get(n - 1, row) for each of kColumns rows, in the order of fold_lanes().
template <class T, class Get, class Join>
Columns<T> fold_columns(std::int64_t n, T start, const Get& get, const Join& join) {
  Columns<T> lanes[kLanes];
  for (Columns<T>& lane : lanes) lane.fill(start);
  for (std::int64_t i = 0; i < n; ++i) {
    Columns<T>& lane = lanes[i % kLanes];
#pragma omp simd
    for (std::int64_t v = 0; v < kColumns; ++v) lane[v] = join(lane[v], get(i, v));
  }
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2)
    for (std::int64_t k = 0; k < width; ++k)
#pragma omp simd
      for (std::int64_t v = 0; v < kColumns; ++v) lanes[k][v] = join(lanes[k][v], lanes[k + width][v]);
  return lanes[0];
}

/// The softmax of kColumns rows of `n` elements. The first elements of the rows are consecutive. Each row gets the same
/// bits as if it were computed alone.
template <class T>
void softmax_columns(const T* in, std::int64_t n, std::int64_t step, T* out) {
  const Columns<T> top = fold_columns(
      n, -math::kInf<T>, [&](std::int64_t i, std::int64_t v) { return in[i * step + v]; }, LargerNumber());
  const Columns<T> total = fold_columns(
      n, T(0),
      [&](std::int64_t i, std::int64_t v) {
        return out[i * step + v] = math::exp_of_negative(in[i * step + v] - top[v]);
      },
      functors::Add());
  Columns<T> scale;
  for (std::int64_t v = 0; v < kColumns; ++v) scale[v] = T(1) / total[v];
  for (std::int64_t i = 0; i < n; ++i)
#pragma omp simd
    for (std::int64_t v = 0; v < kColumns; ++v) out[i * step + v] *= scale[v];
}

struct Softmax {
  template <class T>
  void operator()(const Row<T>& row, T* out) const {
    const T top = largest(row);
    const T total = fold_lanes(
        row.n, T(0),
        [&row, top, out](std::int64_t i) { return out[i * row.step] = math::exp_of_negative(row[i] - top); },
        functors::Add());
    const T scale = T(1) / total;
#pragma omp simd
    for (std::int64_t i = 0; i < row.n; ++i) out[i * row.step] *= scale;
  }
};

struct LogSoftmax {
  template <class T>
  void operator()(const Row<T>& row, T* out) const {
    const T top = largest(row);
    const T log_total = math::log(sum_of_exp(row, top));
#pragma omp simd
    for (std::int64_t i = 0; i < row.n; ++i) out[i * row.step] = row[i] - top - log_total;
  }
};

/// Computes rows [begin, end) of [outer, along, inner]. Not inlined, so that contiguous rows become vector code in
/// every caller.
template <class RowFn, class T>
[[gnu::noinline]] void each_row(const T* in, T* out, std::int64_t along, std::int64_t inner, std::int64_t begin,
                                std::int64_t end) {
  for (std::int64_t at = begin; at < end && inner == 1; ++at)
    RowFn()(Row<T>{in + at * along, along, 1}, out + at * along);
  for (std::int64_t at = begin; at < end && inner != 1; ++at) {
    const std::int64_t first = at / inner * along * inner + at % inner;
    if constexpr (std::is_same_v<RowFn, Softmax>)
      if (std::min(inner - at % inner, end - at) >= kColumns) {
        softmax_columns(in + first, along, inner, out + first);
        at += kColumns - 1;
        continue;
      }
    RowFn()(Row<T>{in + first, along, inner}, out + first);
  }
}

template <class RowFn>
void along_axis(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  set_extent(run.inputs, output);
  const int dim = dim_of(kept<std::int64_t>(run), input.rank());
  const std::int64_t along = input.sizes[dim];
  const std::int64_t inner = product(input.sizes, dim + 1, input.rank());
  const std::int64_t rows = along == 0 ? 0 : input.count() / along;
  dispatch_floats(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto each = [&](std::int64_t begin, std::int64_t end) {
      each_row<RowFn>(input.as<const T>(), output.as<T>(), along, inner, begin, end);
    };
    if (run.piece.last >= 0)
      run.piece.each_row([&](std::int64_t begin, std::int64_t end) { each(begin / along, end / along); });
    else
      for_chunks(run.parallel, rows, grain_of(along * 4), each);
  });
}

std::unique_ptr<KernelState> prepare_axis(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("axis"));
}

std::int64_t row_along(const KernelSetup& setup) {
  const Shape& shape = setup.inputs[0].shape;
  const int dim = dim_of(setup.attrs.get<std::int64_t>("axis"), shape.rank());
  return product(shape.sizes(), dim + 1, shape.rank()) == 1 ? shape[dim].size() : 0;
}

// ---- Cross-entropy: rows along the last dim, with a label for each ----

/// Calls each(row of logits, its number, its label) on several threads. Input `first` has the logits, the next input
/// the labels.
template <class Each>
void for_labelled_rows(const KernelRun& run, std::size_t first, const Each& each) {
  const Array &logits = run.inputs[first], &labels = run.inputs[first + 1];
  const std::int64_t classes = logits.sizes.back();
  dispatch_floats(logits.dtype, [&](auto zero) {
    dispatch_among<std::uint8_t, std::int32_t, std::int64_t>(labels.dtype, [&](auto label_zero) {
      const auto* label = labels.as<const decltype(label_zero)>();
      for_chunks(run.parallel, labels.count(), grain_of(classes * 4), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
          const auto wanted = static_cast<std::int64_t>(label[at]);
          if (wanted < 0 || wanted >= classes) throw bad_label(first + 1, wanted, classes);
          each(Row<decltype(zero)>{logits.as<const decltype(zero)>() + at * classes, classes, 1}, at, wanted);
        }
      });
    });
  });
}

void cross_entropy(KernelRun& run) {
  Array& loss = run.outputs[0];
  if (loss.rank() > 0) loss.sizes[0] = run.inputs[0].sizes[0];
  for_labelled_rows(run, 0, [&](const auto& row, std::int64_t at, std::int64_t label) {
    const auto top = largest(row);
    loss.as<std::decay_t<decltype(top)>>()[at] = math::log(sum_of_exp(row, top)) - (row[label] - top);
  });
}

void cross_entropy_grad(KernelRun& run) {
  Array& output = run.outputs[0];
  output.sizes[0] = run.inputs[1].sizes[0];
  for_labelled_rows(run, 1, [&](const auto& row, std::int64_t at, std::int64_t label) {
    using T = std::decay_t<decltype(row[0])>;
    const T factor = run.inputs[0].as<const T>()[at];
    T* out = output.as<T>() + at * row.n;
    Softmax()(row, out);
    out[label] -= T(1);
#pragma omp simd
    for (std::int64_t i = 0; i < row.n; ++i) out[i] *= factor;
  });
}

constexpr DTypeSet kLabelled = kComputed | DTypeSet{DType::uint8};

constexpr Kernel kKernels[] = {
    {.op = "Softmax", .run = along_axis<Softmax>, .prepare = prepare_axis, .in_place = 1, .row = row_along},
    {.op = "LogSoftmax", .run = along_axis<LogSoftmax>, .prepare = prepare_axis, .in_place = 1, .row = row_along},
    {.op = "SoftmaxCrossEntropy", .run = cross_entropy, .takes = kLabelled},
    {.op = "SoftmaxCrossEntropyGrad", .run = cross_entropy_grad, .in_place = 0b010, .takes = kLabelled},
};

}  // namespace

std::span<const Kernel> softmax_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
