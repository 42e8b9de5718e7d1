#include "ops/onnx/convert/bodies.hpp"

#include <set>
#include <string>

#include "base/error.hpp"
#include "base/format.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/onnx/importer/by_value.hpp"

namespace ferry::onnx {
namespace {

Type type_of(const BodyValue& element) {
  return element.known.defined() ? element.known.type() : element.type;
}

[[noreturn]] void fail_open(const Type& element) {
  const std::string why = formatted("it gives {} in each iteration, which has not one size", element.str());
  std::set<std::string> options;
  for (const Dim& dim : element.shape.dims())
    if (!dim.known() && !dim.symbol().empty()) options.insert(formatted("--dim {}=4", dim.symbol()));
  if (options.empty()) Context::fail(why);
  throw Error(Code::usage, why).hint(sizes_hint(options));
}

/// The sizes of stacked elements: the element's sizes with `rows` inserted as dim `axis`.
Ints sizes_with_rows(const Type& element, std::int64_t axis, std::int64_t rows) {
  if (!element.shape.fixed()) fail_open(element);
  Ints sizes = element.shape.sizes();
  sizes.insert(sizes.begin() + stacking_axis(axis, std::ssize(sizes) + 1), rows);
  return sizes;
}

/// The number of nodes of a body, including the nodes of inner bodies.
std::int64_t nodes_of(const GraphDef& body) {
  std::int64_t count = std::ssize(body.nodes);
  for (const ModelNode& node : body.nodes)
    for (const GraphDef* inner : node.bodies()) count += nodes_of(*inner);
  return count;
}

}  // namespace

Outs outs_of(const BodyOuts& results) {
  Outs outs{};
  outs.assign(results.begin(), results.end());
  return outs;
}

Values values_of(Context& c, const BodyOuts& results) {
  Values values;
  for (const Out& out : results) values.push_back(identity(c.value(out)));
  return values;
}

bool is_too_long(const GraphDef& body, std::int64_t times) {
  return times > kMostValues || times * (nodes_of(body) + 1) > kMostAgain;
}

void check_unrolled(std::int64_t times) {
  if (times <= kMostValues) return;
  if (times == IntegerRange::kHighest)
    throw Error(Code::file, "nothing ends the loop: it has no trip count, and its condition is true in {} iterations",
                kMostValues)
        .hint("give it a trip count, its input M, or a condition that becomes false");
  throw Error(Code::file, "its body would be written out {} times; the limit is {} times", times, kMostValues)
      .hint("give it fewer iterations, or the same sizes in each iteration, so that it stays a loop");
}

std::int64_t stacking_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank)
    Context::fail("axis " + std::to_string(axis) + " is out of range for " + std::to_string(rank) + " dims");
  return axis < 0 ? axis + rank : axis;
}

Value stacked(Context& c, const BodyOuts& elements, std::int64_t axis) {
  Values rows;
  for (const Out& element : elements) rows.push_back(expand_dims(c.value(element), {axis}));
  return concat(rows, axis);
}

Tensor empty_stack(const BodyValue& element, std::int64_t axis) {
  const Type type = type_of(element);
  return {type.dtype, sizes_with_rows(type, axis, 0)};
}

Value make_space_for(Context& c, const BodyValue& element, std::int64_t most) {
  const Type type = type_of(element);
  return broadcast_to(c.graph().constant(Tensor(type.dtype, Ints{})), sizes_with_rows(type, 0, most));
}

Value with_row(const Value& room, const Value& at, const Value& element) {
  const Value row = expand_dims(element, {0});
  return scatter_nd(room, reshape(at, {1, 1}), row);
}

}  // namespace ferry::onnx
