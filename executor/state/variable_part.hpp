// VariablePart: which part of a variable a task has, and its bytes beside those of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferry {

/// The part of a variable that one task has: `sizes` elements from `begin` of an array of `whole`.
struct VariablePart {
  bool held = false;
  std::vector<std::int64_t> sizes, begin, whole;
  bool operator==(const VariablePart&) const = default;
};

/// Copies the part's elements, of `element` bytes, from an array of its own into the whole one.
void put_part(const VariablePart& part, std::size_t element, const std::byte* own, std::byte* whole);
/// Copies the part's elements from the whole array into one of its own.
void cut_part(const VariablePart& part, std::size_t element, const std::byte* whole, std::byte* own);

}  // namespace ferry
