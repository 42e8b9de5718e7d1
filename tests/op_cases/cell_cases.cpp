// Cases of the steps of recurrent layers.
#include <cmath>

#include "ops/nn/cell.hpp"
#include "ops/op_set.hpp"
#include "tests/op_cases/case.hpp"

namespace ferry::test {
namespace {

using X = const Values&;
using D = Real;
using I = std::int64_t;

Nd zeros(const Nd& like) {
  return Nd(like.sizes, [](const Sizes&) { return D(0); });
}
D sigma(D x) {
  return 1 / (1 + std::exp(-x));
}
/// x[..., block, hidden unit], for the index of a hidden unit.
D in_block(const Nd& x, I block, Sizes unit) {
  unit.insert(unit.end() - 1, block);
  return x.at(unit);
}
D& block_of(Nd& x, I block, Sizes unit) {
  unit.insert(unit.end() - 1, block);
  return element(x, unit);
}
/// Calls each(index) for each element.
template <class Each>
void for_units(const Nd& x, const Each& each) {
  static_cast<void>(Nd(x.sizes, [&](const Sizes& at) { return each(at), D(0); }));
}

std::vector<Nd> lstm_cell_reference(const std::vector<Nd>& in) {
  Nd h = zeros(in[1]), c = h;
  for_units(c, [&](const Sizes& at) {
    const auto gate = [&](I block) { return sigma(in_block(in[0], block, at)); };
    element(c, at) = gate(2) * in[1].at(at) + gate(0) * std::tanh(in_block(in[0], 3, at));
    element(h, at) = gate(1) * std::tanh(c.at(at));
  });
  return {h, c};
}

std::vector<Nd> lstm_cell_grad_reference(const std::vector<Nd>& in) {
  Nd dgates = zeros(in[0]), dc = zeros(in[1]);
  for_units(dc, [&](const Sizes& at) {
    const auto gate = [&](I block) { return sigma(in_block(in[0], block, at)); };
    const auto slope = [&](I block) { return gate(block) * (1 - gate(block)); };
    const D candidate = std::tanh(in_block(in[0], 3, at)), end = std::tanh(in[2].at(at)), dh = in[3].at(at);
    const D total = in[4].at(at) + dh * gate(1) * (1 - end * end);
    block_of(dgates, 0, at) = total * candidate * slope(0);
    block_of(dgates, 1, at) = dh * end * slope(1);
    block_of(dgates, 2, at) = total * in[1].at(at) * slope(2);
    block_of(dgates, 3, at) = total * gate(0) * (1 - candidate * candidate);
    element(dc, at) = total * gate(2);
  });
  return {dgates, dc};
}

/// What a step of a gated recurrent unit computes for a hidden unit from x, s and h.
struct GruUnit {
  GruUnit(const std::vector<Nd>& in, const Sizes& at)
      : s(in_block(in[1], 2, at)),
        update(sigma(in_block(in[0], 0, at) + in_block(in[1], 0, at))),
        reset(sigma(in_block(in[0], 1, at) + in_block(in[1], 1, at))),
        candidate(std::tanh(in_block(in[0], 2, at) + reset * s)) {}
  D s, update, reset, candidate;
};

std::vector<Nd> gru_cell_reference(const std::vector<Nd>& in) {
  return {Nd(in[2].sizes, [&](const Sizes& at) {
    const GruUnit unit(in, at);
    return (1 - unit.update) * unit.candidate + unit.update * in[2].at(at);
  })};
}

std::vector<Nd> gru_cell_grad_reference(const std::vector<Nd>& in) {
  Nd dx = zeros(in[0]), ds = dx, dh = zeros(in[2]);
  for_units(dh, [&](const Sizes& at) {
    const GruUnit unit(in, at);
    const D dy = in[3].at(at), dcandidate = dy * (1 - unit.update) * (1 - unit.candidate * unit.candidate);
    const D dupdate = dy * (in[2].at(at) - unit.candidate) * unit.update * (1 - unit.update);
    const D dreset = dcandidate * unit.s * unit.reset * (1 - unit.reset);
    block_of(dx, 0, at) = block_of(ds, 0, at) = dupdate;
    block_of(dx, 1, at) = block_of(ds, 1, at) = dreset;
    block_of(dx, 2, at) = dcandidate;
    block_of(ds, 2, at) = dcandidate * unit.reset;
    element(dh, at) = dy * unit.update;
  });
  return {dx, ds, dh};
}

Values grad_of(std::string_view name, X x) {
  return x[0].graph().add(*default_ops().find(name), x, {}, SourceLine());
}

}  // namespace

std::vector<Case> cell_cases() {
  // clang-format off
  return {
      {"LSTMCell", [](X x) -> Values { const LstmState next = lstm_cell(x[0], x[1]); return {next.h, next.c}; }, lstm_cell_reference, {{{3, 4, 2}, {3, 2}}, {{4, 5}, {5}}, {{0, 4, 3}, {0, 3}}, {{2, 3, 4, 5}, {2, 3, 5}}, {{90, 4, 70}, {90, 70}}}},
      {"LSTMCellGrad", [](X x) { return grad_of("LSTMCellGrad", x); }, lstm_cell_grad_reference, {{{3, 4, 2}, {3, 2}, {3, 2}, {3, 2}, {3, 2}}, {{4, 5}, {5}, {5}, {5}, {5}}, {{0, 4, 3}, {0, 3}, {0, 3}, {0, 3}, {0, 3}}, {{90, 4, 70}, {90, 70}, {90, 70}, {90, 70}, {90, 70}}}},
      {"GRUCell", [](X x) -> Values { return {gru_cell(x[0], x[1], x[2])}; }, gru_cell_reference, {{{3, 3, 2}, {3, 3, 2}, {3, 2}}, {{3, 5}, {3, 5}, {5}}, {{0, 3, 3}, {0, 3, 3}, {0, 3}}, {{90, 3, 70}, {90, 3, 70}, {90, 70}}}},
      {"GRUCellGrad", [](X x) { return grad_of("GRUCellGrad", x); }, gru_cell_grad_reference, {{{3, 3, 2}, {3, 3, 2}, {3, 2}, {3, 2}}, {{3, 5}, {3, 5}, {5}, {5}}, {{0, 3, 3}, {0, 3, 3}, {0, 3}, {0, 3}}, {{90, 3, 70}, {90, 3, 70}, {90, 70}, {90, 70}}}},
  };
  // clang-format on
}

}  // namespace ferry::test
