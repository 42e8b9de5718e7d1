// Number: an integer that determines a size. It is known while a model is imported, when a plan is made (the size of a
// symbolic dim), or only when a step runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

struct Number {
  Number(std::int64_t known) : range(IntegerRange::of(known)) {}  // NOLINT: lists have known numbers and others
  Number(IntegerRange between, const Value& scalar) : range(std::move(between)), value(scalar) {}
  IntegerRange range;
  Value value;  ///< an int64 scalar; undefined where the number is known

  [[nodiscard]] bool known() const { return range.is_known(); }
  /// The name of the symbolic dim if the number is the dim's size; else empty.
  [[nodiscard]] std::string symbol() const {
    return range.symbols.size() == 1 && range.factor == 1 ? range.symbols[0] : std::string();
  }
  /// Whether the number is a product of the sizes of symbolic dims, which is known when a plan is made.
  [[nodiscard]] bool of_plan() const { return !range.symbols.empty(); }
  /// Whether the number is known only when a step runs.
  [[nodiscard]] bool of_step() const { return !known() && !of_plan(); }
  /// The number itself, if it is known.
  [[nodiscard]] std::int64_t number() const { return range.least; }
  [[nodiscard]] bool is(std::int64_t number) const { return range == IntegerRange::of(number); }
};

/// The number as an int64 scalar of the graph.
[[nodiscard]] Value scalar_of(Graph& graph, const Number& number);

[[nodiscard]] Number sum_of(Graph& graph, const Number& a, const Number& b);
[[nodiscard]] Number difference_of(Graph& graph, const Number& a, const Number& b);
[[nodiscard]] Number product_of(Graph& graph, const Number& a, const Number& b);
[[nodiscard]] Number smaller_of(Graph& graph, const Number& a, const Number& b);
[[nodiscard]] Number larger_of(Graph& graph, const Number& a, const Number& b);
/// a / step, rounded up; a >= 0, step >= 1.
[[nodiscard]] Number steps_of(Graph& graph, const Number& a, std::int64_t step);

/// The elements of x in row-major order. x has integers, and `ranges` are their ranges. Elements that are not known are
/// computed by ops on x. Nothing if x has more than one dim or no fixed size, or if an element has no bounds.
[[nodiscard]] std::optional<std::vector<Number>> numbers_of(const Value& x, const RangeList& ranges);

/// The size of x along `dim`.
[[nodiscard]] Number size_along(const Value& x, int dim);

}  // namespace ferry::onnx
