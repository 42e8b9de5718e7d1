// Values of which a dim has a size that only the step knows: cut, filled and put in order. Such a dim is the first of a
// value of the graph, wherever the model has it (Out::perm).
#pragma once

#include <optional>

#include "ops/onnx/context.hpp"

namespace ferry::onnx {

/// x with dim `axis` in front of the others.
[[nodiscard]] Value to_front(const Value& x, int axis);
/// A value whose first `count` dims the model has at `axis`.
[[nodiscard]] Out first_to(const Value& x, int axis, int count = 1);
/// Which dim of out.value each dim of the model's value is.
[[nodiscard]] Ints order_of(const Out& out);
/// x with dims of 1 put in at `axes`, which are sorted.
[[nodiscard]] Out unsqueezed(const Out& x, const Ints& axes);
/// The value with its elements in the model's order: without the dims of 1 that the model has in front of the bounded
/// one. Error(file) where others are there.
[[nodiscard]] Value in_row_order(const Out& x);

/// The range that a slice takes along a dim. As in ONNX, negative places are counted from the end.
struct RowRange {
  Number begin, end;
  std::int64_t step = 1;
  /// Whether it ends at a size that a plan knows; x is taken to have that size.
  [[nodiscard]] bool of_plan() const { return begin.known() && end.of_plan(); }
};
/// The part of x in that range along `dim`, which must be the first dim if only the step knows how long the range is.
[[nodiscard]] Value rows_between(Context& c, const Value& x, int dim, const RowRange& range);
/// The slices of one node, one after another.
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

/// The first `count` rows of x, which has as many.
[[nodiscard]] Value first_rows(Context& c, const Value& x, const Number& count);
/// 0, 1, 2 … below `count`. Error(file) where its range is open.
[[nodiscard]] Value numbers_below(Context& c, const Number& count);

/// The sizes where all of them are known.
[[nodiscard]] std::optional<Ints> all_known(const std::vector<Number>& sizes);
/// x broadcast to these sizes as ONNX's Expand does: a 1 keeps x's dim. One of them may be a number of the step.
[[nodiscard]] Out expanded(Context& c, const Value& x, std::vector<Number> sizes);
/// x with these sizes, some of which a plan knows; one may be -1. Or a single one is a number of the step.
[[nodiscard]] Value reshaped(Context& c, const Value& x, const std::vector<Number>& sizes);

/// x, the first dim of which is bounded, with `sizes`. The first of them is 0 (as many rows), -1 (as many as there are
/// elements for), or a number of the step, which each step checks to be that of the rows. One of the others may be -1.
[[nodiscard]] Value rows_reshaped(Context& c, const Value& x, const std::vector<Number>& sizes);

}  // namespace ferry::onnx
