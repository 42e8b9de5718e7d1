#include "ops/norm.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "ops/array.hpp"
#include "ops/build.hpp"
#include "ops/conv.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/reduce.hpp"
#include "ops/reshape.hpp"

namespace ferry {
namespace {

void check_channels(std::string_view what, const Value& x, const SourceLine& line) {
  if (x.rank() >= 2) return;
  throw Error(Code::plan, std::string(what) + ": of " + x.name() + " " + x.shape().str() + ", which has no channels")
      .at(line);
}

/// Dims behind the channels.
Ints image_dims(const Value& x) {
  Ints dims;
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

/// [channels] as it is broadcast to x [n,channels,…].
Value per_channel(const Value& value, const Value& x) {
  Ints axes;
  for (int d = 2; d < x.rank(); ++d) axes.push_back(d - 1);
  return expand_dims(value, axes);
}

/// y, normalised, with a scale and an offset for each channel.
Value scaled(const Value& y, const Value& scale, const Value& offset) {
  const Value factors = per_channel(scale, y);
  const Value product = y * factors;
  return product + per_channel(offset, y);
}

/// The number of elements of dims [from, rank), which must be known.
std::int64_t elements_from(std::string_view what, const Value& x, int from, const SourceLine& line) {
  Ints sizes;
  for (int d = from; d < x.rank(); ++d) {
    if (!x.shape()[d].known())
      throw Error(Code::plan, std::string(what) + ": of " + x.name() + " " + x.shape().str() + ": dim " +
                                  std::to_string(d) + " must be known")
          .at(line);
    sizes.push_back(x.shape()[d].size());
  }
  return checked_count(sizes);
}

}  // namespace

Normalized normalize(const Value& x, Ints axes, double epsilon, source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  const Value average = mean(x, axes, true);
  const Value centred = x - average;
  const Value variance = mean(square(centred), std::move(axes), true);
  const Value inverse = rsqrt(variance + epsilon);
  return {centred * inverse, average, inverse};
}

Value layer_norm(const Value& x, const Value& scale, const Value& offset, std::int64_t axis, double epsilon,
                 source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  return normalize(x, {axis}, epsilon).y * scale + offset;
}

Value rms_norm(const Value& x, const Value& scale, Ints axes, double epsilon, source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  const Value squares = mean(square(x), std::move(axes), true);
  return x * rsqrt(squares + epsilon) * scale;
}

BatchNorm batch_norm(const Value& x, const Value& scale, const Value& offset, double epsilon, source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  check_channels("batch_norm", x, at);
  Ints axes = image_dims(x);
  axes.push_back(0);
  const Value average = mean(x, axes);
  const Value variance = mean(square(x - per_channel(average, x)), axes);
  return {batch_norm(x, scale, offset, average, variance, epsilon, at), average, variance};
}

Value batch_norm(const Value& x, const Value& scale, const Value& offset, const Value& mean, const Value& variance,
                 double epsilon, source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  check_channels("batch_norm", x, at);
  const Value factor = rsqrt(variance + epsilon) * scale;
  const Value centred = x - per_channel(mean, x);
  return scaled(centred, factor, offset);
}

Value instance_norm(const Value& x, const Value& scale, const Value& offset, double epsilon, source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  if (x.rank() < 3)
    throw Error(Code::plan, "instance_norm: of " + x.name() + " " + x.shape().str() + ", which has no images").at(at);
  return scaled(normalize(x, image_dims(x), epsilon).y, scale, offset);
}

Value group_norm(const Value& x, std::int64_t groups, const Value& scale, const Value& offset, double epsilon,
                 source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  check_channels("group_norm", x, at);
  const std::int64_t elements = elements_from("group_norm", x, 1, at);
  if (groups < 1 || x.shape()[1].size() % groups != 0)
    throw Error(Code::plan, "group_norm: " + x.shape()[1].str() + " channels of " + x.name() + " cannot be cut into " +
                                std::to_string(groups) + " groups")
        .at(at);
  const Value blocks = reshape(x, {-1, groups, elements / groups});
  return scaled(reshape_as(normalize(blocks, {2}, epsilon).y, x), scale, offset);
}

Value local_response_norm(const Value& x, std::int64_t size, double alpha, double beta, double bias,
                          source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  check_channels("local_response_norm", x, at);
  if (size < 1) throw Error(Code::plan, "local_response_norm: a size of " + std::to_string(size) + " channels").at(at);
  const std::int64_t area = elements_from("local_response_norm", x, 2, at);
  const std::int64_t channels = elements_from("local_response_norm", x, 1, at) / std::max<std::int64_t>(1, area);
  const Value columns = reshape(square(x), {-1, 1, channels, area});
  const Value around = pad(columns, {0, 0, (size - 1) / 2, 0}, {0, 0, size / 2, 0});
  const Value means = reshape_as(avg_pool2d(around, {size, 1}, {}), x);
  return x / pow(means * alpha + bias, beta);
}

Value lp_normalize(const Value& x, std::int64_t axis, int p, source_location at) {
  const Scope here = derived(graph_of({{x}}, at), at);
  if (p != 1 && p != 2) throw Error(Code::plan, "lp_normalize: p is " + std::to_string(p) + ", not 1 or 2").at(at);
  const Value sums = sum(p == 1 ? abs(x) : square(x), {axis}, true);
  const Value norm = p == 1 ? sums : sqrt(sums);
  return x / select(equal(norm, 0), 1, norm);
}

}  // namespace ferry
