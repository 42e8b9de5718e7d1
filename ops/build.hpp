// For builder functions: where an op goes, numbers as operands, notation from ranks. Not for users.
//
// Ops are numbered as they are made, and C++ leaves open in which order the operands of one expression are computed. So
// a builder never makes ops in two operands of one expression: every compiler must give the same graph.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "graph/op/index_notation.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"
#include "ops/math/logic.hpp"

namespace ferry {

/// The notation of ops on two values' elements, which are broadcast.
inline constexpr std::string_view kBinary = "...,...->...";

/// The attributes of ops along dims and of nothing else.
inline constexpr AttrDef kAxesAttr[] = {{"axes", "ints"}};

/// The graph that an op of these inputs belongs to: the innermost one. Error(plan) at `line` when one is undefined, or
/// when there is none.
[[nodiscard]] Graph& graph_of(std::span<const Value> inputs, const SourceLine& line);

/// Ops made while the scope lives, within a builder function, have the line of that function's caller; or, when it is
/// called by another builder or for a gradient, the line that is given to those.
[[nodiscard]] Scope derived(Graph& graph, const SourceLine& line);

/// Appends an op to the graph of its inputs.
Values make(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& line);
/// The first output of such an op.
Value make_one(const OpDef& def, std::initializer_list<Value> inputs, const SourceLine& line, Attrs attrs = {});

/// The values, cast where their dtypes differ to the one that numpy would take (promoted(), graph/types/dtype.hpp).
[[nodiscard]] Values same_dtype(Values values, const SourceLine& line);

/// An op of two operands, of which one may be a number: it takes the other's dtype. Two values get one dtype as
/// same_dtype() says. Error(plan) when the number is none of that dtype.
Value make_binary(const OpDef& def, const Operand& a, const Operand& b);

/// float16 or bfloat16.
[[nodiscard]] inline bool is_half(DType dtype) {
  return is_float(dtype) && size_of(dtype) == 2;
}

/// f(values), of several ops on floating-point values that are cast to one dtype. If that has 16 bits, f computes in
/// float32 and its result is rounded once. Call it within the scope of derived().
template <class F>
Value in_float32(const Values& given, const SourceLine& line, const F& f) {
  Values values = same_dtype(given, line);
  const DType dtype = values[0].dtype();
  if (!is_half(dtype)) return f(values);
  for (Value& value : values) value = cast(value, DType::float32);
  return cast(f(values), dtype);
}

/// A number as a scalar constant. Error(plan) when `dtype` cannot hold it.
Value number_constant(Graph& graph, const Literal& number, DType dtype, const SourceLine& line);

/// Sizes that builders compute with, and elements of constants that they make from sizes: a file that says more must
/// not overflow a sum or fill the memory. Error(plan) names `what`.
inline constexpr std::int64_t kMostComputed = std::int64_t{1} << 28;
void check_computed(std::string_view what, std::int64_t size, const SourceLine& line);

/// Axes as dims of a value of `rank`: counted from the end when negative, sorted, each once; none means all.
/// Error(plan) names `what`.
[[nodiscard]] Ints checked_axes(std::string_view what, const Value& x, Ints axes, const SourceLine& line);

/// Whether the dim certainly has one element.
[[nodiscard]] inline bool is_one(const Dim& dim) {
  return dim.size() == 1 && !dim.bounded();
}
/// Whether the two are certainly equal: a dim that is not known and has no name equals nothing.
[[nodiscard]] inline bool same_dim(const Dim& a, const Dim& b) {
  return a == b && (a.known() || !a.symbol().empty());
}
[[nodiscard]] bool surely_equal(const Shape& a, const Shape& b);

}  // namespace ferry
