// Recurrent layers over x [steps,n,features], unrolled: the number of steps is known when the graph is built. One
// direction of one layer; two directions are two calls whose results are joined.
//
// Floating-point. Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <functional>

#include "base/source_location.hpp"
#include "graph/value.hpp"

namespace ferry {

using Activation = std::function<Value(const Value&)>;

/// Weights of a layer and how it runs. A layer has `gates` blocks of `hidden` rows each: 1 for rnn, 3 for gru, 4 for
/// lstm. What is left undefined is absent.
struct Recurrent {
  Value input;                ///< [gates * hidden,features]
  Value state;                ///< [gates * hidden,hidden]
  Value input_bias;           ///< [gates * hidden]
  Value state_bias;           ///< [gates * hidden], added to what the state gives
  Value peepholes;            ///< lstm: [3 * hidden], of the input, output and forget gate
  Value h, c;                 ///< the state before the first step, [n,hidden]; zeros. c: of lstm
  Value lengths;              ///< [n], integers: steps behind a sequence's length leave its state alone and give zeros
  bool reverse = false;       ///< from the last step to the first
  double clip = 0;            ///< bound of what activations are given; 0: none
  Activation gate = {};       ///< sigmoid; of rnn tanh
  Activation candidate = {};  ///< tanh
  Activation output = {};     ///< lstm: tanh, of the cell's new state
  Activation seen = {};       ///< lstm: of the state, what its weights are multiplied with; the state itself
  bool coupled = false;       ///< lstm: the forget gate is 1 - the input gate
  bool reset_after = false;   ///< gru: the reset gate is applied behind the product of the state with its weights
};

/// The results of a layer: y [steps,n,hidden], and the state after its last step.
struct Sequence {
  Value y, h, c;
};

/// A plain recurrent layer: h = f(x W' + h R' + b).
Sequence rnn(const Value& x, const Recurrent& layer, source_location at = source_location::current());

/// A gated recurrent unit with the blocks update z, reset r and candidate: h = (1 - z) * g(x W' + (r * h) R' + b) + z *
/// h (Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014).
Sequence gru(const Value& x, const Recurrent& layer, source_location at = source_location::current());

/// A long short-term memory with the blocks input i, output o, forget f and candidate: c = f * c + i * g(…), h = o *
/// tanh(c) (Hochreiter and Schmidhuber, "Long short-term memory", 1997; Gers and Schmidhuber's peepholes, 2000).
Sequence lstm(const Value& x, const Recurrent& layer, source_location at = source_location::current());

}  // namespace ferry
