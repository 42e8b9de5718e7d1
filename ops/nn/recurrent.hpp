// Recurrent layers over x [steps,n,features], unrolled: the number of steps is known when the graph is built. One
// direction of one layer; for two directions, call it twice and join the results. With the default activations, no clip
// and no peepholes, one op (ops/nn/cell.hpp) does the work after the products of a step, in an lstm and in a gru with
// reset_after. The results have the same bits.
//
// Floating-point. Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
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
  Value input;                ///< [gates * hidden,features]
  Value state;                ///< [gates * hidden,hidden]
  Value input_bias;           ///< [gates * hidden]
  Value state_bias;           ///< [gates * hidden], added to what the state gives
  Value peepholes;            ///< lstm: [3 * hidden], of the input, output and forget gate
  Value h, c;                 ///< the state before the first step, [n,hidden]; default: zeros. c: of lstm
  Value lengths;              ///< [n], integers: steps after a sequence's length keep its state and give zeros
  bool reverse = false;       ///< runs from the last step to the first
  double clip = 0;            ///< bound of the activations' arguments; 0: none
  Activation gate = {};       ///< default: sigmoid, for rnn tanh
  Activation candidate = {};  ///< default: tanh
  Activation output = {};     ///< lstm: applied to the new cell state; default: tanh
  /// lstm: functions that replace the products of x and of h with their weights; only the sizes of `input` and `state`
  /// are used then.
  Activation times_input = {}, times_state = {};
  bool coupled = false;  ///< lstm: the forget gate is 1 - the input gate
  /// The most steps that are written out as ops. More steps become the iterations of a loop, which has no gradient.
  std::int64_t most_unrolled = 1 << 14;
  bool reset_after = false;  ///< gru: the reset gate is applied after the product of the state with its weights
};

/// The results of a layer: y [steps,n,hidden], and the state after its last step.
struct Sequence {
  Value y, h, c;
};

/// A plain recurrent layer: h = f(x W' + h R' + b).
Sequence rnn(const Value& x, const Recurrent& layer, source_location at = source_location::current());

/// A gated recurrent unit with the blocks update z, reset r and candidate (Cho et al., "Learning phrase representations
/// using RNN encoder-decoder", 2014): h = (1 - z) * g(x W' + (r * h) R' + b) + z * h.
Sequence gru(const Value& x, const Recurrent& layer, source_location at = source_location::current());

/// A long short-term memory with the blocks input i, output o, forget f and candidate: c = f * c + i * g(…), h = o *
/// tanh(c) (Hochreiter and Schmidhuber, "Long short-term memory", 1997; Gers and Schmidhuber's peepholes, 2000).
Sequence lstm(const Value& x, const Recurrent& layer, source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
