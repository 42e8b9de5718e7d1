// Nests: how an elementwise op walks over arrays that are broadcast as numpy does.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

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

}  // namespace ferry
