// Boxes around things in images.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

namespace ferry {

/// The boxes that remain when of those that overlap only the one with the highest score is kept. boxes [batch, n, 4]:
/// two opposite corners y, x, y, x, or with `centres` the centre x, y, the width and the height; scores [batch,
/// classes, n]. For each image and class, boxes with a score above `score` are taken from the highest on, the first of
/// equal ones first, unless the area that one shares with one taken before, over the area that both cover, is above
/// `overlap`; at most `most` of them. The result, int64 [m, 3], has a row of image, class and box for each; m is a
/// bounded dim. Or boxes [n, 4] and scores [n], of image 0 and class 0; n may be bounded.
Value non_max_suppression(const Value& boxes, const Value& scores, std::int64_t most, double overlap, double score,
                          bool centres = false, source_location at = source_location::current());

/// NonMaxSuppression(boxes, scores) {most, overlap, score, centres}.
[[nodiscard]] std::span<const OpDef* const> box_ops();

}  // namespace ferry
