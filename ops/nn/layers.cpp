#include "ops/nn/layers.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/control/state.hpp"
#include "ops/image/windows.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/norm.hpp"

namespace ferry::nn {
namespace {

[[noreturn]] void fail(std::string_view layer, const std::string& what, const SourceLine& line) {
  throw Error(Code::plan, std::string(layer) + ": " + what).at(line);
}

void require_sizes(std::string_view layer, std::initializer_list<std::int64_t> sizes, const SourceLine& line) {
  for (const std::int64_t size : sizes)
    if (size < 1) fail(layer, "a size of " + std::to_string(size), line);
}

/// A scope in which the ops that a layer makes for x get the line of the layer's caller.
Scope layer_scope(const Value& x, const Value& variable, const SourceLine& line) {
  return caller_scope(graph_of({{x, variable}}, line), line);
}

/// The variable, cast to the dtype of the layer's input.
Value cast_like(const Value& variable, const Value& x) {
  return cast(variable, x.dtype());
}

}  // namespace

Initializer he() {
  return [](Graph& graph, const Initial& to) {
    return normal(graph, to.shape, 0, std::sqrt(2.0 / static_cast<double>(to.inputs)), to.dtype);
  };
}

Initializer xavier() {
  return [](Graph& graph, const Initial& to) {
    const double most = std::sqrt(6.0 / static_cast<double>(to.inputs + to.outputs));
    return uniform(graph, to.shape, -most, most, to.dtype);
  };
}

Initializer gaussian(double deviation) {
  return [deviation](Graph& graph, const Initial& to) { return normal(graph, to.shape, 0, deviation, to.dtype); };
}

Initializer constant(double number) {
  return [number](Graph& graph, const Initial& to) {
    Tensor tensor(to.dtype, to.shape.sizes());
    dispatch(to.dtype, [&](auto zero) {
      for (auto& element : tensor.mutable_data<decltype(zero)>()) element = static_cast<decltype(zero)>(number);
    });
    return graph.constant(std::move(tensor));
  };
}

Value Parameters::add(std::string_view layer, std::string_view name, const Initializer& initializer, Initial like,
                      source_location at) {
  const Scope here = caller_scope(*graph_, at);
  like.dtype = dtype_;
  const Value initial = initializer(*graph_, like);
  trained_.push_back(graph_->variable(std::string(layer) + "/" + std::string(name), initial, at));
  return trained_.back();
}

Value Parameters::keep(std::string_view layer, std::string_view name, double number, const Shape& shape,
                       source_location at) {
  const Scope here = caller_scope(*graph_, at);
  const Value initial = constant(number)(*graph_, {.shape = shape, .dtype = dtype_});
  return graph_->variable(std::string(layer) + "/" + std::string(name), initial, at);
}

void Parameters::add_update(const Value& update) {
  updates_.push_back(update);
}

Dense::Dense(Parameters& parameters, std::string_view name, std::int64_t inputs, std::int64_t outputs,
             const DenseOptions& options, source_location at) {
  require_sizes(name, {inputs, outputs}, at);
  const Initial like{.inputs = inputs, .outputs = outputs, .shape = {inputs, outputs}};
  weights = parameters.add(name, "weights", options.initializer, like, at);
  if (options.bias) bias = parameters.add(name, "bias", constant(0), {.shape = {outputs}}, at);
}

Value Dense::operator()(const Value& x, source_location at) const {
  const Scope here = layer_scope(x, weights, at);
  const Value y = matmul(x, cast_like(weights, x));
  return bias.defined() ? y + cast_like(bias, x) : y;
}

Conv::Conv(Parameters& parameters, std::string_view name, std::int64_t inputs, std::int64_t outputs, const Ints& window,
           const ConvOptions& options, source_location at)
    : sliding(options.sliding), groups(options.groups) {
  require_sizes(name, {inputs, outputs, groups}, at);
  if (inputs % groups != 0 || outputs % groups != 0)
    fail(name,
         std::to_string(inputs) + " and " + std::to_string(outputs) + " channels in " + std::to_string(groups) +
             " groups",
         at);
  Ints sizes{outputs, inputs / groups};
  std::int64_t taps = 1;
  for (const std::int64_t size : window) {
    require_sizes(name, {size}, at);
    sizes.push_back(size);
    taps *= size;
  }
  const Initial like{.inputs = inputs / groups * taps, .outputs = outputs / groups * taps, .shape = Shape(sizes)};
  weights = parameters.add(name, "weights", options.initializer, like, at);
  if (options.bias) bias = parameters.add(name, "bias", constant(0), {.shape = {outputs}}, at);
}

Value Conv::operator()(const Value& x, source_location at) const {
  const Scope here = layer_scope(x, weights, at);
  const Value y = conv(x, cast_like(weights, x), sliding, groups, at);
  if (!bias.defined()) return y;
  Ints image;
  for (int i = 2; i < y.rank(); ++i) image.push_back(i - 1);
  return y + expand_dims(cast_like(bias, x), image);
}

BatchNorm::BatchNorm(Parameters& parameters, std::string_view name, std::int64_t channels,
                     const BatchNormOptions& options, source_location at)
    : momentum(options.momentum), epsilon(options.epsilon), parameters_(&parameters) {
  require_sizes(name, {channels}, at);
  scale = parameters.add(name, "scale", constant(options.scale), {.shape = {channels}}, at);
  offset = parameters.add(name, "offset", constant(0), {.shape = {channels}}, at);
  mean = parameters.keep(name, "mean", 0, {channels}, at);
  variance = parameters.keep(name, "variance", 1, {channels}, at);
}

Value BatchNorm::operator()(const Value& x, Phase phase, source_location at) const {
  const Scope here = layer_scope(x, scale, at);
  const Value wide = cast(x, promoted(x.dtype(), scale.dtype()));
  if (phase == Phase::eval) return cast(batch_norm(wide, scale, offset, mean, variance, epsilon, at), x.dtype());
  const NormalizedBatch normed = batch_norm(wide, scale, offset, epsilon, at);
  const auto follow = [&](const Value& running, const Value& batch) {
    const Value kept = running * momentum;
    parameters_->add_update(assign(running, kept + cast(batch, running.dtype()) * (1 - momentum), at));
  };
  follow(mean, normed.mean);
  follow(variance, normed.variance);
  return cast(normed.y, x.dtype());
}

LayerNorm::LayerNorm(Parameters& parameters, std::string_view name, std::int64_t width, double epsilon_,
                     source_location at)
    : epsilon(epsilon_) {
  require_sizes(name, {width}, at);
  scale = parameters.add(name, "scale", constant(1), {.shape = {width}}, at);
  offset = parameters.add(name, "offset", constant(0), {.shape = {width}}, at);
}

Value LayerNorm::operator()(const Value& x, source_location at) const {
  const Scope here = layer_scope(x, scale, at);
  return cast(layer_norm(x, scale, offset, -1, epsilon, at), x.dtype());
}

Embedding::Embedding(Parameters& parameters, std::string_view name, std::int64_t count, std::int64_t width,
                     const Initializer& initializer, source_location at) {
  require_sizes(name, {count, width}, at);
  const Initial like{.inputs = 1, .outputs = width, .shape = {count, width}};
  table = parameters.add(name, "table", initializer, like, at);
}

Value Embedding::operator()(const Value& indices, source_location at) const {
  return gather(table, indices, 0, at);
}

Attention::Attention(Parameters& parameters, std::string_view name, std::int64_t width, std::int64_t heads,
                     const Initializer& initializer, source_location at) {
  require_sizes(name, {width, heads}, at);
  if (width % heads != 0)
    fail(name, "a width of " + std::to_string(width) + " in " + std::to_string(heads) + " heads", at);
  const std::int64_t size = width / heads;
  const Initial like{.inputs = width, .outputs = width, .shape = {heads, width, size}};
  queries = parameters.add(name, "queries", initializer, like, at);
  keys = parameters.add(name, "keys", initializer, like, at);
  values = parameters.add(name, "values", initializer, like, at);
  const Initial back{.inputs = width, .outputs = width, .shape = {heads, size, width}};
  out = parameters.add(name, "out", initializer, back, at);
}

Value Attention::operator()(const Value& x, const Attending& attending, source_location at) const {
  const Scope here = layer_scope(x, queries, at);
  const Value each = expand_dims(x, {1});
  const Value q = matmul(each, cast_like(queries, x));
  const Value k = matmul(each, cast_like(keys, x));
  const Value v = matmul(each, cast_like(values, x));
  const Value seen = attention(q, k, v, attending, at).y;
  return sum(matmul(seen, cast_like(out, x)), {1});
}

Lstm::Lstm(Parameters& parameters, std::string_view name, std::int64_t inputs, std::int64_t hidden,
           const Initializer& initializer, source_location at) {
  require_sizes(name, {inputs, hidden}, at);
  input = parameters.add(name, "input", initializer,
                         {.inputs = inputs, .outputs = hidden, .shape = {4 * hidden, inputs}}, at);
  state = parameters.add(name, "state", initializer,
                         {.inputs = hidden, .outputs = hidden, .shape = {4 * hidden, hidden}}, at);
  // The blocks are for the input, output and forget gates and the candidate. The bias of the third block starts as 1.
  const auto init_forget_bias = [hidden](Graph& graph, const Initial& to) {
    Tensor tensor(to.dtype, to.shape.sizes());
    dispatch(to.dtype, [&](auto zero) {
      const auto elements = tensor.mutable_data<decltype(zero)>();
      for (std::int64_t i = 2 * hidden; i < 3 * hidden; ++i) elements[i] = static_cast<decltype(zero)>(1);
    });
    return graph.constant(std::move(tensor));
  };
  bias = parameters.add(name, "bias", init_forget_bias, {.shape = {4 * hidden}}, at);
}

Sequence Lstm::operator()(const Value& x, const Value& h, const Value& c, source_location at) const {
  const Scope here = layer_scope(x, input, at);
  Recurrent layer;
  layer.input = cast_like(input, x);
  layer.state = cast_like(state, x);
  layer.input_bias = cast_like(bias, x);
  layer.h = h;
  layer.c = c;
  return lstm(x, layer, at);
}

Value dropout(const Value& x, double rate, Phase phase, source_location at) {
  Graph& graph = graph_of({{x}}, at).current();
  if (!(rate >= 0 && rate < 1)) fail("dropout", "a rate of " + digits_text(rate, 6), at);
  if (phase == Phase::eval || rate == 0) return x;
  const Scope here = caller_scope(graph, at);
  require_float("dropout", x, at);
  const Value drawn = x.shape().fixed() ? uniform(graph, x.shape(), 0, 1, DType::float32, 0, at)
                                        : uniform_like(x, 0, 1, DType::float32, 0, at);
  return select(greater_equal(drawn, rate), x / (1 - rate), 0);
}

Value max_pool(const Value& x, const Ints& window, source_location at) {
  return ferry::max_pool(x, {.size = window, .sliding = {.strides = window}}, at);
}

Value mean_pool(const Value& x, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  if (x.rank() < 3) fail("mean_pool", x.name() + " " + x.shape().str() + " has no images", at);
  Ints image;
  for (int i = 2; i < x.rank(); ++i) image.push_back(i);
  return ferry::mean(x, image);
}

Value flatten(const Value& x, source_location at) {
  static_cast<void>(graph_of({{x}}, at));
  std::int64_t others = 1;
  for (int i = 1; i < x.rank(); ++i) {
    if (!x.shape()[i].known()) fail("flatten", x.name() + " " + x.shape().str() + " has sizes that are not known", at);
    others *= x.shape()[i].size();
  }
  return reshape(x, {-1, others}, at);
}

Value accuracy(const Value& logits, const Value& labels, source_location at) {
  const Scope here = caller_scope(graph_of({{logits, labels}}, at), at);
  const Value right = equal(argmax(logits), cast(labels, DType::int64));
  return mean(cast(right, DType::float32));
}

}  // namespace ferry::nn
