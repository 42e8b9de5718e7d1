// VariablePart: which part of a variable a task has; copying between the part and the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferry {

/// The part of a variable that one task has: `sizes` elements from `begin` of an array of `whole`. Not `held`: none.
struct VariablePart {
  bool held = false;
  std::vector<std::int64_t> sizes, begin, whole;
  bool operator==(const VariablePart&) const = default;
};

/// Copies the part's elements, of `element` bytes each, from `own`, which has these alone, into the whole array.
void put_part(const VariablePart& part, std::size_t element, const std::byte* own, std::byte* whole);
/// Copies the part's elements from the whole array into `own`.
void cut_part(const VariablePart& part, std::size_t element, const std::byte* whole, std::byte* own);

}  // namespace ferry
