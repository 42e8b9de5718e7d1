#include "ops/build.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "graph/core_ops.hpp"

namespace ferry {
namespace {

int depth_of(const Graph& graph) {
  int depth = 0;
  for (const Graph* at = graph.parent(); at != nullptr; at = at->parent()) ++depth;
  return depth;
}

std::string text_of(double number) {
  std::string text = std::to_string(number);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool fits(double number, DType dtype) {
  if (is_float(dtype)) return true;
  if (dtype == DType::boolean) return number == 0 || number == 1;
  if (std::floor(number) != number) return false;
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond, a double is not every integer
  switch (dtype) {
    case DType::uint8:
      return number >= 0 && number <= std::numeric_limits<std::uint8_t>::max();
    case DType::int32:
      return number >= std::numeric_limits<std::int32_t>::min() && number <= std::numeric_limits<std::int32_t>::max();
    default:
      return std::abs(number) <= kExact;
  }
}

const Value& defined(const Operand& operand) {
  if (!operand.value().defined()) throw Error(Code::plan, "an undefined value is used").at(operand.line());
  return operand.value();
}

}  // namespace

Graph& graph_of(std::span<const Value> inputs, const SourceLine& line) {
  Graph* found = nullptr;
  int depth = -1;
  for (const Value& input : inputs) {
    if (!input.defined()) throw Error(Code::plan, "an undefined value is used").at(line);
    if (&input.graph() == found) continue;
    const int here = depth_of(input.graph());
    if (here > depth) {
      depth = here;
      found = &input.graph();
    }
  }
  if (found == nullptr) throw Error(Code::plan, "an op without inputs needs a graph").at(line);
  return *found;
}

Scope derived(Graph& graph, const SourceLine& line) {
  return graph.line(graph.line_for(line));
}

Values make(const OpDef& def, std::span<const Value> inputs, Attrs attrs, const SourceLine& line) {
  return graph_of(inputs, line).add(def, inputs, std::move(attrs), line);
}

Value make_one(const OpDef& def, std::initializer_list<Value> inputs, const SourceLine& line, Attrs attrs) {
  return make(def, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attrs), line)[0];
}

Value number_constant(Graph& graph, double number, DType dtype, const SourceLine& line) {
  if (!fits(number, dtype))
    throw Error(Code::plan, "the number " + text_of(number) + " is not a value of " + std::string(name_of(dtype)))
        .at(line)
        .hint("cast the other operand, or make a constant");
  Tensor value(dtype, {});
  dispatch(dtype, [&](auto zero) { value.mutable_data<decltype(zero)>()[0] = static_cast<decltype(zero)>(number); });
  return graph.add(kConstant, {}, {{"value", std::move(value)}}, line)[0];
}

Value make_binary(const OpDef& def, const Operand& a, const Operand& b) {
  const SourceLine line = a.line();
  if (a.is_number() && b.is_number())
    throw Error(Code::plan, std::string(def.name) + ": both operands are numbers").at(line);
  if (a.is_number()) {
    const Value& other = defined(b);
    return make_one(def, {number_constant(other.graph(), a.number(), other.dtype(), line), other}, line);
  }
  if (b.is_number()) {
    const Value& other = defined(a);
    return make_one(def, {other, number_constant(other.graph(), b.number(), other.dtype(), line)}, line);
  }
  return make_one(def, {a.value(), b.value()}, line);
}

Ints checked_axes(std::string_view what, const Value& x, Ints axes, const SourceLine& line) {
  const int rank = x.rank();
  if (axes.empty())
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  for (std::int64_t& axis : axes) {
    if (axis < -rank || axis >= rank)
      throw Error(Code::plan, std::string(what) + ": axis " + std::to_string(axis) + " is out of range for " +
                                  x.name() + " of rank " + std::to_string(rank))
          .at(line);
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
