// Converters of attention, rotary embeddings and related ops.
#include "ops/nn/attention.hpp"

#include <cmath>

#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/build.hpp"
#include "ops/image/windows.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/nn/nn.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// Converts [n,steps,heads * size] to [n,heads,steps,size].
Value split_heads(Context& c, const Value& x, std::int64_t heads, std::int64_t steps, std::int64_t width) {
  if (heads < 1 || width % heads != 0)
    Context::fail(std::to_string(width) + " elements in " + std::to_string(heads) + " heads");
  static_cast<void>(c);
  return transpose(reshape(x, {-1, steps, heads, width / heads}), {0, 2, 1, 3});
}
Value split_heads(Context& c, int i, std::string_view heads) {
  if (c.rank(i) != 4) return split_heads(c, c.in(i), c.integer(heads), c.size(i, 1), c.size(i, 2));
  if (c.has_attr(heads) && c.integer(heads) != c.size(i, 1))
    Context::fail(std::string(heads) + " is " + std::to_string(c.integer(heads)) + ", and its input has " +
                  std::to_string(c.size(i, 1)) + " heads");
  return c.in(i);
}

/// Converts [n,heads,steps,size] to [n,steps,heads * size].
Value merge_heads(const Value& y) {
  const Shape& shape = y.shape();
  return reshape(transpose(y, {0, 2, 1, 3}), {-1, shape[2].size(), shape[1].size() * shape[3].size()});
}

enum Input { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };

Attending attending_of(Context& c) {
  Attending attending;
  attending.scale = c.real("scale", 0);
  attending.softcap = c.real("softcap", 0);
  attending.causal = c.integer("is_causal", 0) != 0;
  attending.left = c.integer("left_window_size", -1);
  attending.right = c.integer("right_window_size", -1);
  if (c.has(kMask)) attending.mask = c.in(kMask);
  if (c.has(kLengths)) attending.lengths = c.in(kLengths);
  if (c.has_attr("softmax_precision")) attending.precision = c.dtype("softmax_precision");
  return attending;
}

Outs to_attention(Context& c) {
  Attending attending = attending_of(c);
  const Value q = split_heads(c, kQuery, "q_num_heads");
  Value k = split_heads(c, kKey, "kv_num_heads");
  Value v = split_heads(c, kValue, "kv_num_heads");
  if (c.has(kPastKey)) {
    attending.offset = c.size(kPastKey, 2);
    k = concat({c.in(kPastKey), k}, 2);
    v = concat({c.in(kPastValue), v}, 2);
  }
  const Attended attended = attention(q, k, v, attending);
  const Value by_mode[] = {attended.scores, attended.capped, attended.biased, attended.probabilities};
  const std::int64_t mode = c.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) Context::fail("qk_matmul_output_mode " + std::to_string(mode));
  return {c.rank(kQuery) == 3 ? merge_heads(attended.y) : attended.y, k, v, by_mode[mode]};
}

/// The result of the body (an attribute of the node) for x. It must have x's type. If the node lacks the body, x
/// itself.
Value apply_body(Context& c, std::string_view body, const Value& x) {
  if (!c.has_attr(body)) return x;
  const Out given[] = {x};
  const std::vector<Out> results = c.build(c.body(body), given);
  if (results.size() != 1) Context::fail(std::string(body) + " gives " + std::to_string(results.size()) + " values");
  const Value y = c.value(results[0]);
  if (y.type() != x.type()) Context::fail(std::string(body) + " makes " + y.type().str() + " of " + x.type().str());
  return y;
}

/// FlexAttention. It is computed in the precision of the softmax, which is at least float32 unless the node sets it.
Outs to_flex_attention(Context& c) {
  for (const int i : {kQuery, kKey, kValue})
    if (c.rank(i) != 4) Context::fail("input " + std::to_string(i) + " has not four dims");
  const std::int64_t heads = c.size(kQuery, 1), steps = c.size(kQuery, 2), size = c.size(kQuery, 3);
  const std::int64_t key_heads = c.size(kKey, 1), keys = c.size(kKey, 2), width = c.size(kValue, 3);
  if (key_heads < 1 || heads % key_heads != 0)
    Context::fail(std::to_string(heads) + " heads of queries and " + std::to_string(key_heads) + " of keys");
  const DType dtype = c.type(kQuery).dtype;
  const DType precision = c.dtype("softmax_precision", dtype == DType::float64 ? dtype : DType::float32);
  const std::int64_t rows = heads / key_heads * steps;
  const Value q = cast(c.in(kQuery), precision) * c.real("scale", 1 / std::sqrt(static_cast<double>(size)));
  const Value k = cast(c.in(kKey), precision);
  const Value v = cast(c.in(kValue), precision);
  const Value products = matmul(reshape(q, {-1, key_heads, rows, size}), k, false, true);
  const Value scores = apply_body(c, "score_mod", reshape(products, {-1, heads, steps, keys}));
  const Value seen = apply_body(c, "prob_mod", softmax(scores));
  const Value y = matmul(reshape(seen, {-1, key_heads, rows, keys}), v);
  return cast(reshape(y, {-1, heads, steps, width}), dtype);
}

/// The cosines or sines of input i for all positions, or for the positions in input 3, with a dim for the heads.
Value angles(Context& c, int i, bool heads_first) {
  Value given = c.in(i);
  if (c.has(3)) {
    const Dim positions = c.type(i).shape[0];
    given = gather(given, check_range(c.in(3), positions.fixed() ? positions.size() : kEnd));
  }
  return expand_dims(given, {heads_first ? 1 : 2});
}

