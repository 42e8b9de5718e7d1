// Converters of normalisation and of dropout.
#include "ops/nn/norm.hpp"

#include "base/format.hpp"
#include "base/number_text.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// x in the dtype in which the node computes: dtypes below 4 bytes are cast to stash_type, by default to float32.
Value cast_to_stash(Context& c, const Value& x) {
  const DType stash = c.dtype("stash_type", DType::float32);
  return size_of(x.dtype()) < 4 ? cast(x, stash) : x;
}

Outs to_batch_norm(Context& c) {
  const Value x = c.in(0);
  const Value scale = c.in(1);
  const Value offset = c.in(2);
  const Value mean = c.in(3);
  const Value variance = c.in(4);
  const double epsilon = c.real("epsilon", 1e-5), momentum = c.real("momentum", 0.9);
  if (c.opset() < 9 && c.integer("spatial", 1) == 0)
    Context::fail("means of single elements (spatial = 0) are not imported");
  if (c.opset() < 7) c.no_effect({"is_test"});  // the number of outputs has the same meaning
  if (c.opset() < 14 && c.is_used(1)) Context::fail("its training form of operator sets before 14 is not imported");
  if (c.opset() < 14 || c.integer("training_mode", 0) == 0) {
    return batch_norm(x, scale, offset, cast(mean, x.dtype()), cast(variance, x.dtype()), epsilon);
  }
  const NormalizedBatch now = batch_norm(x, scale, offset, epsilon);
  const Value new_mean = cast(now.mean, mean.dtype()) * (1 - momentum);
  const Value new_variance = cast(now.variance, variance.dtype()) * (1 - momentum);
  const Value kept_mean = mean * momentum + new_mean;
  const Value kept_variance = variance * momentum + new_variance;
  return {now.y, kept_mean, kept_variance};
}

/// The dims from the attribute `axis` on, by default from `otherwise`.
Ints axes_from(Context& c, std::int64_t otherwise) {
  Ints axes;
  for (int d = c.axis(0, c.integer("axis", otherwise)); d < c.rank(0); ++d) axes.push_back(d);
  return axes;
}

Outs to_layer_norm(Context& c) {
  const Value x = c.in(0);
  const Normalized normal = normalize(cast_to_stash(c, x), axes_from(c, -1), c.real("epsilon", 1e-5));
  Value y = normal.y * c.in(1);
  if (c.has(2)) y = y + c.in(2);
  const DType stash = c.dtype("stash_type", DType::float32);
  const Value mean = cast(normal.mean, stash);
  return {cast(y, x.dtype()), mean, cast(normal.inverse, stash)};
}

Outs to_rms_norm(Context& c) {
  const Value x = cast_to_stash(c, c.in(0));
  const Value scale = c.in(1);
  const Value one = c.scalar(1, x.dtype());
  return cast(rms_norm(x, one, axes_from(c, -1), c.real("epsilon", 1e-5)), scale.dtype()) * scale;
}

Outs to_instance_norm(Context& c) {
  const Value x = c.in(0);
  const Value scale = c.in(1);
  return instance_norm(x, scale, c.in(2), c.real("epsilon", 1e-5));
}

/// Expands a value [groups] to [channels].
Value of_channels(const Value& of_groups, std::int64_t groups, std::int64_t channels) {
  return reshape(broadcast_to(expand_dims(of_groups, {1}), {groups, channels / groups}), {channels});
}

Outs group_normalized(Context& c, bool by_group) {
  const std::int64_t groups = c.integer("num_groups"), channels = c.size(0, 1);
  if (groups < 1 || channels % groups != 0)
    Context::fail(std::to_string(channels) + " channels in " + std::to_string(groups) + " groups");
  const Value given = c.in(0);
  const Value x = cast_to_stash(c, given);
  Value scale = cast(c.in(1), x.dtype());
  Value offset = cast(c.in(2), x.dtype());
  if (by_group) {
    scale = of_channels(scale, groups, channels);
    offset = of_channels(offset, groups, channels);
  }
  return cast(group_norm(x, groups, scale, offset, c.real("epsilon", 1e-5)), given.dtype());
}
Outs to_group_norm_18(Context& c) {
  return group_normalized(c, true);
}
Outs to_group_norm(Context& c) {
  return group_normalized(c, false);
}

Outs to_lrn(Context& c) {
  return local_response_norm(c.in(0), c.integer("size"), c.real("alpha", 1e-4), c.real("beta", 0.75),
                             c.real("bias", 1));
}

Outs to_lp_norm(Context& c) {
  const std::int64_t p = c.integer("p", 2);
  if (p != 1 && p != 2) Context::fail(formatted("attribute 'p' is {}, not 1 or 2", p));
  return lp_normalize(c.in(0), c.integer("axis", -1), static_cast<int>(p));
}

/// MeanVarianceNormalization. As ONNX defines it, the epsilon is added to the deviation, not to the variance.
Outs to_mean_variance(Context& c) {
  const Value x = c.in(0);
  const Ints axes = c.integers("axes", {0, 2, 3});
  const Value centred = x - mean(x, axes, true);
  const Value variance = mean(square(centred), axes, true);
  return centred / (sqrt(variance) + 1e-9);
}

/// Dropout. In training, elements that stay are scaled so that the expected sum does not change. Otherwise it is the
/// identity, and the mask is true everywhere.
Outs to_dropout(Context& c) {
  const Value x = c.in(0);
  const double ratio = c.has(1) ? c.number(1) : 0.5;
  const std::int64_t seed = c.integer("seed", 0);
  if (c.opset() < 12) c.no_effect({"ratio", "is_test"});  // for training, which is not imported in these operator sets
  if (!c.has(2) || c.number(2) == 0 || ratio == 0) {
    if (!c.is_used(1)) return identity(x);
    return {identity(x), cast(ones_like(x), c.opset() >= 10 ? DType::boolean : x.dtype())};
  }
  if (ratio < 0 || ratio >= 1) Context::fail("a ratio of " + digits_text(ratio, 6));
  const Ints sizes = c.sizes(0);
  const Value drawn = uniform(c.graph(), Shape(std::span<const std::int64_t>(sizes)), 0, 1, DType::float32, seed);
  const Value stays = greater_equal(drawn, ratio);
  return {select(stays, x * (1 / (1 - ratio)), 0), stays};
}

constexpr ConvertOp kNorm[] = {
    {"BatchNormalization", 1, to_batch_norm},           {"Dropout", 1, to_dropout},
    {"GroupNormalization", 18, to_group_norm_18},       {"GroupNormalization", 21, to_group_norm},
    {"InstanceNormalization", 1, to_instance_norm},     {"LRN", 1, to_lrn},
    {"LayerNormalization", 17, to_layer_norm},          {"LpNormalization", 1, to_lp_norm},
    {"MeanVarianceNormalization", 9, to_mean_variance}, {"RMSNormalization", 23, to_rms_norm},
};

}  // namespace

std::span<const ConvertOp> norm_converters() {
  return kNorm;
}

}  // namespace ferry::onnx
