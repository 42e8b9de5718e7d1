#include "ops/nn/recurrent.hpp"

#include <string>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/build.hpp"
#include "ops/control/control.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/cell.hpp"

namespace ferry {
namespace {

std::int64_t required_size(const std::string& what, const Value& value, int dim, const SourceLine& line) {
  if (dim < value.rank() && value.shape()[dim].fixed()) {
    check_computed(what + ": a dim", value.shape()[dim].size(), line);
    return value.shape()[dim].size();
  }
  throw Error(Code::plan, what + ": dim " + std::to_string(dim) + " of " + value.name() + " " + value.shape().str() +
                              " must be known")
      .at(line);
}

Activation or_default(const Activation& given, Value (*usual)(const Value&, source_location)) {
  if (given) return given;
  return [usual](const Value& x) { return usual(x, source_location::current()); };
}

/// The common part of all kinds of layers: computes the products of all steps' inputs with their weights at once, and
/// runs the steps.
class Recurrence {
 public:
  Recurrence(const std::string& what, const Value& x, const Recurrent& layer, std::int64_t gates,
             const SourceLine& line)
      : layer_(layer), steps_(required_size(what, x, 0, line)), hidden_(required_size(what, layer.state, 1, line)) {
    if (x.rank() != 3)
      throw Error(Code::plan, what + ": of " + x.name() + " " + x.shape().str() + ", not of [steps,n,features]")
          .at(line);
    if (required_size(what, layer.state, 0, line) != gates * hidden_)
      throw Error(Code::plan, what + ": weights of the state " + layer.state.shape().str() + " are not [" +
                                  std::to_string(gates) + " * hidden,hidden]")
          .at(line);
    products_ = layer.times_input ? layer.times_input(x) : matmul(x, layer.input, false, true);
    if (layer.input_bias.defined()) products_ = products_ + layer.input_bias;
  }

  [[nodiscard]] std::int64_t hidden() const { return hidden_; }
  [[nodiscard]] Value& products() { return products_; }
  /// The state `given`, or zeros if it is undefined.
  [[nodiscard]] Value initial(const Value& given) const {
    if (given.defined()) return given;
    if (steps_ == 0) return sum(zero_outputs(), {0});
    return zeros_like(squeeze(slice(products_, {0, 2}, {0, 0}, {1, hidden_}), {0}));
  }
  [[nodiscard]] Value clipped(const Value& x) const {
    if (layer_.clip <= 0) return x;
    return minimum(maximum(x, -layer_.clip), layer_.clip);
  }

  /// Calls step(products of the step's input [n,gates * hidden], state) for each step. step returns the new state: h,
  /// and c if there is one.
  template <class Step>
  Sequence run(Values state, const Step& step) const {
    if (steps_ == 0) return {zero_outputs(), state[0], state.back()};
    if (steps_ > layer_.most_unrolled) return loop(state, step);
    const Values inputs = split(products_, 0, Ints(static_cast<std::size_t>(steps_), 1));
    Values outputs(inputs.size());
    const Value lengths = column_of_lengths();
    for (std::int64_t i = 0; i < steps_; ++i) {
      const std::int64_t t = layer_.reverse ? steps_ - 1 - i : i;
      const Values next = step(squeeze(inputs[t], {0}), state);
      const Value inside = lengths.defined() ? greater(lengths, t) : Value();
      outputs[t] = expand_dims(advance(state, next, inside), {0});
    }
    return {concat(outputs, 0), state[0], state.back()};
  }

 private:
  /// Zeros for the outputs: [steps,n,hidden].
  [[nodiscard]] Value zero_outputs() const { return zeros_like(slice(products_, 2, 0, hidden_)); }
  /// The lengths as [n,1]; undefined if there are none.
  [[nodiscard]] Value column_of_lengths() const {
    if (!layer_.lengths.defined()) return {};
    return expand_dims(check_range(layer_.lengths, steps_, IndexKind::length), {1});
  }

  /// Makes `next` the state, and returns the step's output. If `inside` is defined, other sequences keep their state
  /// and have an output of zeros.
  static Value advance(Values& state, const Values& next, const Value& inside) {
    if (!inside.defined()) {
      state = next;
      return next[0];
    }
    for (std::size_t k = 0; k < state.size(); ++k) state[k] = select(inside, next[k], state[k]);
    return select(inside, next[0], 0);
  }

  /// run() as a while_loop(), which has no gradient. The loop carries the number of the step, the outputs, and the
  /// state.
  template <class Step>
  Sequence loop(const Values& state, const Step& step) const {
    Values initial{products_.graph().constant(Tensor::scalar<std::int64_t>(0)), zero_outputs()};
    initial.insert(initial.end(), state.begin(), state.end());
    const Value lengths = column_of_lengths();
    const Values end = while_loop(
        initial, [&](const Values& now) { return less(now[0], steps_); },
        [&](const Values& now) {
          const Value t = layer_.reverse ? steps_ - 1 - now[0] : now[0];
          Values carried(now.begin() + 2, now.end());
          const Values next = step(gather(products_, t), carried);
          const Value inside = lengths.defined() ? greater(lengths, cast(t, lengths.dtype())) : Value();
          const Value y = expand_dims(advance(carried, next, inside), {0});
          carried.insert(carried.begin(), {now[0] + 1, scatter_nd(now[1], reshape(t, {1, 1}), y)});
          return carried;
        });
    return {end[1], end[2], end.back()};
  }

