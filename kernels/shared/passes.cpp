#include "kernels/shared/passes.hpp"

#include <functional>
#include <numeric>

#include "kernels/shared/state.hpp"

namespace ferry {

std::vector<Pass> passes_of(std::span<const std::int64_t> sizes, const std::vector<bool>& reduced) {
  std::vector<Pass> passes;
  std::int64_t inner = 1;
  std::int64_t outer = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  const bool empty = outer == 0;
  bool joins = false;  // the dim visited before is also reduced
  if (empty) {
    // There is nothing to read: one pass writes the start value to each result, if there are any.
    Pass pass{.outer = 1, .along = 0, .inner = 1};
    for (std::size_t d = 0; d < sizes.size(); ++d) pass.outer *= reduced[d] ? 1 : sizes[d];
    return {pass};
  }
  for (std::size_t d = sizes.size(); d-- > 0;) {
    outer /= sizes[d];
    if (!reduced[d]) {
      inner *= sizes[d];
    } else if (joins) {
      passes.back().along *= sizes[d];
      passes.back().outer = outer;
    } else {
      passes.push_back({outer, sizes[d], inner});
    }
    joins = reduced[d];
  }
  if (passes.empty()) passes.push_back({inner, 1, 1});
  return passes;
}

Pass pass_along_axis(const KernelSetup& setup) {
  const Shape& shape = setup.inputs[0].shape;
  const std::vector<std::int64_t> sizes = shape.sizes();
  const int dim = dim_of(setup.attrs.get<std::int64_t>("axis"), shape.rank());
  return {product(sizes, 0, dim), sizes[dim], product(sizes, dim + 1, shape.rank())};
}

std::vector<bool> reduced_axes(const KernelSetup& setup) {
  const int rank = setup.inputs[0].shape.rank();
  std::vector<bool> reduced(static_cast<std::size_t>(rank));
  for (std::int64_t axis : setup.attrs.get<Ints>("axes")) reduced[dim_of(axis, rank)] = true;
  return reduced;
}

std::vector<bool> spread_dims(const KernelSetup& setup) {
  const Shape& from = setup.inputs[0].shape;
  const Shape& to = setup.outputs[0].shape;
  const int added = from.rank() - to.rank();
  std::vector<bool> reduced(static_cast<std::size_t>(from.rank()));
  for (int d = 0; d < from.rank(); ++d) reduced[d] = d < added || (to[d - added].size() == 1 && from[d].size() != 1);
  return reduced;
}

}  // namespace ferry
