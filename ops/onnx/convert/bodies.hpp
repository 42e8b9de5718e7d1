// Bodies of loops, for the converters of Loop and Scan. For ops/onnx/convert alone.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/onnx/converters.hpp"

namespace ferry::onnx {

/// The outputs of a body.
using BodyOuts = std::vector<Out>;

[[nodiscard]] Outs outs_of(const BodyOuts& results);

/// The results as values of ops that are made in the body itself.
[[nodiscard]] Values values_of(Context& c, const BodyOuts& results);

/// Whether a copy of the body for each of `times` iterations is too much to plan. Such a loop remains a loop.
[[nodiscard]] bool is_too_long(const GraphDef& body, std::int64_t times);

/// Refuses to unroll a body too often: each iteration gives an input of the op that joins their results.
void check_written(std::int64_t times);

/// The dim, counted from the front, along which results of `rank` dims are stacked. Error(file) when it is out of
/// range.
[[nodiscard]] std::int64_t stacking_axis(std::int64_t axis, std::int64_t rank);

/// Stacks one element of each iteration along a new dim `axis`.
[[nodiscard]] Value stacked(Context& c, const BodyOuts& elements, std::int64_t axis);

/// The stacked elements of no iterations: an empty tensor. Error(usage) when the element's size is open, Error(file)
/// when the data decide it.
[[nodiscard]] Tensor none_of(const Tried& element, std::int64_t axis);

/// Zeros with room for the elements of at most `most` iterations, along dim 0. Errors as none_of().
[[nodiscard]] Value room_for(Context& c, const Tried& element, std::int64_t most);

/// `room` with the element of the body's results in row `at`, an int64 scalar.
[[nodiscard]] Value with_row(const Value& room, const Value& at, const Value& element);

}  // namespace ferry::onnx
