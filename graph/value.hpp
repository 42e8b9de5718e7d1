// Value: a handle to one output of one op. Literal: a number as the user wrote it. Operand: a Value or a Literal.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/id.hpp"
#include "base/source_location.hpp"
#include "graph/types/layout.hpp"
#include "graph/types/shape.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class Graph;
class Op;

/// Index of an op in its graph, in the order in which ops were added (a topological order).
using OpId = Id<Op>;
/// Index of a value in its graph; the outputs of an op are consecutive.
using ValueId = Id<class Value>;

/// One output of one op. A small handle, valid as long as its graph. Undefined when default-constructed. Thread-safe as
/// its graph.
///
///     Value y = x * 2;
///     y.type().str();  // "float32[2,3]"
///     y.rank();        // 2
class Value {
 public:
  Value() = default;
  Value(Graph* graph, ValueId id) : graph_(graph), id_(id) {}

  /// Whether this is an output of an op. Only defined(), copies and assignments are allowed for other values.
  [[nodiscard]] bool defined() const { return graph_ != nullptr; }
  /// The graph that has the value.
  [[nodiscard]] Graph& graph() const { return *graph_; }
  /// The value's number in the graph.
  [[nodiscard]] ValueId id() const { return id_; }
  /// The op that has this output.
  [[nodiscard]] Op op() const;
  /// The dtype and shape; shape(), dtype() and rank() are parts of it.
  [[nodiscard]] const Type& type() const;
  [[nodiscard]] const Shape& shape() const { return type().shape; }
  [[nodiscard]] DType dtype() const { return type().dtype; }
  [[nodiscard]] int rank() const { return shape().rank(); }
  /// "matmul_1", or "split:2" for a later output.
  [[nodiscard]] std::string name() const;

  /// Renames the op of this value, in the current name scope. Error(plan) if the name is taken.
  ///
  ///     (x + 1).named("y").name();  // "y"
  Value named(std::string_view name) const;

  /// Sets the layout of this value on the mesh of its op (Graph::on), with one entry for each axis.
  ///
  ///     auto everywhere = g.on(g.mesh("data"));
  ///     Value rows = identity(x).laid({split(0)});  // each task has some rows
  Value laid(const Layout& layout) const;

  /// Whether both are the same output of the same op. Use equal() (ops/math/logic.hpp) to compare elements.
  [[nodiscard]] bool is(const Value& other) const { return graph_ == other.graph_ && id_ == other.id_; }

 private:
  Graph* graph_ = nullptr;
  ValueId id_ = 0;
};

/// Deleted, because it would compare handles and return a bool now, instead of comparing elements in a step.
template <class T>
bool operator==(const Value&, const T&) = delete;  // use equal(a, b) for elements, and a.is(b) for handles

using Values = std::vector<Value>;

/// The arithmetic types of C++ except bool.
template <class T>
concept Number = (std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>;

/// A number as the user wrote it; an integer keeps all its 64 bits. Functions take it as an argument; numbers convert
/// to it implicitly.
///
///     Literal(300).fits(DType::uint8);  // false
///     Literal(2.5).real();              // 2.5
class Literal {
 public:
  template <class T>
  requires std::integral<T> || std::floating_point<T> Literal(T number)  // NOLINT
      : real_(static_cast<double>(number)) {
    if constexpr (std::integral<T>) {
      integer_ = true;
      negative_ = std::is_signed_v<T> && number < T{0};
      bits_ = static_cast<std::uint64_t>(number);
    }
  }

  /// Whether the user wrote an integer.
  [[nodiscard]] bool is_integer() const { return integer_; }
  /// The number as float64; an integer beyond 2^53 is rounded.
  [[nodiscard]] double real() const { return real_; }
  /// The number as T, an element type that can hold it. Precondition: fits() is true for the dtype of T.
  template <class T>
  [[nodiscard]] T as() const {
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
      if (integer_) return static_cast<T>(bits_);
    return static_cast<T>(real_);
  }
  /// Whether the dtype can hold the number (see holds()).
  [[nodiscard]] bool fits(DType dtype) const;
  /// The number as text.
  [[nodiscard]] std::string str() const;

 private:
  double real_;
  std::uint64_t bits_ = 0;  // in two's complement
  bool integer_ = false, negative_ = false;
};

/// An argument of an op, made by implicit conversion, so that it carries the line of the user's expression.
/// A number becomes a scalar constant of the other operand's dtype.
///
///     2 * x + 1;  // [[3 5 7] [9 11 13]]
class Operand {
 public:
  Operand(const Value& value, source_location at = source_location::current())  // NOLINT
      : value_(value), at_(at) {}
  template <Number T>
  Operand(T number, source_location at = source_location::current())  // NOLINT
      : number_(number), is_number_(true), at_(at) {}
  Operand(std::same_as<bool> auto, source_location = {}) = delete;  // use equal(a, b), a < b, … for elements

  /// Whether the user wrote a number; else value() is the argument.
  [[nodiscard]] bool is_number() const { return is_number_; }
  /// The number.
  [[nodiscard]] const Literal& literal() const { return number_; }
  /// The number as float64.
  [[nodiscard]] double number() const { return number_.real(); }
  /// The value; undefined if the argument is a number.
  [[nodiscard]] const Value& value() const { return value_; }
  /// The line of the user's expression.
  [[nodiscard]] SourceLine line() const { return at_; }

 private:
  Value value_;
  Literal number_ = 0;
  bool is_number_ = false;
  source_location at_;
};

}  // namespace ferry
#pragma GCC visibility pop
