// SizedArray: an array without data, made from a type. With it, a kernel's geometry can be computed before its arrays
// exist.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/types/shape.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

/// An array of a value that is not split. array() refers to memory of this object.
class SizedArray {
 public:
  explicit SizedArray(const Type& type)
      : sizes_(type.shape.sizes()), begin_(sizes_.size()), array_{nullptr, type.dtype, sizes_, sizes_, begin_} {}
  SizedArray(const SizedArray&) = delete;
  SizedArray& operator=(const SizedArray&) = delete;
  [[nodiscard]] Array& array() { return array_; }

 private:
  std::vector<std::int64_t> sizes_, begin_;
  Array array_;
};

}  // namespace ferry
