#include "ops/build.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/format.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/math/logic.hpp"

namespace ferry {
namespace {

int depth_of(const Graph& graph) {
  int depth = 0;
  for (const Graph* at = graph.parent(); at != nullptr; at = at->parent()) ++depth;
  return depth;
}

/// Returns false for a floating-point literal beyond 2^53 that becomes an integer: it may already have been rounded.
bool is_exact(const Literal& number, DType dtype) {
  return number.is_integer() || !is_integer(dtype) || std::abs(number.real()) <= 0x1p53;
}

Error undefined_value(const SourceLine& line) {
  return Error(Code::plan, "an undefined value is used")
      .at(line)
      .hint("assign the Value before you use it: Value() has no op");
}

const Value& defined(const Operand& operand) {
  if (!operand.value().defined()) throw undefined_value(operand.line());
  return operand.value();
}

}  // namespace

Graph& graph_of(std::span<const Value> inputs, const SourceLine& line) {
  Graph* found = nullptr;
  int depth = -1;
  for (const Value& input : inputs) {
    if (!input.defined()) throw undefined_value(line);
    if (&input.graph() == found) continue;
    const int here = depth_of(input.graph());
    if (here > depth) {
      depth = here;
      found = &input.graph();
    }
  }
  if (found == nullptr)
    throw Error(Code::plan, "an op without inputs needs a graph").at(line).hint("add it by Graph::add()");
  return *found;
}

Scope caller_scope(Graph& graph, const SourceLine& line) {
  return graph.line(graph.line_for(line));
}

Values make(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& line) {
  return graph_of(inputs, line).add(def, inputs, std::move(attrs), line);
}

Value make_one(const OpDef& def, std::initializer_list<Value> inputs, const SourceLine& line, Attrs attrs) {
  return make(def, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attrs), line)[0];
}

void require_float(std::string_view what, const Value& x, const SourceLine& line) {
  if (is_float(x.dtype())) return;
  throw Error(Code::plan, "{}: the input '{}' is {}; it takes floating-point values", what, x.name(),
              name_of(x.dtype()))
      .at(x.graph().line_for(line))
      .hint("cast it to a floating-point dtype");
}

Value number_constant(Graph& graph, const Literal& number, DType dtype, const SourceLine& line) {
  if (!number.fits(dtype) || !is_exact(number, dtype))
    throw Error(Code::plan, "the number " + number.str() + " is not a value of " + std::string(name_of(dtype)))
        .at(graph.line_for(line))
        .hint(is_exact(number, dtype) ? "cast the other operand, or make a constant" : "write it as an integer");
  Tensor value(dtype, {});
  const DefaultFloats floats;
  dispatch(dtype, [&](auto zero) { value.mutable_data<decltype(zero)>()[0] = number.as<decltype(zero)>(); });
  return graph.add(kConstant, {}, {{"value", std::move(value)}}, line)[0];
}

Value make_binary(const OpDef& def, const Operand& a, const Operand& b) {
  const SourceLine line = a.line();
  if (a.is_number() && b.is_number())
    throw Error(Code::plan, std::string(def.name) + ": both operands are numbers")
        .at(line)
        .hint("make one of them a value: g.constant(2.0)");
  if (a.is_number()) {
    const Value& other = defined(b);
    return make_one(def, {number_constant(other.graph(), a.literal(), other.dtype(), line), other}, line);
  }
  if (b.is_number()) {
    const Value& other = defined(a);
    return make_one(def, {other, number_constant(other.graph(), b.literal(), other.dtype(), line)}, line);
  }
  const Values both = same_dtype({defined(a), defined(b)}, line);
  return make_one(def, {both[0], both[1]}, line);
}

Values same_dtype(Values values, const SourceLine& line) {
  if (values.empty()) return values;
  DType dtype = values[0].dtype();
  for (const Value& value : values) dtype = promoted(dtype, value.dtype());
  const Scope here = caller_scope(graph_of(values, line), line);
  for (Value& value : values) value = cast(value, dtype);
  return values;
}

Value zero_point(const Value& x, const Value& zero, const SourceLine& line) {
  return zero.defined() ? zero : number_constant(graph_of({{x}}, line), 0, x.dtype(), line);
}

void check_computed(std::string_view what, std::int64_t size, const SourceLine& line) {
  if (size <= kMostComputed) return;
  throw Error(Code::plan, "{} of {}; the limit is {}", as_is(what), size, kMostComputed).at(line);
}

Ints checked_axes(std::string_view what, const Value& x, Ints axes, const SourceLine& line) {
  const int rank = x.rank();
  if (axes.empty())
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  for (std::int64_t& axis : axes) {
    if (axis < -rank || axis >= rank)
      throw Error(Code::plan, std::string(what) + ": axis " + std::to_string(axis) + " is out of range for " +
                                  x.name() + " of rank " + std::to_string(rank))
          .at(x.graph().line_for(line));
    if (axis < 0) axis += rank;
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

bool surely_equal(const Shape& a, const Shape& b) {
  return std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end(), same_dim);
}

}  // namespace ferry
