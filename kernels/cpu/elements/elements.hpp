// The loop over elements: applies one functor to arrays of any ranks, broadcast as in numpy.
//
// Adjacent dims that are contiguous in all arrays are joined first, so that most ops become one loop. The innermost
// loop has stride 1 or 0 in every input, known at compile time, and becomes vector code.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/kernel.hpp"
#include "kernels/shared/nest.hpp"

namespace ferry::cpu {

/// A walk over a nest: it holds the index in each dim and the offset in each input.
template <int N>
class Walk {
 public:
  Walk(const Nest<N>& nest, std::int64_t begin) : nest_(nest) {
    offsets_.fill(0);
    for (int d = nest.dims - 1; d >= 0; --d) {
      const auto k = static_cast<std::size_t>(d);
      index_[k] = d == 0 ? begin : begin % nest.sizes[k];
      if (d > 0) begin /= nest.sizes[k];
      for (std::size_t i = 0; i < N; ++i) offsets_[i] += index_[k] * nest.steps[i][k];
    }
  }
  [[nodiscard]] std::int64_t offset(std::size_t input) const { return offsets_[input]; }
  [[nodiscard]] const std::array<std::int64_t, N>& offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t index(std::size_t dim) const { return index_[dim]; }
  /// The number of elements left in the innermost dim.
  [[nodiscard]] std::int64_t run() const {
    const auto last = static_cast<std::size_t>(nest_.dims - 1);
    return nest_.sizes[last] - index_[last];
  }
  /// Advances by `n` ≤ run() elements.
  void advance(std::int64_t n) {
    for (int d = nest_.dims - 1; d >= 0; --d) {
      const auto k = static_cast<std::size_t>(d);
      index_[k] += n;
      for (std::size_t i = 0; i < N; ++i) offsets_[i] += n * nest_.steps[i][k];
      if (index_[k] < nest_.sizes[k]) return;
      for (std::size_t i = 0; i < N; ++i) offsets_[i] -= nest_.sizes[k] * nest_.steps[i][k];
      index_[k] = 0;
      n = 1;
    }
  }

 private:
  const Nest<N>& nest_;
  std::array<std::int64_t, kMaxDims> index_;
  std::array<std::int64_t, N> offsets_;
};

/// The loop of a functor of two numbers, if one operand, `one`, is the same number for all elements. For some numbers
/// the functor has a simpler form (F::BesideOne). Returns false if `one` is not such a number.
template <class F, class T>
bool loop_beside(const T& one, T* out, std::int64_t n, const T* in) {
  const T b = one;
  if (!F::is_simple_beside(b)) return false;
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] = typename F::BesideOne()(in[k], b);
  return true;
}

/// out[k] = f(in[k * step]...) with steps known at compile time. An input may be the output itself (in place), but must
/// not overlap it otherwise, so `simd` is valid.
template <class F, class Out, class... In, int... Step>
void inner_loop(Out* out, std::int64_t n, std::integer_sequence<int, Step...> steps, const In*... in) {
  if constexpr (requires { typename F::BesideOne; } && std::is_floating_point_v<Out>) {
    const std::array both = {in...};
    if constexpr (std::is_same_v<decltype(steps), std::integer_sequence<int, 1, 0>>)
      if (loop_beside<F>(*both[1], out, n, both[0])) return;
    if constexpr (std::is_same_v<decltype(steps), std::integer_sequence<int, 0, 1>>)
      if (loop_beside<F>(*both[0], out, n, both[1])) return;
  }
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] = F()(in[k * Step]...);
}

/// Selects the inner loop for the inputs' steps, one input after another. At least one input moves (its step is 1).
template <class F, class Out, class... In, int... Step>
void pick_loop(Out* out, std::int64_t n, const bool* moves, std::integer_sequence<int, Step...> steps,
               const In*... in) {
  if constexpr (sizeof...(Step) == sizeof...(In)) {
    inner_loop<F>(out, n, steps, in...);
  } else {
    constexpr bool must_move = sizeof...(Step) + 1 == sizeof...(In) && ((Step == 0) && ...);
    if (must_move || moves[sizeof...(Step)])
      pick_loop<F>(out, n, moves, std::integer_sequence<int, Step..., 1>(), in...);
    else if constexpr (!must_move)
      pick_loop<F>(out, n, moves, std::integer_sequence<int, Step..., 0>(), in...);
  }
}

using RowLoop = decltype(ElementLoop::compute);

/// Computes output 0 of an op of N inputs, row by row. Its code is the same for all functors and types.
template <int N>
void compute_rows(const KernelRun& run, RowLoop compute_row);

template <class F, class Out, class... In, std::size_t... I>
void map_elements(const KernelRun& run, std::index_sequence<I...>) {
  set_extent(run.inputs, run.outputs[0]);
  if (run.outputs[0].count() == 1 && !run.stream) {
    *run.outputs[0].as<Out>() = F()(*run.inputs[I].template as<const In>()...);
    return;
  }
  compute_rows<sizeof...(In)>(run, [](std::byte* out, std::int64_t n, const bool* moves, const std::byte* const* in) {
    pick_loop<F>(reinterpret_cast<Out*>(out), n, moves, std::integer_sequence<int>(),
                 reinterpret_cast<const In*>(in[I])...);
  });
}

/// output 0 = F()(inputs...), element by element, with numpy's broadcasting. `In` are the element types of the inputs.
template <class F, class Out, class... In>
void map_elements(const KernelRun& run) {
  map_elements<F, Out, In...>(run, std::index_sequence_for<In...>());
}

}  // namespace ferry::cpu
