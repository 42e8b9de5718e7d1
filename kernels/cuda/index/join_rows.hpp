// Scatters: joins updates to the rows of an array that indices name. If several updates have the same row, they are
// joined in their order, so that sums of floats have the bits of the CPU's kernel.
#pragma once

#include <cstdint>

#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/index/sort_pairs.hpp"

namespace ferry::cuda {

/// to[row] = join(to[row], updates...), for each of `before` arrays.
template <class T, class Join>
struct JoinRows {
  using Number = typename Computed<T>::type;
  static constexpr int kAhead = 8;  ///< number of updates that a thread reads before it joins the first of them

  FERRY_DEVICE void operator()(std::int64_t i) const {
    const auto [nth, k] = divided(i, width);
    auto [outer, at] = divided(nth, pairs.count);
    const std::int64_t row = pairs.first(at);
    // The thread of the first update of a row joins all of them.
    if (row == rows || (at > 0 && pairs.first(at - 1) == row)) return;
    T& element = to[(outer * rows + row) * width + k];
    const T* const from = updates + outer * pairs.count * width + k;
    Number result = load(element);
    for (bool more = true; more; at += kAhead) {
      Number update[kAhead] = {};
      for (int j = 0; j < kAhead; ++j)
        if (pairs.is_first(at + j, row)) update[j] = load(from[pairs.second(at + j) * width]);
      for (int j = 0; j < kAhead; ++j) {
        more = pairs.is_first(at + j, row);
        if (more) result = Join()(result, update[j]);
      }
    }
    element = stored_as<T>(result);
  }
  SortedPairs pairs;  ///< (row, number of the update)
  const T* updates;
  T* to;
  std::int64_t rows, width;  ///< of each array
};

/// Joins the updates to the rows of output 0.
template <class T, class Join>
void join_rows(const KernelRun& run, const SortedPairs& pairs, const Array& updates, std::int64_t before,
               std::int64_t rows, std::int64_t width) {
  for_each(run, before * pairs.count * width,
           JoinRows<T, Join>{pairs, updates.as<const T>(), run.outputs[0].as<T>(), rows, width});
}

}  // namespace ferry::cuda
