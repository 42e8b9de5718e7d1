// The loop over elements: one functor on arrays of any ranks, broadcast as numpy does.
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

namespace ferry::cpu {

inline constexpr int kMaxDims = 32;

/// The dims of an elementwise op: sizes of the output, and of each of N inputs the step (in elements) along each dim, 0
/// where it is broadcast. Outermost first; the last dim has step 0 or 1 in every input.
template <int N>
struct Nest {
  int dims = 0;
  std::array<std::int64_t, kMaxDims> sizes;
  std::array<std::array<std::int64_t, kMaxDims>, N> steps;
};

/// Throws BadValue: the first dim of `input` is `here` in this step, that of an input before it `before`, and the two
/// do not fit each other.
[[noreturn]] inline void refuse_extents(std::size_t input, std::int64_t before, std::int64_t here) {
  throw BadValue(input, "the first dims of its inputs, which the step decides, are " + std::to_string(before) +
                            " and " + std::to_string(here) + ", and do not fit each other");
}

/// The extent of a bounded output from those of the inputs that are broadcast to it. A bounded input with an extent of
/// 1 is not broadcast either: parts on several tasks would not fit. BadValue if the extents in this step do not fit
/// each other.
inline void set_extent(std::span<const Array> inputs, Array& output) {
  if (!output.bounded) return;
  constexpr std::int64_t kOpen = -1;
  std::int64_t size = kOpen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Array& input = inputs[i];
    if (input.rank() != output.rank() || (!input.bounded && input.sizes[0] == 1)) continue;
    if (size != kOpen && size != input.sizes[0]) refuse_extents(i, size, input.sizes[0]);
    size = input.sizes[0];
  }
  output.sizes[0] = size == kOpen ? 1 : size;
}

template <int N>
Nest<N> make_nest(std::span<const Array> inputs, const Array& output) {
  if (output.rank() > kMaxDims)
    throw Error(Code::plan, "an elementwise op takes at most " + std::to_string(kMaxDims) + " dims, not " +
                                std::to_string(output.rank()));
  Nest<N> nest;
  std::array<std::int64_t, N> stride;  // of input i along the current dim, if it is not broadcast
  stride.fill(1);
  for (int d = output.rank() - 1; d >= 0; --d) {  // built innermost first, reversed below
    const std::int64_t size = output.sizes[static_cast<std::size_t>(d)];
    std::array<std::int64_t, N> step;
    for (std::size_t i = 0; i < N; ++i) {
      const int at = d - (output.rank() - inputs[i].rank());
      const std::int64_t own = at < 0 ? 1 : inputs[i].sizes[static_cast<std::size_t>(at)];
      step[i] = own == 1 ? 0 : stride[i];
      stride[i] *= own;
    }
    if (size == 1) continue;
    const auto last = static_cast<std::size_t>(nest.dims - 1);
    bool joins = nest.dims > 0;
    for (std::size_t i = 0; i < N && joins; ++i) joins = step[i] == nest.steps[i][last] * nest.sizes[last];
    if (joins) {
      nest.sizes[last] *= size;
      continue;
    }
    nest.sizes[static_cast<std::size_t>(nest.dims)] = size;
    for (std::size_t i = 0; i < N; ++i) nest.steps[i][static_cast<std::size_t>(nest.dims)] = step[i];
    ++nest.dims;
  }
  if (nest.dims == 0) {
    nest.sizes[0] = 1;
    for (std::size_t i = 0; i < N; ++i) nest.steps[i][0] = 0;
    nest.dims = 1;
  }
  std::reverse(nest.sizes.begin(), nest.sizes.begin() + nest.dims);
  for (auto& steps : nest.steps) std::reverse(steps.begin(), steps.begin() + nest.dims);
  return nest;
}

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
  /// Elements left in the innermost dim.
  [[nodiscard]] std::int64_t run() const {
    const auto last = static_cast<std::size_t>(nest_.dims - 1);
    return nest_.sizes[last] - index_[last];
  }
  /// Moves on by `n` ≤ run() elements.
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

/// The loop of a functor of two numbers that is simpler beside some numbers, where `one` of them is the same for all.
/// False if it is not such a number.
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

/// Picks the inner loop for the inputs' steps, one input after the other. At least one of them moves.
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

/// output 0 = F()(inputs...), element by element, with numpy's broadcasting. `In` are the inputs' element types.
template <class F, class Out, class... In>
void map_elements(const KernelRun& run) {
  map_elements<F, Out, In...>(run, std::index_sequence_for<In...>());
}

}  // namespace ferry::cpu