  const Recurrent& layer_;
  std::int64_t steps_, hidden_;
  Value products_;
};

/// Computes a layer of 16 bits in float32.
Sequence in_float32(Sequence (*layer_of)(const Value&, const Recurrent&, source_location), const Value& x,
                    Recurrent layer, source_location at) {
  for (Value* value :
       {&layer.input, &layer.state, &layer.input_bias, &layer.state_bias, &layer.peepholes, &layer.h, &layer.c})
    if (value->defined()) *value = cast(*value, DType::float32);
  Sequence wide = layer_of(cast(x, DType::float32), layer, at);
  for (Value* value : {&wide.y, &wide.h, &wide.c})
    if (value->defined()) *value = cast(*value, x.dtype());
  return wide;
}

Ints blocks(std::size_t count, std::int64_t size) {
  return Ints(count, size);
}

}  // namespace

Sequence rnn(const Value& x, const Recurrent& layer, source_location at) {
  const Scope here = caller_scope(graph_of({{x, layer.input, layer.state}}, at), at);
  if (is_half(x.dtype())) return in_float32(rnn, x, layer, at);
  Recurrence steps("rnn", x, layer, 1, at);
  if (layer.state_bias.defined()) steps.products() = steps.products() + layer.state_bias;
  const Activation f = or_default(layer.gate, tanh);
  Sequence sequence = steps.run({steps.initial(layer.h)}, [&](const Value& input, const Values& state) {
    return Values{f(steps.clipped(input + matmul(state[0], layer.state, false, true)))};
  });
  sequence.c = Value();
  return sequence;
}

Sequence gru(const Value& x, const Recurrent& layer, source_location at) {
  const Scope here = caller_scope(graph_of({{x, layer.input, layer.state}}, at), at);
  if (is_half(x.dtype())) return in_float32(gru, x, layer, at);
  Recurrence steps("gru", x, layer, 3, at);
  const std::int64_t n = steps.hidden();
  const bool late_bias = layer.reset_after && layer.state_bias.defined();
  if (layer.state_bias.defined() && !late_bias) steps.products() = steps.products() + layer.state_bias;
  const Values weights = layer.reset_after ? Values{layer.state} : split(layer.state, 0, {2 * n, n});
  const Activation f = or_default(layer.gate, sigmoid), g = or_default(layer.candidate, tanh);

  const bool one_op = layer.reset_after && layer.clip <= 0 && !layer.gate && !layer.candidate;
  const auto cell = [&](const Value& input, const Values& state) {
    const Value product = matmul(state[0], layer.state, false, true);
    return Values{gru_cell(input, late_bias ? product + layer.state_bias : product, state[0])};
  };
  const auto step = [&](const Value& input, const Values& state) {
    const Value& h = state[0];
    const Values inputs = split(input, 1, {2 * n, n});
    Value product = matmul(h, weights[0], false, true);
    if (late_bias) product = product + layer.state_bias;
    const Values products = layer.reset_after ? split(product, 1, {2 * n, n}) : Values{product};
    const Values gates = split(f(steps.clipped(inputs[0] + products[0])), 1, blocks(2, n));
    const Value reset = layer.reset_after ? gates[1] * products[1] : matmul(gates[1] * h, weights[1], false, true);
    const Value candidate = g(steps.clipped(inputs[1] + reset));
    const Value kept = gates[0] * (h - candidate);
    return Values{candidate + kept};
  };
  const Value h = steps.initial(layer.h);
  Sequence sequence = one_op ? steps.run({h}, cell) : steps.run({h}, step);
  sequence.c = Value();
  return sequence;
}

Sequence lstm(const Value& x, const Recurrent& layer, source_location at) {
  const Scope here = caller_scope(graph_of({{x, layer.input, layer.state}}, at), at);
  if (is_half(x.dtype())) return in_float32(lstm, x, layer, at);
  Recurrence steps("lstm", x, layer, 4, at);
  const std::int64_t n = steps.hidden();
  if (layer.state_bias.defined()) steps.products() = steps.products() + layer.state_bias;
  const Values peepholes = layer.peepholes.defined() ? split(layer.peepholes, 0, blocks(3, n)) : Values();
  const Activation f = or_default(layer.gate, sigmoid), g = or_default(layer.candidate, tanh),
                   end = or_default(layer.output, tanh);
  const auto gate = [&](const Value& sum, std::size_t peephole, const Value& c) {
    const Value seen = peepholes.empty() ? sum : sum + peepholes[peephole] * c;
    return f(steps.clipped(seen));
  };

  const auto sums_of = [&](const Value& input, const Value& h) {
    return input + (layer.times_state ? layer.times_state(h) : matmul(h, layer.state, false, true));
  };

  const bool one_op =
      peepholes.empty() && !layer.coupled && layer.clip <= 0 && !layer.gate && !layer.candidate && !layer.output;
  const auto cell = [&](const Value& input, const Values& state) {
    const LstmState next = lstm_cell(sums_of(input, state[0]), state[1]);
    return Values{next.h, next.c};
  };
  const auto step = [&](const Value& input, const Values& state) {
    const Values parts = split(sums_of(input, state[0]), 1, blocks(4, n));
    const Value in = gate(parts[0], 0, state[1]);
    const Value forget = layer.coupled ? 1 - in : gate(parts[2], 2, state[1]);
    const Value candidate = g(steps.clipped(parts[3]));
    const Value kept = forget * state[1];
    const Value c = kept + in * candidate;
    const Value out = gate(parts[1], 1, c);
    return Values{out * end(c), c};
  };
  const Value h = steps.initial(layer.h);
  const Values first{h, steps.initial(layer.c)};
  return one_op ? steps.run(first, cell) : steps.run(first, step);
}

}  // namespace ferry
