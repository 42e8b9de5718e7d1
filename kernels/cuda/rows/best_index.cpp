// ArgMax and ArgMin.
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/rows/fold.hpp"

namespace ferry::cuda {
namespace {

/// An element and its place in its row. A place of -1 means that there is no element yet.
template <class T>
struct Candidate {
  T element;
  std::int64_t place;
};

/// Finds the index of the best element. Of equal elements, takes the first, or the last if `last`. NaN is better than
/// all numbers.
template <class T>
struct Best {
  using Value = Candidate<T>;

  [[nodiscard]] FERRY_DEVICE Value start() const { return {T(0), -1}; }
  template <class In>
  [[nodiscard]] FERRY_DEVICE Value value(const In& element, std::int64_t place) const {
    return {load(element), place};
  }
  [[nodiscard]] FERRY_DEVICE Value value(const Value& candidate, std::int64_t) const { return candidate; }
  [[nodiscard]] FERRY_DEVICE Value join(const Value& a, const Value& b) const {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    if (is_better(a.element, b.element)) return a;
    if (is_better(b.element, a.element)) return b;
    return (a.place < b.place) != last ? a : b;
  }
  FERRY_DEVICE void put(std::int64_t& out, const Value& best) const { out = best.place; }
  FERRY_DEVICE void put(Value& out, const Value& best) const { out = best; }

  bool largest, last;

 private:
  [[nodiscard]] FERRY_DEVICE bool is_better(T a, T b) const { return a != a ? b == b : largest ? a > b : a < b; }
};

struct Search {
  Stages stages;
  bool last;
};

std::unique_ptr<KernelState> prepare_best_index(const KernelSetup& setup) {
  return keep(Search{stages_of({pass_along_axis(setup)}), setup.attrs.get_or("last", false)});
}

std::int64_t best_index_scratch(const KernelSetup& setup) {
  return stages_of({pass_along_axis(setup)}).scratch_bytes(sizeof(Candidate<double>));
}

template <bool largest>
void find_best(KernelRun& run) {
  const auto& search = kept<Search>(run);
  dispatch_all_ordered(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    run_stages<T, std::int64_t>(run, Best<typename Computed<T>::type>{largest, search.last}, search.stages);
  });
}

constexpr Kernel kBestIndexKernels[] = {
    {.op = "ArgMax",
     .run = find_best<true>,
     .prepare = prepare_best_index,
     .scratch_bytes = best_index_scratch,
     .takes = kOrdered | kHalves},
    {.op = "ArgMin",
     .run = find_best<false>,
     .prepare = prepare_best_index,
     .scratch_bytes = best_index_scratch,
     .takes = kOrdered | kHalves},
};

}  // namespace

std::span<const Kernel> best_index_kernels() {
  return kBestIndexKernels;
}

}  // namespace ferry::cuda
