// Bad values: a kernel on a GPU reports that it cannot use the value of an input. Kernels of the CPU throw BadValue
// instead.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// The kind of a bad value.
enum class Bad : std::int32_t {
  zero_divisor,  ///< an integer is divided by zero
  label,         ///< `value` is not one of the `size` classes
  length,        ///< `value` is not a length of sequence `place`, which has `size` steps
  image,         ///< `value` is not the index of one of the `size` images, for region `place`
  row,           ///< `value` is not the index of one of the `size` rows
  index,         ///< the index `value` is out of range for a dim of `size`
  position,      ///< `value` is not one of the `size` positions
};

/// The first bad value that a device has found. It is in memory that the host and the device share.
struct BadRecord {
  std::int32_t is_set;
  Bad what;
  std::int64_t input;  ///< number of the kernel's input
  std::int64_t value, size, place;
  const void* tag;  ///< of the launch
};

/// The exception that the CPU's kernel would throw.
[[nodiscard]] BadValue bad_value(const BadRecord& record);

/// An argument of kernels that may find bad values.
struct BadReport {
  std::int32_t* claimed = nullptr;  ///< in the device's memory: whether a thread has begun to write the record
  BadRecord* record = nullptr;
  const void* tag = nullptr;

  /// Reports a bad value. Only the first report is kept. The kernel then continues with some other value.
#ifdef __CUDACC__
  __device__ void operator()(Bad what, std::int64_t input, std::int64_t value = 0, std::int64_t size = 0,
                             std::int64_t place = 0) const {
    if (atomicCAS(claimed, 0, 1) != 0) return;
    record->what = what;
    record->input = input;
    record->value = value;
    record->size = size;
    record->place = place;
    record->tag = tag;
    __threadfence_system();
    record->is_set = 1;
  }
#else
  void operator()(Bad what, std::int64_t input, std::int64_t value = 0, std::int64_t size = 0,
                  std::int64_t place = 0) const {
    if (*claimed != 0) return;
    *claimed = 1;
    *record = {1, what, input, value, size, place, tag};
  }
#endif
};

/// The report for this run of a kernel.
[[nodiscard]] BadReport report_of(const KernelRun& run);

}  // namespace ferry::cuda
