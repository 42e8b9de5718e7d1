// Steps of recurrent layers: a thread for each hidden unit of each row.
#include "kernels/shared/cells.hpp"

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/divide.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {
namespace {

template <class T>
using Number = typename Computed<T>::type;

/// An array in which each row consists of blocks [blocks,hidden].
template <class T>
struct Blocks {
  T* data;
  std::int64_t blocks, hidden;

  /// The element in `block` for hidden unit i, where i counts the hidden units of all rows.
  [[nodiscard]] FERRY_DEVICE T& at(std::int64_t i, std::int64_t block) const {
    const Quotient place = divided(i, hidden);
    return data[(place.whole * blocks + block) * hidden + place.rest];
  }
  [[nodiscard]] FERRY_DEVICE auto number(std::int64_t i, std::int64_t block) const { return load(at(i, block)); }
};

template <class T>
Blocks<const T> blocks_in(const KernelRun& run, std::size_t input, std::int64_t blocks) {
  return {run.inputs[input].as<const T>(), blocks, run.inputs[input].sizes.back()};
}
template <class T>
Blocks<T> blocks_out(const KernelRun& run, std::size_t output, std::int64_t blocks) {
  return {run.outputs[output].as<T>(), blocks, run.outputs[output].sizes.back()};
}

template <class T>
FERRY_DEVICE cells::LstmGates<Number<T>> lstm_gates(const Blocks<const T>& x, std::int64_t i) {
  return {x.number(i, 0), x.number(i, 1), x.number(i, 2), x.number(i, 3)};
}
template <class T>
FERRY_DEVICE cells::GruGates<Number<T>> gru_gates(const Blocks<const T>& x, const Blocks<const T>& s, std::int64_t i) {
  return {x.number(i, 0), x.number(i, 1), x.number(i, 2), s.number(i, 0), s.number(i, 1), s.number(i, 2)};
}

template <class T>
struct LstmCell {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const auto state = cells::lstm(lstm_gates(gates, i), load(c[i]));
    h[i] = stored_as<T>(state.h);
    next[i] = stored_as<T>(state.c);
  }
  Blocks<const T> gates;
  const T* c;
  T *h, *next;
};

template <class T>
struct LstmCellGrad {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const auto grad = cells::lstm_grad(lstm_gates(gates, i), load(c[i]), load(next[i]), load(dh[i]), load(dnext[i]));
    dgates.at(i, 0) = stored_as<T>(grad.in);
    dgates.at(i, 1) = stored_as<T>(grad.out);
    dgates.at(i, 2) = stored_as<T>(grad.forget);
    dgates.at(i, 3) = stored_as<T>(grad.candidate);
    dc[i] = stored_as<T>(grad.c);
  }
  Blocks<const T> gates;
  const T *c, *next, *dh, *dnext;
  Blocks<T> dgates;
  T* dc;
};

template <class T>
struct GruCell {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    y[i] = stored_as<T>(cells::gru(gru_gates(x, s, i), load(h[i])));
  }
  Blocks<const T> x, s;
  const T* h;
  T* y;
};

template <class T>
struct GruCellGrad {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const auto grad = cells::gru_grad(gru_gates(x, s, i), s.number(i, 2), load(h[i]), load(dy[i]));
    dx.at(i, 0) = ds.at(i, 0) = stored_as<T>(grad.update);
    dx.at(i, 1) = ds.at(i, 1) = stored_as<T>(grad.reset);
    dx.at(i, 2) = stored_as<T>(grad.candidate);
    ds.at(i, 2) = stored_as<T>(grad.from_state);
    dh[i] = stored_as<T>(grad.h);
  }
  Blocks<const T> x, s;
  const T *h, *dy;
  Blocks<T> dx, ds;
  T* dh;
};

void lstm_cell(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, run.inputs[1].count(),
             LstmCell<T>{blocks_in<T>(run, 0, 4), run.inputs[1].as<const T>(), run.outputs[0].as<T>(),
                         run.outputs[1].as<T>()});
  });
}

void lstm_cell_grad(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto in = [&](std::size_t i) { return run.inputs[i].as<const T>(); };
    for_each(run, run.inputs[1].count(),
             LstmCellGrad<T>{blocks_in<T>(run, 0, 4), in(1), in(2), in(3), in(4), blocks_out<T>(run, 0, 4),
                             run.outputs[1].as<T>()});
  });
}

void gru_cell(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each(run, run.inputs[2].count(),
             GruCell<T>{blocks_in<T>(run, 0, 3), blocks_in<T>(run, 1, 3), run.inputs[2].as<const T>(),
                        run.outputs[0].as<T>()});
  });
}

void gru_cell_grad(KernelRun& run) {
  dispatch_all_floats(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto in = [&](std::size_t i) { return run.inputs[i].as<const T>(); };
    for_each(run, run.inputs[2].count(),
             GruCellGrad<T>{blocks_in<T>(run, 0, 3), blocks_in<T>(run, 1, 3), in(2), in(3), blocks_out<T>(run, 0, 3),
                            blocks_out<T>(run, 1, 3), run.outputs[2].as<T>()});
  });
}

constexpr Kernel kCellKernels[] = {
    {.op = "LSTMCell", .run = lstm_cell, .in_place = 0b10, .takes = kAllNumbers},
    {.op = "LSTMCellGrad", .run = lstm_cell_grad, .in_place = 0b01, .takes = kAllNumbers},
    {.op = "GRUCell", .run = gru_cell, .in_place = 0b100, .takes = kAllNumbers},
    {.op = "GRUCellGrad", .run = gru_cell_grad, .in_place = 0b001, .takes = kAllNumbers},
};

}  // namespace

std::span<const Kernel> cell_kernels() {
  return kCellKernels;
}

}  // namespace ferry::cuda
