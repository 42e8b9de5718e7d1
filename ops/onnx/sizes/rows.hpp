// Slicing, broadcasting and reshaping of values with a dim of a size that is known only when a step runs. In the graph
// such a dim is always the first of its value, wherever it is in the model (Out::perm).
#pragma once

#include <optional>

#include "ops/onnx/context.hpp"

namespace ferry::onnx {

/// x with dim `axis` in front of the others.
[[nodiscard]] Value to_front(const Value& x, int axis);
/// x as the value of the model that has the first `count` dims of x at `axis`.
[[nodiscard]] Out first_to(const Value& x, int axis, int count = 1);
/// Which dim of out.value each dim of the model's value is.
[[nodiscard]] Ints order_of(const Out& out);
/// x with dims of size 1 inserted at `axes`, which are sorted.
[[nodiscard]] Out unsqueezed(const Out& x, const Ints& axes);
/// The value with its elements in the model's order, without the dims of size 1 that precede the bounded one in the
/// model. Error(file) when other dims precede it.
[[nodiscard]] Value in_row_order(const Out& x);

/// The range that a slice takes along a dim. As in ONNX, negative places are counted from the end.
struct RowRange {
  Number begin, end;
  std::int64_t step = 1;
  /// Whether it ends at a symbolic size, which a plan knows; it is assumed that x has no fewer elements.
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

/// The first `count` rows of x, which must have that many.
[[nodiscard]] Value first_rows(Context& c, const Value& x, const Number& count);
/// 0, 1, 2 … below `count`. Error(file) when nothing bounds `count`.
[[nodiscard]] Value numbers_below(Context& c, const Number& count);

/// The sizes as numbers, if all of them are known.
[[nodiscard]] std::optional<Ints> all_known(const std::vector<Number>& sizes);
/// x broadcast to these sizes as ONNX's Expand does: a 1 keeps x's dim. One size may be known only in the step.
[[nodiscard]] Out expanded(Context& c, const Value& x, std::vector<Number> sizes);
/// x reshaped to these sizes. Sizes may be symbolic, and one may be -1; or a single one is known only in the step.
[[nodiscard]] Value reshaped(Context& c, const Value& x, const std::vector<Number>& sizes);

/// x reshaped to `sizes`. The first dim of x is bounded. The first size is 0 (as many rows as x has), -1 (as many as
/// there are elements for), or known only in the step, which then checks the number of rows. One of the others may be
/// -1.
[[nodiscard]] Value rows_reshaped(Context& c, const Value& x, const std::vector<Number>& sizes);

}  // namespace ferry::onnx
