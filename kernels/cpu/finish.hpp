// Reports to KernelRun::finish which parts of a kernel's output are complete.
#pragma once

#include "kernels/cpu/parallel.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// Reports `rows` runs of `length` elements of output 0, `step` apart, as complete.
inline void finish_rows(const KernelRun& run, std::int64_t first, std::int64_t length, std::int64_t rows,
                        std::int64_t step) {
  if (run.finish == nullptr) return;
  if (length == step)
    (*run.finish)({first, first + rows * length});
  else
    (*run.finish)({first, first + length, rows, step});
}

/// Reports the whole of output 0 as complete.
inline void finish_all(const KernelRun& run) {
  if (run.finish == nullptr) return;
  for_chunks(run.parallel, run.outputs[0].count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    (*run.finish)({begin, end});
  });
}

}  // namespace ferry::cpu
