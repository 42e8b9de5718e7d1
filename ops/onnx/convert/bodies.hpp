// Bodies of loops, for the converters of Loop and Scan. Only for ops/onnx/convert.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/onnx/converters.hpp"

namespace ferry::onnx {

/// The outputs of a body.
using BodyOuts = std::vector<Out>;

[[nodiscard]] Outs outs_of(const BodyOuts& results);

/// The results as values of ops that are made in the body itself, even if a result is a value from outside the body.
[[nodiscard]] Values values_of(Context& c, const BodyOuts& results);

/// Whether unrolling the loop, with a copy of the body for each of `times` iterations, is too much to plan. Such a loop
/// is imported as a loop.
[[nodiscard]] bool is_too_long(const GraphDef& body, std::int64_t times);

/// Throws an error if a body would be unrolled too often: each iteration becomes an input of the op that joins their
/// results.
void check_unrolled(std::int64_t times);

/// The dim, counted from the front, along which results are stacked; the stacked result has `rank` dims. Error(file) if
/// `axis` is out of range.
[[nodiscard]] std::int64_t stacking_axis(std::int64_t axis, std::int64_t rank);

/// Stacks the elements of all iterations along a new dim `axis`.
[[nodiscard]] Value stacked(Context& c, const BodyOuts& elements, std::int64_t axis);

/// The stacked elements of no iterations: an empty tensor. Error(usage) if the element's size is open, Error(file) if
/// the data decide it.
[[nodiscard]] Tensor empty_stack(const BodyValue& element, std::int64_t axis);

/// Zeros with space for the elements of at most `most` iterations, along dim 0. Throws the errors of empty_stack().
[[nodiscard]] Value make_space_for(Context& c, const BodyValue& element, std::int64_t most);

/// Returns `room` with row `at` (an int64 scalar) replaced by `element`.
[[nodiscard]] Value with_row(const Value& room, const Value& at, const Value& element);

}  // namespace ferry::onnx
