// Random augmentation of images, so that a network sees different images in each epoch. The random numbers for an image
// are a function of the op's name, `seed`, the session's seed, the step and the image's number in the batch (as in
// ops/math/random.hpp). So splitting a batch over tasks does not change the numbers.
//
// Images are [n, …, height, width, …] of any dtype. `axis` is the dim of the height, the next dim is the width, and dim
// 0 is the number of images. So axis is 1 for [n, height, width, channels] and 2 for [n, channels, height, width].
//
// Errors: Error(plan) with the caller's line if axis or padding do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Exchanges left and right of each image with probability 1/2. No gradient.
///
///     random_flip(images, 2);  // float32[8,3,32,32]
Value random_flip(const Value& images, std::int64_t axis = 1, std::int64_t seed = 0,
                  source_location at = source_location::current());

/// Pads each image with `padding` zeros on all four sides, then crops it to its old size at a uniformly random
/// position. No gradient.
///
///     random_crop(images, 4, 2);  // float32[8,3,32,32]
Value random_crop(const Value& images, std::int64_t padding, std::int64_t axis = 1, std::int64_t seed = 0,
                  source_location at = source_location::current());

/// The ops, with their attributes in braces: RandomFlip {axis, seed, key}, RandomCrop {axis, padding, seed, key}. `key`
/// is described at random_ops().
[[nodiscard]] std::span<const OpDef* const> augment_ops();

}  // namespace ferry
#pragma GCC visibility pop
