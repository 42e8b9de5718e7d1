// The loop over elements: one functor on arrays of any ranks, broadcast as numpy does.
//
// Dims that lie together in all arrays are joined first, so that most ops become one loop. The innermost loop has
// stride 1 or 0 in every input, known at compile time, and becomes vector code.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/stream_copy.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

inline constexpr int kMaxDims = 32;
/// Elements computed in the cache before they go around it.
inline constexpr std::int64_t kStreamTile = 512;

/// The dims of an elementwise op: sizes of the output, and of each of N inputs the step (in elements) along each dim, 0
/// where it is broadcast. Outermost first; the last dim has step 0 or 1 in every input.
template <int N>
struct Nest {
  int dims = 0;
  std::array<std::int64_t, kMaxDims> sizes;
  std::array<std::array<std::int64_t, kMaxDims>, N> steps;
};

/// The extent of a bounded output from those of the inputs that are broadcast to it.
inline void set_extent(std::span<const Array> inputs, Array& output) {
  if (!output.bounded) return;
  std::int64_t size = 1;
  for (const Array& input : inputs)
    if (input.rank() == output.rank() && input.sizes[0] != 1) size = input.sizes[0];
  output.sizes[0] = size;
}

template <int N>
Nest<N> make_nest(std::span<const Array> inputs, const Array& output) {
  if (output.rank() > kMaxDims)
    throw Error(Code::plan, "an elementwise op takes at most " + std::to_string(kMaxDims) + " dims, not " +
                                std::to_string(output.rank()));
  Nest<N> nest;
  std::array<std::int64_t, N> stride;  // of input i's dim at hand, were it not broadcast
  stride.fill(1);
  for (int d = output.rank() - 1; d >= 0; --d) {  // built innermost first, turned round below
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

/// Where a walk over a nest stands: the index of each dim, and each input's offset.
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

/// out[k] = f(in[k * step]...) with steps known when compiling. An input may be the output itself (in place), never
/// overlap it otherwise: hence `simd` holds.
template <class F, class Out, class... In, int... Step>
void inner_loop(const F& f, Out* out, std::int64_t n, std::integer_sequence<int, Step...>, const In*... in) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] = f(in[k * Step]...);
}

/// Picks the inner loop for the steps at hand, one input after the other.
template <class F, class Out, class... In, int... Step>
void pick_loop(const F& f, Out* out, std::int64_t n, const bool* moves, std::integer_sequence<int, Step...> steps,
               const In*... in) {
  if constexpr (sizeof...(Step) == sizeof...(In)) {
    inner_loop(f, out, n, steps, in...);
  } else if (moves[sizeof...(Step)]) {
    pick_loop(f, out, n, moves, std::integer_sequence<int, Step..., 1>(), in...);
  } else {
    pick_loop(f, out, n, moves, std::integer_sequence<int, Step..., 0>(), in...);
  }
}

/// Elements [begin, begin + n) of output 0, along which input i begins at offsets[i] and moves on or not.
template <class Out, class... In, class F, std::size_t... I>
[[gnu::noinline]] void compute_row(const KernelRun& run, const F& f, std::int64_t begin, std::int64_t n,
                                   const bool* moves, const std::array<std::int64_t, sizeof...(In)>& offsets,
                                   std::index_sequence<I...>) {
  alignas(64) Out tile[kStreamTile];
  Out* const out = run.outputs[0].as<Out>() + begin;
  const std::int64_t most = run.stream ? kStreamTile : n;
  for (std::int64_t at = 0; at < n; at += most) {
    const std::int64_t count = std::min(most, n - at);
    pick_loop(f, run.stream ? tile : out + at, count, moves, std::integer_sequence<int>(),
              (run.inputs[I].template as<const In>() + offsets[I] + (moves[I] ? at : 0))...);
    if (run.stream)
      stream_copy(reinterpret_cast<std::byte*>(out + at), reinterpret_cast<const std::byte*>(tile),
                  static_cast<std::size_t>(count) * sizeof(Out));
  }
}

template <class Out, class... In, class F, std::size_t... I>
void map_elements(const KernelRun& run, const F& f, std::index_sequence<I...> inputs) {
  constexpr int kInputs = sizeof...(In);
  Array& output = run.outputs[0];
  set_extent(run.inputs, output);
  const std::int64_t count = output.count();
  if (count == 1 && !run.stream) {
    *output.as<Out>() = f(*run.inputs[I].template as<const In>()...);
    return;
  }
  const auto compute_all = [&](const auto& compute) {
    const auto piece = [&](std::int64_t begin, std::int64_t end) {
      compute(begin, end);
      if (run.stream) stream_fence();
    };
    if (run.piece.last >= 0)
      run.piece.each_row(piece);
    else
      for_chunks(run.parallel, count, kElementGrain, piece);
  };
  const std::int64_t counts[] = {run.inputs[I].count()...};
  if (((counts[I] == count || counts[I] == 1) && ...)) {  // of the output's shape, or one element: no walk is needed
    const bool moves[] = {(counts[I] == count)...};
    return compute_all([&](std::int64_t begin, std::int64_t end) {
      compute_row<Out, In...>(run, f, begin, end - begin, moves, {(moves[I] ? begin : 0)...}, inputs);
    });
  }
  const auto nest = make_nest<kInputs>(run.inputs, output);
  const auto last = static_cast<std::size_t>(nest.dims - 1);
  const bool moves[] = {(nest.steps[I][last] != 0)...};
  compute_all([&](std::int64_t begin, std::int64_t end) {
    Walk<kInputs> walk(nest, begin);
    while (begin < end) {
      const std::int64_t n = std::min(walk.run(), end - begin);
      compute_row<Out, In...>(run, f, begin, n, moves, {walk.offset(I)...}, inputs);
      walk.advance(n);
      begin += n;
    }
  });
}

/// output 0 = f(inputs...), element by element, with numpy's broadcasting. `In` are the inputs' element types.
template <class Out, class... In, class F>
void map_elements(const KernelRun& run, const F& f) {
  map_elements<Out, In...>(run, f, std::index_sequence_for<In...>());
}

}  // namespace ferry::cpu
