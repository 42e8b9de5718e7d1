#include "executor/state/variable_part.hpp"

#include <cstring>

#include "graph/types/shape.hpp"

namespace ferry {
namespace {

/// Calls copy(offset in the part, offset in the whole, size) for each contiguous row of the part, all in bytes.
template <class Copy>
void for_each_row(const VariablePart& part, std::size_t element, const Copy& copy) {
  const auto rank = part.sizes.size();
  if (checked_count(part.sizes) == 0) return;
  const std::size_t row = (rank == 0 ? 1 : static_cast<std::size_t>(part.sizes[rank - 1])) * element;
  std::vector<std::int64_t> at(rank, 0);
  for (std::size_t own = 0;; own += row) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < rank; ++d) offset = offset * part.whole[d] + part.begin[d] + at[d];
    copy(own, static_cast<std::size_t>(offset) * element, row);
    std::size_t d = rank < 2 ? 0 : rank - 1;
    while (d > 0 && ++at[d - 1] == part.sizes[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

void put_part(const VariablePart& part, std::size_t element, const std::byte* own, std::byte* whole) {
  for_each_row(part, element,
               [&](std::size_t from, std::size_t to, std::size_t row) { std::memcpy(whole + to, own + from, row); });
}

void cut_part(const VariablePart& part, std::size_t element, const std::byte* whole, std::byte* own) {
  for_each_row(part, element,
               [&](std::size_t to, std::size_t from, std::size_t row) { std::memcpy(own + to, whole + from, row); });
}

}  // namespace ferry
