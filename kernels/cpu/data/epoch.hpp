// Which rows of an array a step takes.
#pragma once

#include <cstdint>

#include "base/hash.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// A step takes the rows from `first` on, in the order of its epoch.
struct EpochPlace {
  std::int64_t epoch = 0, first = 0;
};

/// Computed from the step alone, so that a restored session continues with the right rows.
[[nodiscard]] constexpr EpochPlace epoch_place(std::int64_t step, std::int64_t rows, std::int64_t batch) {
  const std::int64_t steps = rows / batch;
  return {step / steps, step % steps * batch};
}

/// The random key from which the order of an epoch is drawn (draw_order, with the epoch as time). It is the same for
/// all ops of one seed, so that arrays that are batched by several ops (Batch, BatchFile) get the same rows.
[[nodiscard]] inline std::uint64_t epoch_key(const KernelSetup& setup) {
  return Hasher().add("Batch").add(setup.attrs.get<std::int64_t>("seed")).add(setup.seed).digest();
}

}  // namespace ferry::cpu
