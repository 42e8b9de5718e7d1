// Random augmentation of images, so that a network sees different ones in each epoch. The random numbers for an image
// are a function of the op's name, `seed`, the session's seed, the step and the image's number in the batch (as in
// ops/math/random.hpp). So splitting a batch over tasks does not change the numbers.
//
// Images are [n, …, height, width, …] of any dtype: `axis` is the dim of the height, the next dim is the width, and dim
// 0 counts the images. So axis is 1 for [n, height, width, channels], 2 for [n, channels, height, width].
//
// Errors: Error(plan) with the caller's line when axis or padding do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Each image with left and right exchanged with probability 1/2, else as it is.
Value random_flip(const Value& images, std::int64_t axis = 1, std::int64_t seed = 0,
                  source_location at = source_location::current());
/// Each image padded with `padding` zeros on all four sides, then cropped to its old size at a uniformly random place.
Value random_crop(const Value& images, std::int64_t padding, std::int64_t axis = 1, std::int64_t seed = 0,
                  source_location at = source_location::current());

/// RandomFlip {axis, seed, key}, RandomCrop {axis, padding, seed, key}. `key`: as in random_ops().
[[nodiscard]] std::span<const OpDef* const> augment_ops();

}  // namespace ferry
#pragma GCC visibility pop
