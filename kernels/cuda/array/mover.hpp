// CudaMover: runs the copies of kernels that move elements (kernels/shared/move_arrays.hpp and others) on a GPU.
#pragma once

#include "kernels/shared/element_bits.hpp"
#include "kernels/shared/strided_copy.hpp"

namespace ferry::cuda {

struct CudaMover {
  static void copy(const KernelRun& run, StridedCopy& copy, DType dtype, const std::byte* from, std::byte* to);
  static void fill(const KernelRun& run, StridedCopy& copy, DType dtype, ElementBits element, std::byte* to);
  static void place(const KernelRun& run, StridedCopy& copy, const std::byte* from, const Array& to,
                    ElementBits element);
};

}  // namespace ferry::cuda
