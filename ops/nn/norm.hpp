// Normalisation of values over some dims: to mean 0 and variance 1, or to norm 1.
//
// Values are floating-point. If a value is split over tasks, sums are over the whole value. Errors: all functions throw
// Error(plan), with the caller's line, when shapes, axes or dtypes do not fit.
#pragma once

#include <cstdint>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The results of normalize(); mean and inverse have size 1 in the dims `axes`.
struct Normalized {
  Value y;        ///< the normalized x
  Value mean;     ///< of x
  Value inverse;  ///< 1 / sqrt(variance + epsilon)
};

/// (x - m) / sqrt(v + epsilon), with the mean m and variance v of x over `axes` (empty: all dims).
///
///     normalize(g.constant({1.0, 3.0}), {}).y;  // [-0.999995 0.999995]
Normalized normalize(const Value& x, Ints axes, double epsilon = 1e-5, source_location at = source_location::current());

/// normalize() along `axis`, times scale, plus offset. If `axis` is the last dim, scale and offset are [size of the
/// dim]; else they have any shape that is broadcast to x.
///
///     layer_norm(x, g.constant({1.0, 1.0, 1.0}), g.constant({0.0, 0.0, 0.0}));  // float32[2,3]
Value layer_norm(const Value& x, const Value& scale, const Value& offset, std::int64_t axis = -1, double epsilon = 1e-5,
                 source_location at = source_location::current());

/// x / sqrt(mean of x * x over `axes` + epsilon) * scale; scale is broadcast to x (Zhang and Sennrich, "Root mean
/// square layer normalization", 2019).
///
///     rms_norm(g.constant({3.0, 4.0}), g.constant({1.0, 1.0}));  // [0.848528 1.13137]
Value rms_norm(const Value& x, const Value& scale, Ints axes = {-1}, double epsilon = 1e-5,
               source_location at = source_location::current());

/// The results of batch_norm(). mean and variance, [channels], are for running averages.
struct NormalizedBatch {
  Value y, mean, variance;  ///< the normalized x, and the mean and variance of the batch
};

/// For training: normalises each channel of x [n,channels,…] by its mean and variance over all other dims of the batch.
/// scale and offset are [channels].
///
///     Value scale = g.input("scale", {3}), offset = g.input("offset", {3});
///     batch_norm(images, scale, offset).y;  // float32[8,3,32,32]
NormalizedBatch batch_norm(const Value& x, const Value& scale, const Value& offset, double epsilon = 1e-5,
                           source_location at = source_location::current());

/// For inference: normalises each channel of x [n,channels,…] by the given mean and variance. scale, offset, mean and
/// variance are [channels].
///
///     Value one = g.constant({1.0, 1.0, 1.0}), zero = g.constant({0.0, 0.0, 0.0});
///     batch_norm(x, one, zero, zero, one);  // float32[2,3]
Value batch_norm(const Value& x, const Value& scale, const Value& offset, const Value& mean, const Value& variance,
                 double epsilon = 1e-5, source_location at = source_location::current());

/// Normalises each channel of each image of x [n,channels,d1,…] separately. scale and offset are [channels].
///
///     Value scale = g.input("scale", {3}), offset = g.input("offset", {3});
///     instance_norm(images, scale, offset);  // float32[8,3,32,32]
Value instance_norm(const Value& x, const Value& scale, const Value& offset, double epsilon = 1e-5,
                    source_location at = source_location::current());

/// Normalises each image of x [n,channels,…] in `groups` equal blocks of channels, each block separately (Wu and He,
/// "Group normalization", 2018). scale and offset are [channels]. All sizes except n must be known.
///
///     Value scale = g.input("scale", {3}), offset = g.input("offset", {3});
///     group_norm(images, 1, scale, offset);  // float32[8,3,32,32]
Value group_norm(const Value& x, std::int64_t groups, const Value& scale, const Value& offset, double epsilon = 1e-5,
                 source_location at = source_location::current());

/// x / (bias + alpha / size * sum of squares of the `size` channels around)^beta, for x [n,channels,…] (Krizhevsky et
/// al., 2012, with alpha divided by size as in ONNX). If `size` is even, there is one more channel after than before.
/// All sizes except n must be known.
///
///     local_response_norm(images, 5);  // float32[8,3,32,32]
Value local_response_norm(const Value& x, std::int64_t size, double alpha = 1e-4, double beta = 0.75, double bias = 1,
                          source_location at = source_location::current());

/// x / (sum of |x|^p along `axis`)^(1/p), for p 1 or 2; 0 if all elements are 0.
///
///     lp_normalize(g.constant({3.0, 4.0}));  // [0.6 0.8]
Value lp_normalize(const Value& x, std::int64_t axis = -1, int p = 2, source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
