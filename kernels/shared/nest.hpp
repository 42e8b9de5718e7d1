// Nests: the loops of an elementwise op over arrays that are broadcast as in numpy.
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

/// The loops of an elementwise op: the sizes of the output's dims and, for each of N inputs, its step (in elements)
/// along each dim. The step is 0 if the input is broadcast. Dims are outermost first; the last dim has step 0 or 1 in
/// every input.
template <int N>
struct Nest {
  int dims = 0;
  std::array<std::int64_t, kMaxDims> sizes;
  std::array<std::array<std::int64_t, kMaxDims>, N> steps;

  /// Adds an innermost dim. Merges it with the dim before if the steps of all inputs allow this.
  void add(std::int64_t size, const std::array<std::int64_t, N>& step) {
    bool joins = dims > 0;
    const auto last = static_cast<std::size_t>(dims - 1);
    for (std::size_t i = 0; i < N && joins; ++i) joins = steps[i][last] == step[i] * size;
    const std::size_t d = joins ? last : static_cast<std::size_t>(dims++);
    sizes[d] = joins ? sizes[d] * size : size;
    for (std::size_t i = 0; i < N; ++i) steps[i][d] = step[i];
  }
};

/// The strides of a row-major array, in elements.
struct Strides {
  std::array<std::int64_t, kMaxDims> of{};
  [[nodiscard]] std::int64_t operator[](std::size_t d) const { return of[d]; }
};

/// Throws Error(plan) if `dims` is above kMaxDims.
inline void require_dims(std::size_t dims) {
  if (dims > static_cast<std::size_t>(kMaxDims))
    throw Error(Code::plan, "an array takes at most {} dims here, not {}", kMaxDims, dims);
}

[[nodiscard]] inline Strides strides_of(std::span<const std::int64_t> sizes) {
  require_dims(sizes.size());
  Strides steps;
  std::int64_t step = 1;
  for (std::size_t d = sizes.size(); d-- > 0; step *= sizes[d]) steps.of[d] = step;
  return steps;
}

/// Throws BadValue: in this step the first dim of `input` is `here` and the first dim of an earlier input is `before`,
/// and the two do not match.
[[noreturn]] inline void throw_extent_mismatch(std::size_t input, std::int64_t before, std::int64_t here) {
  throw BadValue(input, "the first dims of its inputs, which the step decides, are " + std::to_string(before) +
                            " and " + std::to_string(here) + ", and do not fit each other");
}

/// Sets the extent of a bounded output from the extents of its inputs. A bounded input with an extent of 1 is not
/// broadcast, because its parts on several tasks would not fit. Throws BadValue if the extents in this step do not
/// match.
inline void set_extent(std::span<const Array> inputs, Array& output) {
  if (!output.bounded) return;
  constexpr std::int64_t kOpen = -1;
  std::int64_t size = kOpen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Array& input = inputs[i];
    if (input.rank() != output.rank() || (!input.bounded && input.sizes[0] == 1)) continue;
    if (size != kOpen && size != input.sizes[0]) throw_extent_mismatch(i, size, input.sizes[0]);
    size = input.sizes[0];
  }
  output.sizes[0] = size == kOpen ? 1 : size;
}

template <int N>
Nest<N> make_nest(std::span<const Array> inputs, const Array& output) {
  if (output.rank() > kMaxDims)
    throw Error(Code::plan, "an elementwise op takes at most {} dims, not {}", kMaxDims, output.rank());
  Nest<N> nest;
  std::array<std::int64_t, N> stride;  // the stride of input i along the current dim, if the input is not broadcast
  stride.fill(1);
  for (int d = output.rank() - 1; d >= 0; --d) {  // built innermost first, reversed below
    const std::int64_t size = output.sizes[d];
    std::array<std::int64_t, N> step;
    for (std::size_t i = 0; i < N; ++i) {
      const int at = d - (output.rank() - inputs[i].rank());
      const std::int64_t own = at < 0 ? 1 : inputs[i].sizes[at];
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
    nest.sizes[nest.dims] = size;
    for (std::size_t i = 0; i < N; ++i) nest.steps[i][nest.dims] = step[i];
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

/// The elements of a part of a split value. The one input of the nest is the whole value; the part's first element is
/// at `origin` in it. The last dim has step 1.
struct PartNest {
  Nest<1> nest;
  std::int64_t origin = 0;
};

[[nodiscard]] inline PartNest nest_of_part(const Array& part) {
  const Strides whole = strides_of(part.whole);
  PartNest result;
  for (std::size_t d = 0; d < part.sizes.size(); ++d) {
    result.nest.add(part.sizes[d], {whole[d]});
    result.origin += part.begin[d] * whole[d];
  }
  if (part.rank() == 0) result.nest.add(1, {1});
  return result;
}

}  // namespace ferry
