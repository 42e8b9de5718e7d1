// Slicing, broadcasting and reshaping of values with a dim of a size that is known only when a step runs. In the graph
// such a dim is always the first of its value, wherever it is in the model (Out::perm).
#pragma once

#include <optional>

#include "ops/onnx/context.hpp"

namespace ferry::onnx {

/// x with dim `axis` moved to the front.
[[nodiscard]] Value to_front(const Value& x, int axis);
/// x with its first `count` dims moved to position `axis`.
[[nodiscard]] Out first_to(const Value& x, int axis, int count = 1);
/// For each dim of the model's value, the index of the same dim in out.value.
[[nodiscard]] Ints order_of(const Out& out);
/// x with dims of size 1 inserted at `axes`, which are sorted.
[[nodiscard]] Out unsqueezed(const Out& x, const Ints& axes);
/// The value with its elements in the model's order. If Out::perm is set, dims of size 1 are removed. Throws
/// Error(file) if dims of other sizes precede the bounded dim in the model.
[[nodiscard]] Value in_row_order(const Out& x);

/// The range that a slice takes along a dim. As in ONNX, negative positions are counted from the end.
struct RowRange {
  Number begin, end;
  std::int64_t step = 1;
  /// Whether the range ends at a symbolic size, which is known when a plan is made. x is assumed to have at least that
  /// size.
  [[nodiscard]] bool of_plan() const { return begin.known() && end.of_plan(); }
};
/// The part of x in `range` along `dim`. If the length of the range is known only when a step runs, `dim` must be the
/// first dim.
[[nodiscard]] Value rows_between(Context& c, const Value& x, int dim, const RowRange& range);
/// Applies the slices of one node, one after another.
class Slices {
 public:
  Slices(Context& c, const Out& x) : c_(c), value_(x.value), order_(order_of(x)) {}
  void take(std::int64_t axis, const RowRange& range);
  [[nodiscard]] Out result() const { return arranged(value_, order_); }

 private:
  /// Makes dim `dim` the first.
  void bring_to_front(std::int64_t dim);

  Context& c_;
  Value value_;
  Ints order_;  ///< as Out::perm
};

/// The first `count` rows of x, which must have at least `count` rows.
[[nodiscard]] Value first_rows(Context& c, const Value& x, const Number& count);
/// The vector 0, 1, 2 … count - 1. Throws Error if `count` has no upper bound.
[[nodiscard]] Value numbers_below(Context& c, const Number& count);

/// The sizes as numbers, if all of them are known.
[[nodiscard]] std::optional<Ints> all_known(const std::vector<Number>& sizes);
/// x broadcast to these sizes as by ONNX's Expand: a size of 1 keeps the dim of x. At most one size may be known only
/// when a step runs.
[[nodiscard]] Out expanded(Context& c, const Value& x, std::vector<Number> sizes);
/// x reshaped to these sizes. Either sizes may be symbolic and one may be -1, or a single size is known only when a
/// step runs and all other sizes are known.
[[nodiscard]] Value reshaped(Context& c, const Value& x, std::vector<Number> sizes);

/// Reshapes x, which has a bounded first dim, to `sizes`. The first size is 0 (as many rows as x has), -1 (computed
/// from the number of elements), or known only when a step runs; then the step checks the number of rows. One other
/// size may be -1.
[[nodiscard]] Value rows_reshaped(Context& c, const Value& x, const std::vector<Number>& sizes);

}  // namespace ferry::onnx
