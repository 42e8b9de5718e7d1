// Images changed at random, so that a network sees other ones in each epoch. What is drawn for an image is a function
// of the op's name, `seed`, the session's seed, the step and the image's number in the batch (as in
// ops/math/random.hpp): a batch that is split over tasks is changed as one that is not.
//
// Images are [n, …, height, width, …]: `axis` is the dim of the height, the next one that of the width, dim 0 counts
// the images. So axis 1 for [n, height, width, channels], 2 for [n, channels, height, width]. Of any dtype.
//
// Errors: Error(plan) with the caller's line when axis or padding do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

namespace ferry {

/// Each image as it is or with left and right exchanged, each with probability 1/2.
Value random_flip(const Value& images, std::int64_t axis = 1, std::int64_t seed = 0,
                  source_location at = source_location::current());
/// Each image with `padding` zeros on all four sides, cut to its old size at a place drawn evenly.
Value random_crop(const Value& images, std::int64_t padding, std::int64_t axis = 1, std::int64_t seed = 0,
                  source_location at = source_location::current());

/// RandomFlip {axis, seed, key}, RandomCrop {axis, padding, seed, key}. `key`: as in random_ops().
[[nodiscard]] std::span<const OpDef* const> augment_ops();

}  // namespace ferry
