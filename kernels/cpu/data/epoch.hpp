// Code that ops share if they output the rows of a step.
#pragma once

#include <cstdint>

#include "base/hash.hpp"
#include "graph/types/batches.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// The batches of one plan: either all whole batches, or all batches that end an epoch with fewer rows.
class PlannedBatches {
 public:
  PlannedBatches(const KernelSetup& setup, std::int64_t rows)
      : all_{.rows = rows, .size = setup.attrs.get<std::int64_t>("batch"), .keep = setup.attrs.has("rest")},
        rows_(setup.attrs.get_or<std::int64_t>("rows", all_.size)) {}

  /// Whether the plan is for the smaller batches.
  [[nodiscard]] bool smaller() const { return rows_ != all_.size; }
  /// The place of a step's rows. Precondition: the batch of the step has the size of the plan's batches.
  [[nodiscard]] Batches::Place at(std::int64_t step) const;
  /// Converts between a step and its number among the steps of the plan.
  [[nodiscard]] std::int64_t number_of(std::int64_t step) const {
    if (!all_.uneven()) return step;
    return smaller() ? step / all_.steps() : step - step / all_.steps();
  }
  [[nodiscard]] std::int64_t step_of(std::int64_t number) const {
    if (!all_.uneven()) return number;
    const std::int64_t others = all_.steps() - 1;
    return smaller() ? number * all_.steps() + others : number + number / others;
  }

 private:
  Batches all_;
  std::int64_t rows_;  ///< the rows of each batch
};

/// The random key for the order of an epoch (draw_order, with the epoch as time). It is the same for all ops with one
/// seed. So several ops (Batch, BatchFile) that batch several arrays select the same rows.
[[nodiscard]] inline std::uint64_t epoch_key(const KernelSetup& setup) {
  return Hasher().add("Batch").add(setup.attrs.get<std::int64_t>("seed")).add(setup.seed).digest();
}

}  // namespace ferry::cpu
