// Random numbers. Each element is a function of the op's name, `seed`, the session's seed, the step, the iterations of
// enclosing loops, and the element's index in the whole value. So splitting a value over tasks does not change its
// numbers. The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
//
// Errors: Error(plan) with the caller's line when shapes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Uniformly distributed numbers in [low, high). All sizes of the shape must be known. The dtype is floating-point.
/// Numbers of 16 bits are drawn as float32 and rounded, which may give `high` itself.
///
///     uniform(g, {2, 3}, -1, 1);  // float32[2,3]
Value uniform(Graph& graph, const Shape& shape, double low = 0, double high = 1, DType dtype = DType::float32,
              std::int64_t seed = 0, source_location at = source_location::current());

/// uniform() in the shape of x, for a shape with sizes that are not known before the step. For example, it makes a
/// dropout mask for the rows of a batch.
///
///     uniform_like(x, -1, 1);  // float32[2,3]
Value uniform_like(const Value& x, double low = 0, double high = 1, DType dtype = DType::float32, std::int64_t seed = 0,
                   source_location at = source_location::current());

/// Normally distributed numbers with this mean and standard deviation, by the Box-Muller transform. Shape and dtype as
/// for uniform().
///
///     normal(g, {2, 3}, 0, 0.02, DType::bfloat16);  // bfloat16[2,3]
Value normal(Graph& graph, const Shape& shape, double mean = 0, double stddev = 1, DType dtype = DType::float32,
             std::int64_t seed = 0, source_location at = source_location::current());

/// The rows of x (elements along dim 0) in a random order, which changes in every step. No gradient.
///
///     shuffle(x);  // float32[2,3]
Value shuffle(const Value& x, std::int64_t seed = 0, source_location at = source_location::current());

/// The ops, with their attributes in braces: RandomUniform {dtype, shape, low, high, seed, key}, RandomUniformLike
/// {dtype, low, high, seed, key}, RandomNormal {dtype, shape, mean, stddev, seed, key}, Shuffle {seed, key}. `key` (a
/// string, absent unless the op is a copy) replaces the op's name in the random numbers. It is the name of the
/// original, so that a copy draws the same numbers.
[[nodiscard]] std::span<const OpDef* const> random_ops();

}  // namespace ferry
#pragma GCC visibility pop
