#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {
namespace {

constexpr std::size_t kMostAdded = 64;

/// Adds up arrays, in their order.
template <class T, int n>
struct AddArrays {
  FERRY_DEVICE void operator()(std::int64_t group) const {
    const std::int64_t first = group * n;
    if (aligned && first + n <= count) {
      Group<T, n> total = *reinterpret_cast<const Group<T, n>*>(in[0] + first);
      for (int a = 1; a < arrays; ++a) {
        const Group<T, n> more = *reinterpret_cast<const Group<T, n>*>(in[a] + first);
        for (int k = 0; k < n; ++k) total.all[k] = functors::Add()(total.all[k], more.all[k]);
      }
      *reinterpret_cast<Group<T, n>*>(out + first) = total;
      return;
    }
    for (std::int64_t i = first; i < first + n && i < count; ++i) {
      T total = in[0][i];
      for (int a = 1; a < arrays; ++a) total = functors::Add()(total, in[a][i]);
      out[i] = total;
    }
  }
  const T* in[kMostAdded];
  int arrays;
  T* out;
  std::int64_t count;
  bool aligned;  ///< groups can be read and written at once
};

template <class T>
void add_arrays(const KernelRun& run) {
  constexpr int kGroup = static_cast<int>(kGroupBytes / sizeof(T));
  const Array& output = run.outputs[0];
  const std::int64_t count = output.count();
  for (std::size_t next = 0; next < run.inputs.size();) {
    AddArrays<T, kGroup> add{{}, 0, output.as<T>(), count, detail::is_aligned(output.data, kGroupBytes)};
    if (next > 0) add.in[add.arrays++] = output.as<const T>();
    for (; next < run.inputs.size() && add.arrays < static_cast<int>(kMostAdded); ++next) {
      add.in[add.arrays++] = run.inputs[next].as<const T>();
      add.aligned = add.aligned && detail::is_aligned(run.inputs[next].data, kGroupBytes);
    }
    for_each(run, (count + kGroup - 1) / kGroup, add);
  }
}

void add_up(KernelRun& run) {
  dispatch_numbers(run.outputs[0].dtype, [&](auto zero) { add_arrays<decltype(zero)>(run); });
}

constexpr Kernel kAddUpKernels[] = {{.op = "AddUp", .run = add_up}};

}  // namespace

std::span<const Kernel> add_up_kernels() {
  return kAddUpKernels;
}

}  // namespace ferry::cuda
