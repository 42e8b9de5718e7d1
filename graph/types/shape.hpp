// Shapes: the sizes of a value, as far as the graph knows them.
//
// A dim is fixed, bounded (a static upper bound; the extent is known when the step runs), symbolic ("batch": known when
// a plan is made) or unknown. A plan needs every dim fixed or bounded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/types/dtype.hpp"
#include "graph/types/shared_list.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// One dim of a shape. Equal symbols mean equal sizes. An unknown dim without a symbol may have any size.
///
///     Dim(3).str();           // "3"
///     Dim("batch").known();   // false
///     Dim::at_most(9).str();  // "<=9"
class Dim {
 public:
  Dim(std::int64_t size) : size_(size) {}  // NOLINT: implicit, so that {2, 3} is a shape
  /// A named size that the feeds decide: Dim("batch").
  Dim(std::string_view symbol) : size_(kOpen), symbol_(symbol) {}  // NOLINT
  Dim(const char* symbol) : Dim(std::string_view(symbol)) {}       // NOLINT

  /// A dim of any size, without a name.
  [[nodiscard]] static Dim unknown() { return Dim(std::string_view()); }
  /// A bounded dim: at most `bound` elements; the actual number is known only when the step runs.
  [[nodiscard]] static Dim at_most(std::int64_t bound) {
    Dim dim(bound);
    dim.bounded_ = true;
    return dim;
  }

  /// Whether the size, or its bound, is a number.
  [[nodiscard]] bool known() const { return size_ != kOpen; }
  /// Whether size() is only an upper bound.
  [[nodiscard]] bool bounded() const { return bounded_; }
  /// Whether the size is the same in every step: known, and not bounded.
  [[nodiscard]] bool fixed() const { return known() && !bounded_; }
  /// The size, or the bound of a bounded dim; -1 if not known.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The name of a symbolic dim; empty for other dims.
  [[nodiscard]] const std::string& symbol() const { return symbol_; }
  /// "3", "batch", "?", "<=10".
  [[nodiscard]] std::string str() const;

  bool operator==(const Dim&) const = default;

 private:
  static constexpr std::int64_t kOpen = -1;
  std::int64_t size_;
  bool bounded_ = false;
  std::string symbol_;
};

/// The dims of a value, outermost first. A scalar has none. Copies share their dims until one is changed.
///
///     Shape shape{"batch", 784};
///     shape.rank();   // 2
///     shape.known();  // false
///     shape.str();    // "[batch,784]"
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims);
  explicit Shape(std::vector<Dim> dims);
  explicit Shape(std::span<const std::int64_t> sizes);

  /// The number of dims.
  [[nodiscard]] int rank() const { return static_cast<int>(dims_.size()); }
  [[nodiscard]] const Dim& operator[](int i) const { return dims_[i]; }
  [[nodiscard]] Dim& operator[](int i);
  /// The dims, outermost first.
  [[nodiscard]] const std::vector<Dim>& dims() const { return dims_.vector(); }
  /// Adds an innermost dim.
  void push_back(Dim dim);

  /// Whether every dim is known or bounded.
  [[nodiscard]] bool known() const;
  /// Whether a dim is bounded.
  [[nodiscard]] bool bounded() const;
  /// Whether every dim is fixed: the sizes are the same in every step.
  [[nodiscard]] bool fixed() const { return known() && !bounded(); }
  /// Sizes and bounds as numbers; all dims must be known.
  [[nodiscard]] std::vector<std::int64_t> sizes() const;
  /// Product of sizes and bounds; all dims must be known. Error(plan) when it overflows int64.
  [[nodiscard]] std::int64_t count() const;
  /// "[2,batch,<=10]"; "[]" for a scalar.
  [[nodiscard]] std::string str() const;

  bool operator==(const Shape&) const = default;

 private:
  SharedList<Dim> dims_;
};

/// The product of sizes. Throws Error(plan) for a negative size, or if the product of the sizes other than 0 overflows
/// int64.
[[nodiscard]] std::int64_t checked_count(std::span<const std::int64_t> sizes);

/// The dtype and shape of a value.
///
///     Type{DType::int32, {2, 3}}.bytes();  // 24
struct Type {
  DType dtype = DType::float32;  ///< of the elements
  Shape shape;                   ///< its sizes, outermost first; {}: a scalar

  /// Bytes of a value with its bounded dims at their bounds; all dims must be known. Error(plan) on overflow of int64.
  [[nodiscard]] std::int64_t bytes() const;
  /// "float32[2,3]".
  [[nodiscard]] std::string str() const;
  bool operator==(const Type&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
