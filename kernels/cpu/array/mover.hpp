// CpuMover: runs the copies of kernels that move elements (kernels/shared/move_arrays.hpp and others).
#pragma once

#include "kernels/cpu/array/strided.hpp"
#include "kernels/shared/element_bits.hpp"

namespace ferry::cpu {

struct CpuMover {
  static void copy(const KernelRun& run, StridedCopy& copy, DType dtype, const std::byte* from, std::byte* to) {
    run_copy(run.parallel, copy, dtype, from, to);
  }
  static void fill(const KernelRun& run, StridedCopy& copy, DType dtype, ElementBits element, std::byte* to) {
    run_copy(run.parallel, copy, dtype, reinterpret_cast<const std::byte*>(&element), to);
  }
  static void place(const KernelRun& run, StridedCopy& copy, const std::byte* from, const Array& to,
                    ElementBits element) {
    cpu::fill(run.parallel, to, &element);
    run_copy(run.parallel, copy, to.dtype, from, to.data);
  }
};

}  // namespace ferry::cpu
