// Kernels of the cells of recurrent layers. A row of gates [blocks,hidden] belongs to each row of the state.
#include "kernels/shared/cells.hpp"

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kWork = 8;  // an element of a cell takes as long as this many elements of a simple op

/// Calls f(T(), in, out, hidden) for each row of the state (input `state`), in several threads. The callbacks in(i,
/// blocks) and out(i, blocks) return the row in input and output i; the row has `blocks` blocks of hidden units.
template <class F>
void each_cell(const KernelRun& run, std::size_t state, const F& f) {
  const Array& c = run.inputs[state];
  for (Array& output : run.outputs)
    if (output.bounded) output.sizes[0] = c.sizes[0];
  const std::int64_t hidden = c.sizes.back(), rows = hidden == 0 ? 0 : c.count() / hidden;
  dispatch_floats(c.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, rows, grain_of(hidden * kWork), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        f(
            zero,
            [&](std::size_t i, std::int64_t blocks) { return run.inputs[i].as<const T>() + row * blocks * hidden; },
            [&](std::size_t i, std::int64_t blocks) { return run.outputs[i].as<T>() + row * blocks * hidden; }, hidden);
    });
  });
}

// Functions on rows of hidden units. They are not inlined and have no variable in the loop itself, so that they become
// vector code.

template <class F>
void each_unit(std::int64_t hidden, const F& f) {
#pragma omp simd
  for (std::int64_t k = 0; k < hidden; ++k) f(k);
}

template <class T>
[[gnu::noinline]] void lstm_row(const T* gates, const T* c, std::int64_t hidden, T* h, T* next) {
  each_unit(hidden, [=](std::int64_t k) {
    const cells::LstmGates<T> open(gates[k], gates[hidden + k], gates[2 * hidden + k], gates[3 * hidden + k]);
    const cells::LstmNext<T> state = cells::lstm(open, c[k]);
    h[k] = state.h;
    next[k] = state.c;
  });
}

template <class T>
[[gnu::noinline]] void lstm_grad_row(const T* gates, const T* c, const T* next, const T* dh, const T* dnext,
                                     std::int64_t hidden, T* dgates, T* dc) {
  each_unit(hidden, [=](std::int64_t k) {
    const cells::LstmGates<T> open(gates[k], gates[hidden + k], gates[2 * hidden + k], gates[3 * hidden + k]);
    const cells::LstmGrad<T> grad = cells::lstm_grad(open, c[k], next[k], dh[k], dnext[k]);
    dgates[k] = grad.in;
    dgates[hidden + k] = grad.out;
    dgates[2 * hidden + k] = grad.forget;
    dgates[3 * hidden + k] = grad.candidate;
    dc[k] = grad.c;
  });
}

template <class T>
[[gnu::noinline]] void gru_row(const T* x, const T* s, const T* h, std::int64_t hidden, T* y) {
  each_unit(hidden, [=](std::int64_t k) {
    const cells::GruGates<T> open(x[k], x[hidden + k], x[2 * hidden + k], s[k], s[hidden + k], s[2 * hidden + k]);
    y[k] = cells::gru(open, h[k]);
  });
}

template <class T>
[[gnu::noinline]] void gru_grad_row(const T* x, const T* s, const T* h, const T* dy, std::int64_t hidden, T* dx, T* ds,
                                    T* dh) {
  each_unit(hidden, [=](std::int64_t k) {
    const cells::GruGates<T> open(x[k], x[hidden + k], x[2 * hidden + k], s[k], s[hidden + k], s[2 * hidden + k]);
    const cells::GruGrad<T> grad = cells::gru_grad(open, s[2 * hidden + k], h[k], dy[k]);
    dx[k] = ds[k] = grad.update;
    dx[hidden + k] = ds[hidden + k] = grad.reset;
    dx[2 * hidden + k] = grad.candidate;
    ds[2 * hidden + k] = grad.from_state;
    dh[k] = grad.h;
  });
}

void lstm_cell(KernelRun& run) {
  each_cell(run, 1, [&]<class T>(T, const auto& in, const auto& out, std::int64_t hidden) {
    lstm_row<T>(in(0, 4), in(1, 1), hidden, out(0, 1), out(1, 1));
  });
}

void lstm_cell_grad(KernelRun& run) {
  each_cell(run, 1, [&]<class T>(T, const auto& in, const auto& out, std::int64_t hidden) {
    lstm_grad_row<T>(in(0, 4), in(1, 1), in(2, 1), in(3, 1), in(4, 1), hidden, out(0, 4), out(1, 1));
  });
}

void gru_cell(KernelRun& run) {
  each_cell(run, 2, [&]<class T>(T, const auto& in, const auto& out, std::int64_t hidden) {
    gru_row<T>(in(0, 3), in(1, 3), in(2, 1), hidden, out(0, 1));
  });
}

void gru_cell_grad(KernelRun& run) {
  each_cell(run, 2, [&]<class T>(T, const auto& in, const auto& out, std::int64_t hidden) {
    gru_grad_row<T>(in(0, 3), in(1, 3), in(2, 1), in(3, 1), hidden, out(0, 3), out(1, 3), out(2, 1));
  });
}

constexpr Kernel kKernels[] = {
    {.op = "LSTMCell", .run = lstm_cell, .in_place = 0b10},
    {.op = "LSTMCellGrad", .run = lstm_cell_grad, .in_place = 0b01},
    {.op = "GRUCell", .run = gru_cell, .in_place = 0b100},
    {.op = "GRUCellGrad", .run = gru_cell_grad, .in_place = 0b011},
};

}  // namespace

std::span<const Kernel> cell_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
