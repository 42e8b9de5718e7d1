// Cells of recurrent layers as single ops: the elementwise work of a step, after the products with the weights.
//
// The results have the same bits as steps made of sigmoid, tanh, products and sums. Values are floating-point.
// Functions throw Error(plan), with the caller's line, if shapes or dtypes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The state of a long short-term memory (LSTM): `h` and `c` are [...,hidden].
struct LstmState {
  Value h, c;  ///< the output, and the cell
};

/// A step of a long short-term memory: c' = sigmoid(f) * c + sigmoid(i) * tanh(g), h = sigmoid(o) * tanh(c'). `gates`
/// [...,4,hidden] or [...,4 * hidden] has the arguments i, o, f and g of the input, output and forget gate and the
/// candidate, in this order. c [...,hidden]. If the last dim is split, `gates` must be [...,4,hidden].
///
///     LstmState next = lstm_cell(g.input("gates", {8, 4, 64}), g.input("c", {8, 64}));
///     next.h;  // float32[8,64]
LstmState lstm_cell(const Value& gates, const Value& c, source_location at = source_location::current());

/// A step of a gated recurrent unit that applies its reset gate after the product of the state with its weights. With z
/// = sigmoid(x0 + s0), r = sigmoid(x1 + s1) and n = tanh(x2 + r * s2), the new state is h' = n + z * (h - n).
/// `from_input` (x) and `from_state` (s): [...,3,hidden] or [...,3 * hidden], of the update gate, the reset gate and
/// the candidate. h [...,hidden].
///
///     Value from_input = g.input("from_input", {8, 3, 64}), from_state = g.input("from_state", {8, 3, 64});
///     gru_cell(from_input, from_state, g.input("h", {8, 64}));  // float32[8,64]
Value gru_cell(const Value& from_input, const Value& from_state, const Value& h,
               source_location at = source_location::current());

/// The definitions of the ops of cells. Their inputs and outputs: LSTMCell(gates, c): h, c'; LSTMCellGrad(gates, c, c',
/// dh, dc'): dgates, dc; GRUCell(x, s, h): h'; GRUCellGrad(x, s, h, dh'): dx, ds, dh.
[[nodiscard]] std::span<const OpDef* const> cell_ops();

}  // namespace ferry
#pragma GCC visibility pop
