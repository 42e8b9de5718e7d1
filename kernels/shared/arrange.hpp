// The positions of elements in triangles of matrices and in reversed sequences.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/shared/state.hpp"

namespace ferry {

struct Diagonal {
  std::int64_t k;
  bool upper;
};

[[nodiscard]] inline std::unique_ptr<KernelState> prepare_triangle(const KernelSetup& setup) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;  // beyond any size, but sums with sizes do not overflow
  return keep(Diagonal{std::clamp(setup.attrs.get<std::int64_t>("k"), -kFar, kFar), setup.attrs.get<bool>("upper")});
}

/// The matrices of a Triangle op. In a part of a split matrix, the diagonal is the diagonal of the whole matrix.
struct Triangles {
  explicit Triangles(const KernelRun& run) : upper(kept<Diagonal>(run).upper) {
    const Array &input = run.inputs[0], &output = run.outputs[0];
    const auto rank = static_cast<std::size_t>(input.rank());
    rows = input.sizes[rank - 2];
    columns = input.sizes[rank - 1];
    shift = output.begin[rank - 2] - output.begin[rank - 1] + kept<Diagonal>(run).k;
  }
  std::int64_t rows, columns;
  std::int64_t shift;  ///< the column, within this part, of the diagonal in row 0
  bool upper;
};

[[nodiscard]] inline std::unique_ptr<KernelState> prepare_reverse(const KernelSetup& setup) {
  return keep(setup.attrs.get<std::int64_t>("time_axis"));
}

/// The sequences of a ReverseSequence op, and the distances, in elements, between sequences and between their steps.
struct Sequences {
  explicit Sequences(const KernelRun& run) {
    const Array& x = run.inputs[0];
    time_first = kept<std::int64_t>(run) == 0;
    steps = x.sizes[time_first ? 0 : 1];
    batch = x.sizes[time_first ? 1 : 0];
    width = product(x.sizes, 2, x.rank());
    time_step = time_first ? batch * width : width;
    batch_step = time_first ? width : steps * width;
  }
  std::int64_t steps, batch;
  std::int64_t width;  ///< elements of a step of one sequence
  std::int64_t time_step, batch_step;
  bool time_first;
};

}  // namespace ferry
