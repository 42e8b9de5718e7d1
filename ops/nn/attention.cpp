#include "ops/nn/attention.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"

namespace ferry {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// The sizes of attention's inputs.
struct Heads {
  std::int64_t queries_heads, heads, queries, keys, size, value_size;

  /// The number of query heads that share a key head.
  [[nodiscard]] std::int64_t shared() const { return queries_heads / heads; }
};

Heads heads_of(const std::string& what, const Value& q, const Value& k, const Value& v, const SourceLine& line) {
  const auto size = [&](const Value& value, int dim) {
    if (value.rank() == 4 && value.shape()[dim].fixed()) {
      check_computed(what + ": a dim", value.shape()[dim].size(), line);
      return value.shape()[dim].size();
    }
    throw Error(Code::plan, what + ": of " + value.name() + " " + value.shape().str() +
                                ", not of [n,heads,steps,size] with all sizes but n known")
        .at(line);
  };
  const Heads heads{size(q, 1), size(k, 1), size(q, 2), size(k, 2), size(q, 3), size(v, 3)};
  if (heads.heads < 1 || heads.queries_heads % heads.heads != 0 || size(k, 3) != heads.size ||
      size(v, 1) != heads.heads || size(v, 2) != heads.keys)
    throw Error(Code::plan, what + ": queries " + q.shape().str() + ", keys " + k.shape().str() + " and values " +
                                v.shape().str() + " do not fit")
        .at(line);
  return heads;
}

/// A constant 0, 1, … of these sizes. All sizes but one are 1.
Value iota(Graph& graph, Ints sizes) {
  Tensor tensor(DType::int64, std::move(sizes));
  const auto numbers = tensor.mutable_data<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  return graph.constant(tensor);
}

/// Converts a bool mask to numbers that are added to scores: 0 if the query sees the key, else minus infinity.
Value mask_bias(const Value& is_seen, DType dtype) {
  Graph& graph = is_seen.graph();
  const Value zero = number_constant(graph, 0, dtype, SourceLine());
  return select(is_seen, zero, kNever);
}

/// The sum of two values that may be undefined.
Value sum_of_defined(const Value& a, const Value& b) {
  if (!a.defined()) return b;
  return b.defined() ? a + b : a;
}

/// The mask, extended to `keys` columns: queries do not see the keys beyond its last column.
Value extended_mask(const Value& mask, std::int64_t keys) {
  if (mask.rank() == 0) return mask;
  const Dim& columns = mask.shape()[mask.rank() - 1];
  if (!columns.known() || columns.size() <= 1 || columns.size() >= keys) return mask;
  Ints none(static_cast<std::size_t>(mask.rank())), behind = none;
  behind.back() = keys - columns.size();
  return pad(mask, none, behind, kNever);
}

/// Whether each query sees each key, by causality and windows. `keys` has the numbers of the keys; `places` has the
/// positions of the queries among the keys.
Value in_window(const Value& keys, const Value& places, const Attending& attending) {
  Value inside;
  const auto also = [&](const Value& more) { inside = inside.defined() ? logical_and(inside, more) : more; };
  if (attending.causal) also(less_equal(keys, places));
  if (attending.left >= 0) also(greater_equal(keys, places - attending.left));
  if (attending.right >= 0) also(less_equal(keys, places + attending.right));
  return inside;
}

/// All masks as numbers that are added to scores; undefined if there are none.
Value bias_of(const Value& q, const Heads& heads, const Attending& attending) {
  Value bias;
  if (attending.mask.defined()) {
    const bool is_bool = attending.mask.dtype() == DType::boolean;
    bias = extended_mask(is_bool ? mask_bias(attending.mask, q.dtype()) : attending.mask, heads.keys);
  }
  const bool in_windows = attending.causal || attending.left >= 0 || attending.right >= 0;
  if (!in_windows && !attending.lengths.defined()) return bias;
  const Value keys = iota(q.graph(), {1, heads.keys});
  Value places = iota(q.graph(), {heads.queries, 1});
  if (attending.lengths.defined()) {
    const Value checked = check_range(cast(attending.lengths, DType::int64), heads.keys, IndexKind::length);
    const Value lengths = expand_dims(checked, {1, 2, 3});
    bias = sum_of_defined(bias, mask_bias(less(keys, lengths), q.dtype()));
    places = places + (lengths - heads.queries);
  } else if (attending.offset != 0) {
    places = places + attending.offset;
  }
  return in_windows ? sum_of_defined(bias, mask_bias(in_window(keys, places, attending), q.dtype())) : bias;
}

/// The limit of steps, because ops are made for each step.
constexpr std::int64_t kMostSteps = 1 << 16;

}  // namespace

