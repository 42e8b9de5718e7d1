// Types as arrays without data: what is found of a kernel's arrays when it runs, its geometry, found before.
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
