// The computations of a step of a recurrent layer for one hidden unit (ops/nn/cell.hpp), written once for the CPU and
// CUDA. The order of operations is the same as in a step that is built of several ops, and as in its gradients.
#pragma once

#include "kernels/scalar_math.hpp"

namespace ferry::cells {

template <class T>
FERRY_HD constexpr T sigmoid_slope(T y) {
  return y * (T(1) - y);
}
template <class T>
FERRY_HD constexpr T tanh_slope(T y) {
  return T(1) - y * y;
}

// ---- Long short-term memory ----

template <class T>
struct LstmGates {
  FERRY_HD constexpr LstmGates(T i, T o, T f, T g)
      : in(math::sigmoid(i)), out(math::sigmoid(o)), forget(math::sigmoid(f)), candidate(math::tanh(g)) {}
  T in, out, forget, candidate;
};

template <class T>
struct LstmNext {
  T h, c;
};
template <class T>
FERRY_HD constexpr LstmNext<T> lstm(LstmGates<T> gates, T c) {
  const T next = gates.forget * c + gates.in * gates.candidate;
  return {gates.out * math::tanh(next), next};
}

/// The gradients of i, o, f and g (the arguments of LstmGates) and of c.
template <class T>
struct LstmGrad {
  T in, out, forget, candidate, c;
};
template <class T>
FERRY_HD constexpr LstmGrad<T> lstm_grad(LstmGates<T> gates, T c, T next, T dh, T dnext) {
  const T end = math::tanh(next);
  const T dc = dnext + dh * gates.out * tanh_slope(end);
  return {dc * gates.candidate * sigmoid_slope(gates.in), dh * end * sigmoid_slope(gates.out),
          dc * c * sigmoid_slope(gates.forget), dc * gates.in * tanh_slope(gates.candidate), dc * gates.forget};
}

// ---- Gated recurrent unit ----

/// The gates of one unit. x is from the input, s from the state; index 0 is for the update gate, 1 for the reset gate,
/// and 2 for the candidate.
template <class T>
struct GruGates {
  FERRY_HD constexpr GruGates(T x0, T x1, T x2, T s0, T s1, T s2)
      : update(math::sigmoid(x0 + s0)), reset(math::sigmoid(x1 + s1)), candidate(math::tanh(x2 + reset * s2)) {}
  T update, reset, candidate;
};

template <class T>
FERRY_HD constexpr T gru(GruGates<T> gates, T h) {
  return gates.candidate + gates.update * (h - gates.candidate);
}

/// The gradients of the arguments of the update gate, the reset gate and the candidate, of s2, and of h.
template <class T>
struct GruGrad {
  T update, reset, candidate, from_state, h;
};
template <class T>
FERRY_HD constexpr GruGrad<T> gru_grad(GruGates<T> gates, T s2, T h, T dy) {
  const T dh = dy * gates.update;
  const T candidate = (dy - dh) * tanh_slope(gates.candidate);
  return {dy * (h - gates.candidate) * sigmoid_slope(gates.update), candidate * s2 * sigmoid_slope(gates.reset),
          candidate, candidate * gates.reset, dh};
}

}  // namespace ferry::cells
