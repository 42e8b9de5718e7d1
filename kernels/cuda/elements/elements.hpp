// The loop over elements on a GPU: one functor on arrays of any ranks, broadcast as numpy does.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "kernels/cuda/elements/scalars.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/shared/nest.hpp"

namespace ferry::cuda {

/// output[i] = f(inputs[i]...). Each input has as many elements as the output, or one element.
template <class F, int n, class Out, class... In>
struct MapGroups {
  static constexpr std::size_t kInputs = sizeof...(In);

  FERRY_DEVICE void operator()(std::int64_t group) const { map(group, std::index_sequence_for<In...>()); }

  F f;
  std::byte* out;
  const std::byte* in[kInputs];
  bool moves[kInputs];
  std::int64_t count;
  bool aligned;  ///< groups can be read and written at once

 private:
  template <class T>
  FERRY_DEVICE Group<T, n> read(const std::byte* from, bool moves, std::int64_t group, std::int64_t have) const {
    const T* const all = reinterpret_cast<const T*>(from);
    if (moves && aligned && have == n) return *reinterpret_cast<const Group<T, n>*>(all + group * n);
    Group<T, n> elements;
    for (int k = 0; k < n; ++k) elements.all[k] = moves ? all[k < have ? group * n + k : group * n] : all[0];
    return elements;
  }
  template <std::size_t... I>
  FERRY_DEVICE void map(std::int64_t group, std::index_sequence<I...>) const {
    const std::int64_t left = count - group * n, have = left < n ? left : n;
    compute(group, have, read<In>(in[I], moves[I], group, have)...);
  }
  FERRY_DEVICE void compute(std::int64_t group, std::int64_t have, Group<In, n>... elements) const {
    Group<Out, n> results;
    for (int k = 0; k < n; ++k) results.all[k] = stored_as<Out>(f(load(elements.all[k])...));
    Out* const to = reinterpret_cast<Out*>(out) + group * n;
    if (aligned && have == n) {
      *reinterpret_cast<Group<Out, n>*>(to) = results;
    } else {
      for (std::int64_t k = 0; k < have; ++k) to[k] = results.all[k];
    }
  }
};

/// Like MapGroups, for inputs that are broadcast. Each thread computes one element.
template <class F, class Out, class... In>
struct MapNest {
  static constexpr std::size_t kInputs = sizeof...(In);

  FERRY_DEVICE void operator()(std::int64_t i) const { map(i, std::index_sequence_for<In...>()); }

  F f;
  std::byte* out;
  const std::byte* in[kInputs];
  int dims;
  bool small;  ///< all element numbers fit 32 bits, which a GPU divides several times as fast
  std::int64_t sizes[kMaxDims];
  std::int64_t steps[kInputs][kMaxDims];

 private:
  template <class Int>
  FERRY_DEVICE void find(Int i, std::int64_t* at) const {
    for (int d = dims - 1; d >= 0; --d) {
      const auto size = static_cast<Int>(sizes[d]);
      const Int index = d == 0 ? i : i % size;
      i /= size;
      for (std::size_t k = 0; k < kInputs; ++k) at[k] += index * static_cast<Int>(steps[k][d]);
    }
  }
  template <std::size_t... I>
  FERRY_DEVICE void map(std::int64_t i, std::index_sequence<I...>) const {
    std::int64_t at[kInputs] = {};
    if (small)
      find<std::uint32_t>(static_cast<std::uint32_t>(i), at);
    else
      find<std::uint64_t>(static_cast<std::uint64_t>(i), at);
    reinterpret_cast<Out*>(out)[i] = stored_as<Out>(f(load(reinterpret_cast<const In*>(in[I])[at[I]])...));
  }
};

namespace detail {

/// Whether a thread may read or write `bytes` bytes at once at this address.
inline bool is_aligned(const std::byte* at, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

}  // namespace detail

/// output 0 = f(inputs...), element by element, with numpy's broadcasting. `In` are the inputs' element types. `f` is
/// trivially copyable, and its call operator can run on a GPU.
template <class Out, class... In, class F>
void map_elements(const KernelRun& run, const F& f) {
  constexpr std::size_t kInputs = sizeof...(In);
  constexpr std::size_t kLargest = std::max({sizeof(Out), sizeof(In)...});
  constexpr int kGroup = static_cast<int>(kGroupBytes / kLargest);
  constexpr std::size_t kSizes[] = {sizeof(In)...};
  const Array& output = run.outputs[0];
  const std::int64_t count = output.count();
  MapGroups<F, kGroup, Out, In...> groups{f,  output.data, {},
                                          {}, count,       detail::is_aligned(output.data, sizeof(Out) * kGroup)};
  bool walks = false;
  for (std::size_t i = 0; i < kInputs; ++i) {
    const Array& input = run.inputs[i];
    groups.in[i] = input.data;
    groups.moves[i] = input.count() == count;
    if (groups.moves[i]) groups.aligned = groups.aligned && detail::is_aligned(input.data, kSizes[i] * kGroup);
    walks = walks || !(groups.moves[i] || input.count() == 1);
  }
  if (!walks) return for_each(run, (count + kGroup - 1) / kGroup, groups);
  if constexpr (kInputs > 1) {  // a single input has the output's shape, and is never broadcast
    const Nest<kInputs> nest = make_nest<kInputs>(run.inputs, output);
    MapNest<F, Out, In...> walk{f, output.data, {}, nest.dims, count < INT32_MAX, {}, {}};
    for (std::size_t d = 0; d < static_cast<std::size_t>(nest.dims); ++d) {
      walk.sizes[d] = nest.sizes[d];
      for (std::size_t i = 0; i < kInputs; ++i) walk.steps[i][d] = nest.steps[i][d];
    }
    for (std::size_t i = 0; i < kInputs; ++i) walk.in[i] = run.inputs[i].data;
    for_each(run, count, walk);
  }
}

}  // namespace ferry::cuda