Outs to_rotary_embedding(Context& c) {
  const Value given = c.in(0);
  const bool heads_first = c.rank(0) == 4;
  const std::int64_t rotated = c.integer("rotary_embedding_dim", 0), half = c.size(1, -1);
  if (rotated != 0 && rotated != 2 * half)
    Context::fail("rotary_embedding_dim is " + std::to_string(rotated) + ", and there are cosines for " +
                  std::to_string(2 * half));
  c.no_effect({"num_heads"});  // without effect if the heads are a dim of the input
  Value x = given;
  if (!heads_first) {
    const std::int64_t heads = c.integer("num_heads"), width = c.size(0, 2);
    if (heads < 1 || width % heads != 0)
      Context::fail(std::to_string(width) + " elements in " + std::to_string(heads) + " heads");
    x = reshape(given, {-1, c.size(0, 1), heads, width / heads});
  }
  const Value cos = angles(c, 1, heads_first);
  const Value sin = angles(c, 2, heads_first);
  const Value y = rotary_embedding(x, cos, sin, c.integer("interleaved", 0) != 0);
  return heads_first ? y : reshape_as(y, given);
}

Outs to_linear_attention(Context& c) {
  const std::int64_t heads = c.integer("q_num_heads"), key_heads = c.integer("kv_num_heads");
  const std::string rule = c.text("update_rule", "gated_delta");
  c.no_effect({"chunk_size"});
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    Context::fail("an update_rule of '" + rule + "'");
  const DType wide = size_of(c.type(0).dtype) < 4 ? DType::float32 : c.type(0).dtype;
  const auto apart = [&](int i, std::int64_t count) {
    return split_heads(c, cast(c.in(i), wide), count, c.size(i, 1), c.size(i, 2));
  };
  Remembering remembering;
  remembering.scale = c.real("scale", 0);
  if (c.has(3)) remembering.state = cast(c.in(3), wide);
  if (rule.starts_with("gated")) remembering.decay = apart(4, key_heads);
  if (rule.ends_with("delta")) remembering.beta = apart(5, c.size(5, 2));
  const Value q = apart(0, heads);
  const Value k = apart(1, key_heads);
  const Remembered remembered = linear_attention(q, k, apart(2, key_heads), remembering);
  const DType narrow = c.type(0).dtype;
  return {cast(merge_heads(remembered.y), narrow), cast(remembered.state, c.has(3) ? c.type(3).dtype : narrow)};
}

/// CausalConvWithState: a convolution over the current and earlier steps. Steps before the first step come from the
/// state, or are zeros.
Outs to_causal_conv(Context& c) {
  const Value given = c.in(0);
  const std::int64_t channels = c.size(0, 1), before = c.size(1, 2) - 1;
  const Value x = c.has(3) ? concat({c.in(3), given}, 2) : pad(given, {0, 0, before}, {0, 0, 0});
  Value y = conv(x, c.in(1), {}, channels);
  if (c.has(2)) y = y + expand_dims(c.in(2), {1});
  const std::string activation = c.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = y * sigmoid(y);
  else if (activation != "none")
    Context::fail("an activation of '" + activation + "'");
  if (!c.is_used(1)) return y;
  const std::int64_t all = c.size(0, 2) + before;
  return {y, slice(x, 2, all - before, all)};
}

/// TensorScatter: writes new steps to a cache of keys or values, starting at each sequence's position. In the mode
/// "circular", positions wrap around at the end.
Outs to_tensor_scatter(Context& c) {
  const int rank = c.rank(0), axis = c.axis(0, c.integer("axis", -2));
  const std::string mode = c.text("mode", "linear");
  if (mode != "linear" && mode != "circular") Context::fail("a mode of '" + mode + "'");
  if (axis == 0) Context::fail("its axis is the axis of the sequences");
  Ints step_sizes(static_cast<std::size_t>(rank - axis), 1), others;
  step_sizes[0] = c.size(1, axis);
  check_computed("steps", step_sizes[0], SourceLine());
  for (int d = 1; d < rank; ++d) others.push_back(d);
  Tensor steps(DType::int64, step_sizes);
  for (std::int64_t i = 0; i < step_sizes[0]; ++i) steps.mutable_data<std::int64_t>()[i] = i;
  Value places = c.graph().constant(steps);
  const std::int64_t size = c.size(0, axis);
  if (mode == "linear" && step_sizes[0] > size)
    Context::fail(std::to_string(step_sizes[0]) + " steps for a cache of " + std::to_string(size));
  if (c.has(2)) {
    const Value given = cast(c.in(2), DType::int64);
    const Value begin = mode == "linear" ? check_range(given, size - step_sizes[0] + 1) : given;
    places = expand_dims(begin, others) + places;
  }
  if (mode == "circular") places = mod(places, size);
  const Value cache = c.in(0);
  const Value update = c.in(1);
  return scatter_elements(cache, broadcast_to(places, c.sizes(1)), update, axis);
}

constexpr ConvertOp kAttention[] = {
    {"Attention", 23, to_attention},
    {"CausalConvWithState", 27, to_causal_conv},
    {"ai.onnx.preview.FlexAttention", 1, to_flex_attention},
    {"LinearAttention", 27, to_linear_attention},
    {"RotaryEmbedding", 23, to_rotary_embedding},
    {"TensorScatter", 24, to_tensor_scatter},
};

}  // namespace

std::span<const ConvertOp> attention_converters() {
  return kAttention;
}

}  // namespace ferry::onnx
