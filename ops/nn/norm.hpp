// Normalisation of values over some dims: to mean 0 and variance 1, or to a norm of 1.
//
// Floating-point. Sums are taken over the whole value where it is split over tasks. Errors: all functions throw
// Error(plan), with the caller's line, when shapes, axes or dtypes do not fit.
#pragma once

#include <cstdint>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The results of normalize(); mean and inverse have size 1 in the axes.
struct Normalized {
  Value y;
  Value mean;
  Value inverse;  ///< 1 / sqrt(variance + epsilon)
};
/// (x - m) / sqrt(v + epsilon), with the mean m and variance v of x over `axes` (none: all).
Normalized normalize(const Value& x, Ints axes, double epsilon = 1e-5, source_location at = source_location::current());

/// normalize() along `axis`, times scale, plus offset. scale and offset: [size of the axis] for the last axis, else any
/// shape that is broadcast to x.
Value layer_norm(const Value& x, const Value& scale, const Value& offset, std::int64_t axis = -1, double epsilon = 1e-5,
                 source_location at = source_location::current());

/// x / sqrt(mean of x * x over `axes` + epsilon) * scale, which is broadcast to x (Zhang and Sennrich, "Root mean
/// square layer normalization", 2019).
Value rms_norm(const Value& x, const Value& scale, Ints axes = {-1}, double epsilon = 1e-5,
               source_location at = source_location::current());

/// The results of batch_norm(); mean and variance, [channels], are for running averages.
struct NormalizedBatch {
  Value y, mean, variance;
};
/// Normalises each channel of x [n,channels,…] with its mean and variance over all else in the batch: in training.
/// scale, offset: [channels].
NormalizedBatch batch_norm(const Value& x, const Value& scale, const Value& offset, double epsilon = 1e-5,
                           source_location at = source_location::current());
/// The same with given mean and variance, [channels]: after training.
Value batch_norm(const Value& x, const Value& scale, const Value& offset, const Value& mean, const Value& variance,
                 double epsilon = 1e-5, source_location at = source_location::current());

/// Normalises each channel of each image of x [n,channels,d1,…] by itself. scale, offset: [channels].
Value instance_norm(const Value& x, const Value& scale, const Value& offset, double epsilon = 1e-5,
                    source_location at = source_location::current());

/// Normalises the channels of each image of x [n,channels,…], cut into `groups` equal blocks, block by block (Wu and
/// He, "Group normalization", 2018). scale, offset: [channels]. All sizes except n must be known.
Value group_norm(const Value& x, std::int64_t groups, const Value& scale, const Value& offset, double epsilon = 1e-5,
                 source_location at = source_location::current());

/// x / (bias + alpha / size * sum of squares of `size` channels around)^beta, of x [n,channels,…] (Krizhevsky et al.,
/// 2012, with alpha divided by size as in ONNX). An even size takes one channel more after than before. All sizes
/// except n must be known.
Value local_response_norm(const Value& x, std::int64_t size, double alpha = 1e-4, double beta = 0.75, double bias = 1,
                          source_location at = source_location::current());

/// x / (sum of |x|^p along `axis`)^(1/p), p being 1 or 2; 0 where all are 0.
Value lp_normalize(const Value& x, std::int64_t axis = -1, int p = 2, source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
