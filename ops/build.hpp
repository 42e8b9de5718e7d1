// Helpers of builder functions: the graph that an op is added to, common dtypes, numbers as operands. Not for users.
//
// Ops are numbered in the order in which they are made, and C++ does not specify in which order the operands of one
// expression are evaluated. So a builder never makes ops in two operands of one expression: every compiler must give
// the same graph.
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

/// What quantized numbers are.
inline constexpr DTypeSet kBytes{DType::int8, DType::uint8};

/// The attributes of ops that take `axes` alone.
inline constexpr AttrDef kAxesAttr[] = {{"axes", "ints"}};

/// OpDef::same of an op that does nothing whenever the types are equal.
inline int same_as_input(const OpFacts&) {
  return 0;
}

/// The graph to which an op with these inputs is added: the innermost of the inputs' graphs. Error(plan) at `line` when
/// an input is undefined, or when there are no inputs.
[[nodiscard]] Graph& graph_of(std::span<const Value> inputs, const SourceLine& line);

/// For use in a builder function: ops made while the scope lives get `line`, the line of the builder's caller. If the
/// builder is itself called by another builder or for a gradient, they get the line of that one instead.
[[nodiscard]] Scope derived(Graph& graph, const SourceLine& line);

/// Appends an op to the graph of its inputs.
Values make(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& line);
/// The first output of such an op.
Value make_one(const OpDef& def, std::initializer_list<Value> inputs, const SourceLine& line, Attrs attrs = {});

/// The values, cast to the dtype to which numpy would promote them (promoted(), graph/types/dtype.hpp).
[[nodiscard]] Values same_dtype(Values values, const SourceLine& line);

/// An op of two operands. One operand may be a number; it takes the dtype of the other operand. Two values get one
/// dtype as same_dtype() says. Error(plan) when the dtype cannot hold the number, or when both operands are numbers.
Value make_binary(const OpDef& def, const Operand& a, const Operand& b);

/// float16 or bfloat16.
[[nodiscard]] inline bool is_half(DType dtype) {
  return is_float(dtype) && size_of(dtype) == 2;
}

/// f(values) for an f that makes several ops. The floating-point values are first cast to one dtype; if that has 16
/// bits, f computes in float32, so that its result is rounded only once. Call it within the scope of derived().
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

/// `zero`, the zero point of quantized numbers x; if it is undefined, a scalar 0 of their dtype.
Value zero_point(const Value& x, const Value& zero, const SourceLine& line);

/// The limit of sizes that builders compute with, and of the elements of constants that they make from sizes, so that a
/// hostile file can neither overflow a sum nor fill the memory. Beyond it check_computed() throws Error(plan), which
/// names `what`.
inline constexpr std::int64_t kMostComputed = std::int64_t{1} << 28;
void check_computed(std::string_view what, std::int64_t size, const SourceLine& line);

/// `axes` as dims of x: negative ones are counted from the end, the result is sorted and has each once; none means all.
/// Error(plan), which names `what`, when one is out of range.
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
