// Recurrent layers over x [steps,n,features]. They are unrolled: the number of steps must be known when the graph is
// built. A call is one direction of one layer; for two directions, make two calls and join the results. In lstm(), and
// in gru() with reset_after, one op (ops/nn/cell.hpp) does the elementwise work of a step if activations are the
// default and there is no clip and no peepholes. The results have the same bits.
//
// Values are floating-point. Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do
// not fit.
#pragma once

#include <functional>

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

using Activation = std::function<Value(const Value&)>;

/// The weights of a layer and how it runs. A layer has `gates` blocks of `hidden` rows each: 1 for rnn, 3 for gru, 4
/// for lstm. `input` and `state` are required.
struct Recurrent {
  Value input;            ///< [gates * hidden,features]
  Value state;            ///< [gates * hidden,hidden]
  Value input_bias = {};  ///< [gates * hidden]
  Value state_bias = {};  ///< [gates * hidden], added to the products of the state
  Value peepholes = {};   ///< lstm: [3 * hidden], for the input, output and forget gates
  Value h = {}, c = {};   ///< the state before the first step, [n,hidden]; undefined: zeros. c: lstm only
  /// [n], integers: in steps after a sequence's length, its state is kept and its output is 0. A negative length, or a
  /// length above the number of steps, is an error at run time.
  Value lengths = {};
  bool reverse = false;       ///< runs from the last step to the first
  double clip = 0;            ///< limit of the absolute value of the activations' arguments; 0: none
  Activation gate = {};       ///< default: sigmoid; for rnn: tanh
  Activation candidate = {};  ///< default: tanh
  Activation output = {};     ///< lstm: applied to the new cell state; default: tanh
  /// lstm: functions that replace the products of x and of h with their weights. Then only the sizes of `input` and
  /// `state` are used.
  Activation times_input = {}, times_state = {};
  bool coupled = false;  ///< lstm: the forget gate is 1 - the input gate
  /// The maximum number of steps that are unrolled. More steps become the iterations of a loop, which has no gradient.
  std::int64_t most_unrolled = 1 << 14;
  bool reset_after = false;  ///< gru: the reset gate is applied after the product of the state with its weights
};

/// The results of a layer: y [steps,n,hidden], and the state after the last step.
struct Sequence {
  Value y, h, c;  ///< y of all steps; h and (lstm) c after the last step
};

/// A plain recurrent layer: h = f(x W' + h R' + b).
///
///     Value sequence = g.input("sequence", {16, 8, 64});
///     Value input = g.input("input", {32, 64}), state = g.input("state", {32, 32});
///     rnn(sequence, {.input = input, .state = state}).y;  // float32[16,8,32]
Sequence rnn(const Value& x, const Recurrent& layer, source_location at = source_location::current());

/// A gated recurrent unit: h = (1 - z) * g(x W' + (r * h) R' + b) + z * h. The blocks of the weights are update z,
/// reset r and candidate (Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014).
///
///     Value sequence = g.input("sequence", {16, 8, 64});
///     Value input = g.input("input", {96, 64}), state = g.input("state", {96, 32});
///     gru(sequence, {.input = input, .state = state}).h;  // float32[8,32]
Sequence gru(const Value& x, const Recurrent& layer, source_location at = source_location::current());

/// A long short-term memory: c = f * c + i * g(…), h = o * tanh(c). The blocks of the weights are input i, output o,
/// forget f and candidate (Hochreiter and Schmidhuber, "Long short-term memory", 1997; Gers and Schmidhuber's
/// peepholes, 2000).
///
///     Value sequence = g.input("sequence", {16, 8, 64});
///     Value input = g.input("input", {128, 64}), state = g.input("state", {128, 32});
///     lstm(sequence, {.input = input, .state = state}).c;  // float32[8,32]
Sequence lstm(const Value& x, const Recurrent& layer, source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
