// Helpers of builder functions, not for users: the graph to which an op is added, common dtypes, numbers as operands.
//
// Ops are numbered in the order of their creation, and C++ does not specify the evaluation order of the operands of an
// expression. So a builder must not make ops in two operands of one expression: the graph must be the same with every
// compiler.
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

/// The index notation of elementwise ops on two inputs, which are broadcast.
inline constexpr std::string_view kBinary = "...,...->...";

/// The dtypes of quantized numbers.
inline constexpr DTypeSet kQuantized{DType::int8, DType::uint8};

/// The attributes of ops that have only `axes`.
inline constexpr AttrDef kAxesAttr[] = {{"axes", "ints"}};

/// OpDef::same of an op that changes nothing if its input and output types are equal.
inline int same_as_input(const OpFacts&) {
  return 0;
}

/// The graph to which an op with these inputs is added: the innermost of the inputs' graphs. Error(plan) at `line` if
/// an input is undefined, or if there are no inputs.
[[nodiscard]] Graph& graph_of(std::span<const Value> inputs, const SourceLine& line);

/// For use in a builder function: ops made while the scope lives get `line`, the line of the builder's caller. If the
/// scope of another builder, or of a gradient, is already in force, they get its line instead.
[[nodiscard]] Scope caller_scope(Graph& graph, const SourceLine& line);

/// Appends an op to the graph of its inputs.
Values make(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& line);
/// Appends an op to the graph of its inputs, and returns its first output.
Value make_one(const OpDef& def, std::initializer_list<Value> inputs, const SourceLine& line, Attrs attrs = {});

/// Casts the values to the dtype to which numpy would promote them (promoted(), graph/types/dtype.hpp).
[[nodiscard]] Values same_dtype(Values values, const SourceLine& line);

/// Makes an op of two operands. One operand may be a number; it takes the dtype of the other operand. Two values are
/// cast as by same_dtype(). Error(plan) if the dtype cannot represent the number, or if both operands are numbers.
Value make_binary(const OpDef& def, const Operand& a, const Operand& b);

/// float16 or bfloat16.
[[nodiscard]] inline bool is_half(DType dtype) {
  return is_float(dtype) && size_of(dtype) == 2;
}

/// Computes f(values), for an f that makes several ops. The floating-point values are first cast to one dtype. If it
/// has 16 bits, f computes in float32, so that its result is rounded only once. Call it within the scope of
/// caller_scope().
template <class F>
Value in_float32(const Values& given, const SourceLine& line, const F& f) {
  Values values = same_dtype(given, line);
  const DType dtype = values[0].dtype();
  if (!is_half(dtype)) return f(values);
  for (Value& value : values) value = cast(value, DType::float32);
  return cast(f(values), dtype);
}

/// Throws Error(plan), which names the function `what`, unless x is floating-point. Like the errors of the other checks
/// here, it has the line of the outermost builder's caller: x.graph().line_for(line).
void require_float(std::string_view what, const Value& x, const SourceLine& line);

/// A number as a scalar constant. Error(plan) if `dtype` cannot represent it.
Value number_constant(Graph& graph, const Literal& number, DType dtype, const SourceLine& line);

/// The zero point of quantized numbers x: `zero`, or a scalar 0 of x's dtype if `zero` is undefined.
Value zero_point(const Value& x, const Value& zero, const SourceLine& line);

/// The limit of the sizes that builders compute with, and of the number of elements of constants that they make from
/// sizes. Because of it, a malicious file can neither overflow a sum nor fill the memory. check_computed() throws
/// Error(plan), which names `what`, if `size` is above it.
inline constexpr std::int64_t kMostComputed = std::int64_t{1} << 28;
void check_computed(std::string_view what, std::int64_t size, const SourceLine& line);

/// `axes` as dims of x, sorted and without duplicates. Negative axes are counted from the end; no axes means all dims.
/// Error(plan), which names `what`, if an axis is out of range.
[[nodiscard]] Ints checked_axes(std::string_view what, const Value& x, Ints axes, const SourceLine& line);

/// Whether the dim certainly has one element.
[[nodiscard]] inline bool is_one(const Dim& dim) {
  return dim.size() == 1 && !dim.bounded();
}
/// Whether the two dims are certainly equal. An unknown dim without a name is equal to no dim.
[[nodiscard]] inline bool same_dim(const Dim& a, const Dim& b) {
  return a == b && (a.known() || !a.symbol().empty());
}
[[nodiscard]] bool surely_equal(const Shape& a, const Shape& b);

}  // namespace ferry
