// Converters of sequences of tensors and of optional values. While a model is imported, the lengths of sequences are
// known, and also which optional values have an element. So these values are lists in the importer, and need no ops.
#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

using List = std::vector<Out>;

/// Reads input `i`, an index into a list of `size` elements; a negative index counts from the end. With `behind`, the
/// index may also be the position after the last element.
std::size_t read_index(Context& c, int i, std::size_t size, bool behind) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t given = c.whole_number(i), at = given < 0 ? given + count : given;
  if (at < 0 || at >= count + (behind ? 1 : 0))
    Context::fail("position " + std::to_string(given) + " in a sequence of " + std::to_string(size));
  return static_cast<std::size_t>(at);
}

Outs to_empty(Context& c) {
  c.no_effect({"dtype"});
  return Out(List());
}

Outs to_construct(Context& c) {
  List list;
  for (int i = 0; i < c.inputs(); ++i) list.push_back(c.out(i));
  return Out(std::move(list));
}

Outs to_insert(Context& c) {
  List list = c.list(0);
  const std::size_t at = c.has(2) ? read_index(c, 2, list.size(), true) : list.size();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), c.out(1));
  return Out(std::move(list));
}

Outs to_erase(Context& c) {
  List list = c.list(0);
  if (list.empty()) Context::fail("the sequence is empty");
  const std::size_t at = c.has(1) ? read_index(c, 1, list.size(), false) : list.size() - 1;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  return Out(std::move(list));
}

Outs to_at(Context& c) {
  const List& list = c.list(0);
  return list[read_index(c, 1, list.size(), false)];
}

Outs to_length(Context& c) {
  return Tensor::scalar(static_cast<std::int64_t>(c.list(0).size()));
}

/// SplitToSequence: splits a value into parts of one size, parts of given sizes, or single elements. Single elements
/// lose the dim unless keepdims is set.
Outs to_split(Context& c) {
  const int axis = c.axis(0, c.integer("axis", 0));
  const std::int64_t size = c.size(0, axis);
  Ints sizes;
  if (c.has(1) && c.rank(1) > 0) {
    sizes = c.ints(1);
  } else {
    const std::int64_t each = c.has(1) ? c.whole_number(1) : 1;
    if (each < 1) Context::fail("parts of " + std::to_string(each) + " elements");
    if (size / each >= kMostValues)
      Context::fail(std::to_string(size) + " elements in parts of " + std::to_string(each) + "; the limit is " +
                    std::to_string(kMostValues) + " parts");
    for (std::int64_t at = 0; at < size; at += each) sizes.push_back(std::min(each, size - at));
  }
  List list;
  const bool kept = c.integer("keepdims", 1) != 0, whole = c.has(1) || kept;
  if (!sizes.empty())
    for (const Value& part : split(c.in(0), axis, sizes)) list.emplace_back(whole ? part : squeeze(part, {axis}));
  return Out(std::move(list));
}

Outs to_concat(Context& c) {
  const std::int64_t axis = c.integer("axis");
  const bool fresh = c.integer("new_axis", 0) != 0;
  Values parts;
  for (const Out& element : c.list(0)) {
    const Value value = c.value(element);
    parts.push_back(fresh ? expand_dims(value, {axis}) : value);
  }
  return concat(parts, axis);
}

/// SequenceMap: runs the body for each element of the first input, a sequence. Other inputs that are sequences
/// contribute the corresponding element.
Outs to_map(Context& c) {
  const GraphDef& body = c.body("body");
  const std::size_t count = c.list(0).size();
  std::vector<List> lists(body.outputs.size());
  for (std::size_t k = 0; k < count; ++k) {
    List given;
    for (int i = 0; i < c.inputs(); ++i) {
      const Out input = c.out(i);
      if (input.list != nullptr && input.list->size() != count)
        Context::fail("sequences of " + std::to_string(count) + " and " + std::to_string(input.list->size()));
      given.push_back(input.list != nullptr ? (*input.list)[k] : input);
    }
    const List results = c.build(body, given);
    for (std::size_t o = 0; o < lists.size(); ++o) lists[o].push_back(results[o]);
  }
  Outs outs{};
  for (List& list : lists) outs.emplace_back(std::move(list));
  return outs;
}

// ---- Optional values ----

Outs to_optional(Context& c) {
  return c.has(0) ? c.out(0) : Out();
}

Outs to_has_element(Context& c) {
  return Tensor::scalar(c.has(0));
}

Outs to_get_element(Context& c) {
  return c.out(0);
}

constexpr ConvertOp kSequence[] = {
    {"Optional", 15, to_optional},
    {"OptionalGetElement", 15, to_get_element},
    {"OptionalHasElement", 15, to_has_element},
    {"SequenceMap", 17, to_map},
    {"ConcatFromSequence", 11, to_concat},
    {"SequenceAt", 11, to_at},
    {"SequenceConstruct", 11, to_construct},
    {"SequenceEmpty", 11, to_empty},
    {"SequenceErase", 11, to_erase},
    {"SequenceInsert", 11, to_insert},
    {"SequenceLength", 11, to_length},
    {"SplitToSequence", 11, to_split},
};

}  // namespace

std::span<const ConvertOp> sequence_converters() {
  return kSequence;
}

}  // namespace ferry::onnx
