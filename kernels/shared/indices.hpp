// Indices in the data of ops such as gather: their validity and their meaning.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/scalar_math.hpp"
#include "kernels/shared/nest.hpp"

namespace ferry {

/// Whether `index` is valid in a dim of `size` elements. A negative index counts from the end.
[[nodiscard]] FERRY_HD constexpr bool is_index(std::int64_t index, std::int64_t size) {
  return index >= -size && index < size;
}
/// A valid index, counted from the front.
[[nodiscard]] FERRY_HD constexpr std::int64_t from_front(std::int64_t index, std::int64_t size) {
  return index < 0 ? index + size : index;
}

/// How a scatter combines an update with the element that the array already has.
enum class How { replace, add, multiply, largest, smallest };

/// Reads the attribute "how".
[[nodiscard]] constexpr How how_of(std::string_view name) {
  if (name == "add") return How::add;
  if (name == "multiply") return How::multiply;
  if (name == "largest") return How::largest;
  return name == "smallest" ? How::smallest : How::replace;
}

/// For GatherElements and ScatterElements: maps each of the indices to the distance of its element of x from the first
/// element, counted over all dims except `axis`.
[[nodiscard]] inline Nest<1> nest_beside_axis(const Array& x, const Array& indices, int axis) {
  const Strides steps = strides_of(x.sizes);
  Nest<1> nest;
  for (int d = 0; d < indices.rank(); ++d) {
    const auto k = static_cast<std::size_t>(d);
    nest.add(indices.sizes[k], {d == axis ? 0 : steps[k]});
  }
  return nest;
}

}  // namespace ferry
