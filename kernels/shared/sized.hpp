// Types as arrays without data, so that a kernel's geometry, which is usually computed from its arrays at run time, can
// be computed earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/types/shape.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

/// Of a value that is not split. Its array points into it.
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
