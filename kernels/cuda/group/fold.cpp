#include "kernels/cuda/group/fold.hpp"

#include "graph/types/dtype.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/shared/folds.hpp"

namespace ferry::cuda {
namespace {

/// Folds the elements of all inputs into the elements of the output, in the inputs' order; each fold is rounded to T.
template <class F, class T, int n>
struct FoldGroups {
  FERRY_DEVICE void operator()(std::int64_t group) const {
    const std::int64_t first = group * n, left = count - first;
    const int have = left < n ? static_cast<int>(left) : n;
    Group<T, n> folded = read(0, first, have);
    for (int i = 1; i < inputs; ++i) {
      const Group<T, n> next = read(i, first, have);
      for (int k = 0; k < n; ++k) folded.all[k] = stored_as<T>(F()(load(folded.all[k]), load(next.all[k])));
    }
    if (aligned && have == n) {
      *reinterpret_cast<Group<T, n>*>(out + first) = folded;
    } else {
      for (int k = 0; k < n; ++k)
        if (k < have) out[first + k] = folded.all[k];
    }
  }

  T* out;
  const T* in[kMostFoldInputs];
  int inputs;
  std::int64_t count;
  bool aligned;  ///< groups can be read and written at once

 private:
  FERRY_DEVICE Group<T, n> read(int input, std::int64_t first, int have) const {
    const T* const from = in[input] + first;
    if (aligned && have == n) return *reinterpret_cast<const Group<T, n>*>(from);
    Group<T, n> elements;
    for (int k = 0; k < n; ++k) elements.all[k] = from[k < have ? k : 0];
    return elements;
  }
};

template <class F>
void fold_inputs(KernelRun& run) {
  const Array& output = run.outputs[0];
  dispatch(output.dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kGroup = static_cast<int>(kGroupBytes / sizeof(T));
    FoldGroups<F, T, kGroup> fold{.out = output.as<T>(),
                                  .in = {},
                                  .inputs = static_cast<int>(run.inputs.size()),
                                  .count = output.count(),
                                  .aligned = detail::is_aligned(output.data, kGroupBytes)};
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      fold.in[i] = run.inputs[i].as<T>();
      fold.aligned = fold.aligned && detail::is_aligned(run.inputs[i].data, kGroupBytes);
    }
    for_each(run, (fold.count + kGroup - 1) / kGroup, fold);
  });
}

}  // namespace

std::span<const Kernel> fold_kernels() {
  static const Kernel kKernels[] = {{.op = fold_kernel(Reduce::sum),
                                     .run = fold_inputs<functors::Add>,
                                     .prepare = require_foldable,
                                     .takes = kAnyType},
                                    {.op = fold_kernel(Reduce::max),
                                     .run = fold_inputs<functors::Maximum>,
                                     .prepare = require_foldable,
                                     .takes = kAnyType},
                                    {.op = fold_kernel(Reduce::min),
                                     .run = fold_inputs<functors::Minimum>,
                                     .prepare = require_foldable,
                                     .takes = kAnyType}};
  return kKernels;
}

}  // namespace ferry::cuda
