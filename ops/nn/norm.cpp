#include "ops/nn/norm.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry {
namespace {

void check_channels(std::string_view what, const Value& x, const SourceLine& line) {
  if (x.rank() >= 2) return;
  throw Error(Code::plan, std::string(what) + ": of " + x.name() + " " + x.shape().str() + ", which has no channels")
      .at(line)
      .hint("dim 1 has the channels: give [n,channels,…]");
}

/// The dims after the channels.
Ints image_dims(const Value& x) {
  Ints dims;
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

/// A value [channels] with dims of size 1 added, so that it can be broadcast to x [n,channels,…].
Value per_channel(const Value& value, const Value& x) {
  Ints axes;
  for (int d = 2; d < x.rank(); ++d) axes.push_back(d - 1);
  return expand_dims(value, axes);
}

/// y times a scale, plus an offset, for each channel.
Value scaled(const Value& y, const Value& scale, const Value& offset) {
  const Value factors = per_channel(scale, y);
  const Value product = y * factors;
  return product + per_channel(offset, y);
}

/// The mean and variance of a value along some dims. `around` is the value minus its mean, which is rounded. If the
/// deviations are small compared with the mean, the rounding error may be as large as the deviations. `mean_error` is
/// this error, computed from `around`. It corrects the results.
struct Moments {
  Value average, mean_error, variance;

  Moments(const Value& rounded, const Value& around, const Ints& axes, bool keep_dims)
      : average(rounded), mean_error(stop_gradient(mean(around, axes, keep_dims))) {
    const Value squares = mean(square(around), axes, keep_dims);
    variance = maximum(squares - square(mean_error), 0);
  }
};

/// The number of elements of dims [from, rank), which must be known.
std::int64_t elements_from(std::string_view what, const Value& x, int from, const SourceLine& line) {
  Ints sizes;
  for (int d = from; d < x.rank(); ++d) {
    if (!x.shape()[d].known())
      throw Error(Code::plan, std::string(what) + ": of " + x.name() + " " + x.shape().str() + ": dim " +
                                  std::to_string(d) + " must be known")
          .at(line)
          .hint("declare the input with a number for that dim");
    sizes.push_back(x.shape()[d].size());
  }
  return checked_count(sizes);
}

}  // namespace

Normalized normalize(const Value& x, Ints axes, double epsilon, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  require_float("normalize", x, at);
  if (is_half(x.dtype())) {
    const Normalized wide = normalize(cast(x, DType::float32), std::move(axes), epsilon, at);
    return {cast(wide.y, x.dtype()), cast(wide.mean, x.dtype()), cast(wide.inverse, x.dtype())};
  }
  const Value average = mean(x, axes, true);
  const Value around = x - average;
  const Moments of(average, around, axes, true);
  const Value inverse = rsqrt(of.variance + epsilon);
  const Value turned = around * inverse;
  return {turned - of.mean_error * inverse, average + of.mean_error, inverse};
}

Value layer_norm(const Value& x, const Value& scale, const Value& offset, std::int64_t axis, double epsilon,
                 source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  return in_float32({x, scale, offset}, at, [&](const Values& v) {
    require_float("layer_norm", v[0], at);
    const Ints axes = checked_axes("layer_norm", v[0], {axis}, at);
    return normalize(v[0], axes, epsilon).y * v[1] + v[2];
  });
}

Value rms_norm(const Value& x, const Value& scale, Ints axes, double epsilon, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  return in_float32({x, scale}, at, [&](const Values& v) {
    require_float("rms_norm", v[0], at);
    const Ints checked = checked_axes("rms_norm", v[0], axes, at);
    const Value squares = mean(square(v[0]), checked, true);
    return v[0] * rsqrt(squares + epsilon) * v[1];
  });
}

NormalizedBatch batch_norm(const Value& x, const Value& scale, const Value& offset, double epsilon,
                           source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  require_float("batch_norm", x, at);
  check_channels("batch_norm", x, at);
  if (is_half(x.dtype())) {
    const NormalizedBatch wide = batch_norm(cast(x, DType::float32), scale, offset, epsilon, at);
    return {cast(wide.y, promoted(x.dtype(), promoted(scale.dtype(), offset.dtype()))), cast(wide.mean, x.dtype()),
            cast(wide.variance, x.dtype())};
  }
  Ints axes = image_dims(x);
  axes.push_back(0);
  const Value average = mean(x, axes);
  const Value around = x - per_channel(average, x);
  const Moments of(average, around, axes, false);
  const Value factor = rsqrt(of.variance + epsilon) * scale;
  return {scaled(around, factor, offset - of.mean_error * factor), average + of.mean_error, of.variance};
}

Value batch_norm(const Value& x, const Value& scale, const Value& offset, const Value& mean, const Value& variance,
                 double epsilon, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  check_channels("batch_norm", x, at);
  return in_float32({x, scale, offset, mean, variance}, at, [&](const Values& v) {
    require_float("batch_norm", v[0], at);
    const Value factor = rsqrt(v[4] + epsilon) * v[1];
    const Value centred = v[0] - per_channel(v[3], v[0]);
    return scaled(centred, factor, v[2]);
  });
}

Value instance_norm(const Value& x, const Value& scale, const Value& offset, double epsilon, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  if (x.rank() < 3)
    throw Error(Code::plan, "instance_norm: of " + x.name() + " " + x.shape().str() + ", which has no images")
        .at(at)
        .hint("give [n,channels,…] with at least one dim after the channels");
  return in_float32({x, scale, offset}, at,
                    [&](const Values& v) { return scaled(normalize(v[0], image_dims(v[0]), epsilon).y, v[1], v[2]); });
}

Value group_norm(const Value& x, std::int64_t groups, const Value& scale, const Value& offset, double epsilon,
                 source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  check_channels("group_norm", x, at);
  const std::int64_t elements = elements_from("group_norm", x, 1, at);
  if (groups < 1 || x.shape()[1].size() % groups != 0)
    throw Error(Code::plan, "group_norm: " + x.shape()[1].str() + " channels of " + x.name() + " cannot be cut into " +
                                std::to_string(groups) + " groups")
        .at(at)
        .hint("give a number of groups that divides the channels");
  return in_float32({x, scale, offset}, at, [&](const Values& v) {
    const Value blocks = reshape(v[0], {-1, groups, elements / groups});
    return scaled(reshape_as(normalize(blocks, {2}, epsilon).y, v[0]), v[1], v[2]);
  });
}

Value local_response_norm(const Value& x, std::int64_t size, double alpha, double beta, double bias,
                          source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  check_channels("local_response_norm", x, at);
  if (size < 1)
    throw Error(Code::plan, "local_response_norm: a size of {} channels", size).at(at).hint("give 1 or more");
  const std::int64_t area = elements_from("local_response_norm", x, 2, at);
  const std::int64_t channels = elements_from("local_response_norm", x, 1, at) / std::max<std::int64_t>(1, area);
  return in_float32({x}, at, [&](const Values& v) {
    const Value columns = reshape(square(v[0]), {-1, 1, channels, area});
    const Value around = pad(columns, {0, 0, (size - 1) / 2, 0}, {0, 0, size / 2, 0});
    const Value means = reshape_as(avg_pool2d(around, {size, 1}, {}), v[0]);
    return v[0] / pow(means * alpha + bias, beta);
  });
}

Value lp_normalize(const Value& x, std::int64_t axis, int p, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  if (p != 1 && p != 2) throw Error(Code::plan, "lp_normalize: p is {}, not 1 or 2", p).at(at).hint("give 1 or 2");
  const Ints axes = checked_axes("lp_normalize", x, {axis}, at);
  return in_float32({x}, at, [&](const Values& v) {
    const Value sums = sum(p == 1 ? abs(v[0]) : square(v[0]), axes, true);
    const Value some = select(equal(sums, 0), 1, sums);  // avoids a root of 0, which has an infinite gradient
    return v[0] / (p == 1 ? some : sqrt(some));
  });
}

}  // namespace ferry
