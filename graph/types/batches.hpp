// Batches: which rows of its data an op such as Batch gives in each step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "graph/types/shape.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The rows of an array, batch after batch, epoch after epoch. Each step has one batch.
struct Batches {
  std::int64_t rows = 1;  ///< of the array, at least `size`
  std::int64_t size = 1;  ///< of a whole batch, at least 1
  bool keep = false;      ///< the last batch of an epoch has the rows that fill no whole one; else they are left out

  /// What a step takes: the rows from `first` on, in the order of its epoch.
  struct Place {
    std::int64_t epoch = 0, first = 0, count = 0;
  };

  /// How many rows the last batch of an epoch has.
  [[nodiscard]] constexpr std::int64_t last() const { return keep && rows % size != 0 ? rows % size : size; }
  /// Whether the last batch is smaller than the others. Then there are others.
  [[nodiscard]] constexpr bool uneven() const { return last() != size; }
  /// Steps of an epoch.
  [[nodiscard]] constexpr std::int64_t steps() const { return rows / size + (uneven() ? 1 : 0); }
  /// Whether a step has the last batch of its epoch, and that is smaller than the others.
  [[nodiscard]] constexpr bool is_smaller(std::int64_t step) const { return uneven() && step % steps() == steps() - 1; }
  /// The first step after this one with a batch of another size. Precondition: uneven().
  [[nodiscard]] constexpr std::int64_t next_change(std::int64_t step) const {
    return step + std::max<std::int64_t>(steps() - 1 - step % steps(), 1);
  }
  /// Computed only from the step, so that a restored session continues with the right rows.
  [[nodiscard]] constexpr Place at(std::int64_t step) const {
    return {step / steps(), step % steps() * size, is_smaller(step) ? last() : size};
  }
  /// Rows in the steps before that one.
  [[nodiscard]] constexpr std::int64_t before(std::int64_t step) const {
    return step * size - (uneven() ? step / steps() * (size - last()) : 0);
  }

  /// Dim 0 of what the op gives: "200_of_1797" where the step decides how many rows there are.
  [[nodiscard]] Dim dim() const { return uneven() ? Dim(symbol()) : Dim(size); }
  /// The name of that size. Equal batches have equal names.
  [[nodiscard]] std::string symbol() const { return std::to_string(size) + "_of_" + std::to_string(rows); }

  bool operator==(const Batches&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
