// Batches: the rows of its data that an op such as Batch outputs in each step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "graph/types/shape.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The rows of an array, batch after batch, epoch after epoch. Each step has one batch.
struct Batches {
  std::int64_t rows = 1;  ///< the rows of the array, at least `size`
  std::int64_t size = 1;  ///< the rows of a whole batch, at least 1
  bool keep = false;  ///< whether an epoch has a last, smaller batch with the remaining rows; else they are left out

  /// The rows of a step: `count` rows from `first` on, in the order of its epoch.
  struct Place {
    std::int64_t epoch = 0, first = 0, count = 0;
  };

  /// The number of rows of the last batch of an epoch.
  [[nodiscard]] constexpr std::int64_t last() const { return keep && rows % size != 0 ? rows % size : size; }
  /// Whether the last batch is smaller than the others. If so, an epoch has at least two batches.
  [[nodiscard]] constexpr bool uneven() const { return last() != size; }
  /// The number of steps of an epoch.
  [[nodiscard]] constexpr std::int64_t steps() const { return rows / size + (uneven() ? 1 : 0); }
  /// Whether a step has the last batch of its epoch, and this batch is smaller than the others.
  [[nodiscard]] constexpr bool is_smaller(std::int64_t step) const { return uneven() && step % steps() == steps() - 1; }
  /// The first step after `step` with a batch of another size. Precondition: uneven().
  [[nodiscard]] constexpr std::int64_t next_change(std::int64_t step) const {
    return step + std::max<std::int64_t>(steps() - 1 - step % steps(), 1);
  }
  /// The rows of a step. They depend only on the number of the step, so that a restored session continues with the
  /// right rows.
  [[nodiscard]] constexpr Place at(std::int64_t step) const {
    return {step / steps(), step % steps() * size, is_smaller(step) ? last() : size};
  }
  /// The number of rows in all steps before `step`.
  [[nodiscard]] constexpr std::int64_t before(std::int64_t step) const {
    return step * size - (uneven() ? step / steps() * (size - last()) : 0);
  }

  /// Dim 0 of the op's outputs: the symbol "200_of_1797" if the number of rows depends on the step.
  [[nodiscard]] Dim dim() const { return uneven() ? Dim(symbol()) : Dim(size); }
  /// The symbol of dim(). Equal batches have equal symbols.
  [[nodiscard]] std::string symbol() const { return std::to_string(size) + "_of_" + std::to_string(rows); }

  bool operator==(const Batches&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
