// VariablePart: which part of a variable a task has, and copying it out of the whole and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferry {

/// The part of a variable that one task has: the block of `sizes` at `begin` in an array of sizes `whole`. Not `held`:
/// the task has none.
struct VariablePart {
  bool held = false;
  std::vector<std::int64_t> sizes, begin, whole;
  bool operator==(const VariablePart&) const = default;
};

/// Copies the part's elements, of `element` bytes each, from a dense array of the part into the whole array.
void put_part(const VariablePart& part, std::size_t element, const std::byte* own, std::byte* whole);
/// Copies the part's elements from the whole array into a dense array of the part.
void cut_part(const VariablePart& part, std::size_t element, const std::byte* whole, std::byte* own);

}  // namespace ferry