Attended attention(const Value& q, const Value& k, const Value& v, const Attending& attending, source_location at) {
  const Scope here = caller_scope(graph_of({{q, k, v}}, at), at);
  require_float("attention", q, at);
  const Heads heads = heads_of("attention", q, k, v, at);
  const double scale = attending.scale != 0 ? attending.scale : 1 / std::sqrt(static_cast<double>(heads.size));
  const std::int64_t rows = heads.shared() * heads.queries;
  // In 16 bits, queries and keys are both multiplied by the square root of the scale, so that their products do not
  // overflow. ONNX defines its op Attention in this way.
  const bool narrow = size_of(q.dtype()) < 4 && scale > 0;
  const double of_queries = narrow ? std::sqrt(scale) : scale;
  const Value queries = reshape(q * of_queries, {-1, heads.heads, rows, heads.size});
  const Value scaled_keys = narrow ? k * of_queries : k;
  Attended result;
  result.scores =
      reshape(matmul(queries, scaled_keys, false, true), {-1, heads.queries_heads, heads.queries, heads.keys});
  result.capped = attending.softcap > 0 ? tanh(result.scores / attending.softcap) * attending.softcap : result.scores;
  const Value bias = bias_of(q, heads, attending);
  result.biased = sum_of_defined(result.capped, bias);
  result.probabilities = cast(softmax(cast(result.biased, attending.precision.value_or(q.dtype()))), q.dtype());
  if (bias.defined()) {
    const Value is_fully_masked = equal(bias.rank() == 0 ? bias : max(bias, {-1}, true), kNever);
    result.probabilities = select(is_fully_masked, 0, result.probabilities);
  }
  const Value shared = reshape(result.probabilities, {-1, heads.heads, rows, heads.keys});
  result.y = reshape(matmul(shared, v), {-1, heads.queries_heads, heads.queries, heads.value_size});
  return result;
}

Value rotary_embedding(const Value& x, const Value& cos, const Value& sin, bool interleaved, source_location at) {
  const Scope here = caller_scope(graph_of({{x, cos, sin}}, at), at);
  const auto last = [&](const Value& value) {
    if (value.rank() > 0 && value.shape()[value.rank() - 1].known()) return value.shape()[value.rank() - 1].size();
    throw Error(Code::plan, "rotary_embedding: the last dim of " + value.name() + " must be known").at(at);
  };
  const std::int64_t half = last(cos), size = last(x);
  if (half < 1 || 2 * half > size)
    throw Error(Code::plan, "rotary_embedding: " + std::to_string(half) + " angles for " + std::to_string(size) +
                                " elements of " + x.name())
        .at(at);
  if (is_half(x.dtype()))
    return in_float32({x, cos, sin}, at,
                      [&](const Values& v) { return rotary_embedding(v[0], v[1], v[2], interleaved, at); });
  const std::int64_t turned = 2 * half;
  const Value first = interleaved ? slice(x, -1, 0, turned, 2) : slice(x, -1, 0, half);
  const Value second = interleaved ? slice(x, -1, 1, turned, 2) : slice(x, -1, half, turned);
  const Value first_cos = first * cos;
  const Value a = first_cos - second * sin;
  const Value first_sin = first * sin;
  const Value b = first_sin + second * cos;
  Values parts{a, b};
  if (interleaved) {
    const Value pairs = concat({expand_dims(a, {-1}), expand_dims(b, {-1})}, -1);
    parts = {turned == size ? reshape_as(pairs, x) : reshape_as(pairs, slice(x, -1, 0, turned))};
  }
  if (turned < size) parts.push_back(slice(x, -1, turned));
  return concat(parts, -1);
}

Remembered linear_attention(const Value& q, const Value& k, const Value& v, const Remembering& remembering,
                            source_location at) {
  const Scope here = caller_scope(graph_of({{q, k, v}}, at), at);
  require_float("linear_attention", q, at);
  const Heads heads = heads_of("linear_attention", q, k, v, at);
  if (heads.queries != heads.keys || heads.keys < 1 || heads.keys > kMostSteps)
    throw Error(Code::plan, "linear_attention: {} queries and {} keys; they are as many, at most {}", heads.queries,
                heads.keys, kMostSteps)
        .at(at);
  const double scale = remembering.scale != 0 ? remembering.scale : 1 / std::sqrt(static_cast<double>(heads.size));
  const Ints steps(static_cast<std::size_t>(heads.keys), 1);
  // [n,key heads,query heads of one key head,steps,size]: the queries of a step are the rows of a matrix.
  const Value grouped = reshape(q * scale, {-1, heads.heads, heads.shared(), heads.keys, heads.size});
  const Values queries = split(grouped, 3, steps), keys = split(k, 2, steps), values = split(v, 2, steps);
  const Values decays = remembering.decay.defined() ? split(exp(remembering.decay), 2, steps) : Values();
  const Values betas = remembering.beta.defined() ? split(remembering.beta, 2, steps) : Values();
  Value state = remembering.state;
  Values read;
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (state.defined() && !decays.empty()) state = state * transpose(decays[t], {0, 1, 3, 2});
    Value value = values[t];
    if (!betas.empty()) {
      if (state.defined()) value = value - matmul(keys[t], state);
      value = value * betas[t];
    }
    const Value written = matmul(keys[t], value, true);
    state = sum_of_defined(state, written);
    read.push_back(expand_dims(matmul(squeeze(queries[t], {3}), state), {3}));
  }
  const Value y = reshape(concat(read, 3), {-1, heads.queries_heads, heads.keys, heads.value_size});
  return {y, state};
}

}  // namespace ferry
