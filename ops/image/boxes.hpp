// Bounding boxes of objects in images.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Non-maximum suppression: of boxes that overlap, only the box with the highest score is kept. `boxes` [batch, n, 4]
/// are two opposite corners y, x, y, x, or with `centres` the centre x, y, the width and the height. `scores` are
/// [batch, classes, n]. For each image and class, the boxes with a score above `score` are visited from the highest
/// score down (boxes with equal scores in their order). A box is kept unless its intersection over union with a kept
/// box is above `overlap`; at most `most` boxes are kept. The result, int64 [m, 3], has a row of image, class and box
/// for each kept box; m is a bounded dim. `boxes` and `scores` may also be [n, 4] and [n], for image 0 and class 0;
/// then n may be bounded.
///
///     Value boxes = g.constant({{0.0, 0.0, 1.0, 1.0}, {0.0, 0.0, 1.0, 0.9}, {2.0, 2.0, 3.0, 3.0}});
///     non_max_suppression(boxes, g.constant({0.9, 0.8, 0.7}), 10, 0.5, 0.1);  // [[0 0 0] [0 0 2]]
Value non_max_suppression(const Value& boxes, const Value& scores, std::int64_t most, double overlap, double score,
                          bool centres = false, source_location at = source_location::current());

/// The op, with its attributes in braces: NonMaxSuppression(boxes, scores) {most, overlap, score, centres}.
[[nodiscard]] std::span<const OpDef* const> box_ops();

}  // namespace ferry
#pragma GCC visibility pop
