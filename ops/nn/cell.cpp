#include "ops/nn/cell.hpp"

#include <string>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

/// The letters of a state [...,hidden] and of the blocks [...,blocks,hidden] of input 0.
struct CellLetters {
  std::string blocks, state;
};
CellLetters cell_letters(const OpFacts& facts, std::int64_t blocks) {
  const Shape& first = facts.shape(0);
  const int rank = first.rank();
  if (rank < 2 || (first[rank - 2].known() && first[rank - 2] != Dim(blocks)))
    OpFacts::fail(first.str() + " are not [...," + std::to_string(blocks) + ",hidden]");
  Letters letters;
  const std::string rows = letters.next(rank - 2), block = whole(letters.next()), hidden = letters.next();
  return {rows + block + hidden, rows + hidden};
}

std::string lstm_index(const OpFacts& facts) {
  const auto [gates, state] = cell_letters(facts, 4);
  return gates + "," + state + "->" + state + "," + state;
}
std::string lstm_grad_index(const OpFacts& facts) {
  const auto [gates, state] = cell_letters(facts, 4);
  return gates + "," + state + "," + state + "," + state + "," + state + "->" + gates + "," + state;
}
std::string gru_index(const OpFacts& facts) {
  const auto [gates, state] = cell_letters(facts, 3);
  return gates + "," + gates + "," + state + "->" + state;
}
std::string gru_grad_index(const OpFacts& facts) {
  const auto [gates, state] = cell_letters(facts, 3);
  return gates + "," + gates + "," + state + "," + state + "->" + gates + "," + gates + "," + state;
}

/// Splits x [...,blocks,hidden] into its blocks [...,hidden].
Values blocks_of(const Value& x) {
  const std::int64_t axis = x.rank() - 2;
  Values parts = split(x, axis, Ints(static_cast<std::size_t>(x.shape()[x.rank() - 2].size()), 1));
  for (Value& part : parts) part = squeeze(part, {axis});
  return parts;
}
Value joined(Values blocks) {
  for (Value& block : blocks) block = expand_dims(block, {-2});
  return concat(blocks, -2);
}
Value sigmoid_slope(const Value& y) {
  return y * (1 - y);
}
Value tanh_slope(const Value& y) {
  return 1 - square(y);
}

/// LSTMCellGrad, computed by ops that have gradients.
Values lstm_grad_by_ops(const Values& x) {
  const Values sums = blocks_of(x[0]);
  const Value &c = x[1], &dh = x[3];
  const Value in = sigmoid(sums[0]), out = sigmoid(sums[1]), forget = sigmoid(sums[2]), candidate = tanh(sums[3]);
  const Value end = tanh(x[2]);
  const Value by_h = dh * out * tanh_slope(end);
  const Value dc = x[4] + by_h;
  const Value din = dc * candidate * sigmoid_slope(in);
  const Value dout = dh * end * sigmoid_slope(out);
  const Value dforget = dc * c * sigmoid_slope(forget);
  const Value dcandidate = dc * in * tanh_slope(candidate);
  return {joined({din, dout, dforget, dcandidate}), dc * forget};
}

/// GRUCellGrad, computed by ops that have gradients.
Values gru_grad_by_ops(const Values& x) {
  const Values from_input = blocks_of(x[0]), from_state = blocks_of(x[1]);
  const Value &h = x[2], &dy = x[3];
  const Value update = sigmoid(from_input[0] + from_state[0]), reset = sigmoid(from_input[1] + from_state[1]);
  const Value candidate = tanh(from_input[2] + reset * from_state[2]);
  const Value dupdate = dy * (h - candidate) * sigmoid_slope(update);
  const Value dh = dy * update;
  const Value dcandidate = (dy - dh) * tanh_slope(candidate);
  const Value dreset = dcandidate * from_state[2] * sigmoid_slope(reset);
  return {joined({dupdate, dreset, dcandidate}), joined({dupdate, dreset, dcandidate * reset}), dh};
}

/// The gradients of g's op, computed by differentiating by_ops(inputs), which gives the same results.
Values grad_by_ops(GradCtx& g, Values (*by_ops)(const Values&)) {
  Values xs, douts;
  for (int i = 0; i < g.inputs(); ++i) xs.push_back(stop_gradient(g.in(i)));
  for (int i = 0; i < g.outputs(); ++i) douts.push_back(g.dout(i));
  return pullback(by_ops(xs), douts, xs);
}

constexpr double kCellFlops = 30;  // a sigmoid or tanh for each gate, and a few more operations
constexpr double kCellGradFlops = 40;

constexpr OpDef kLstmCellGrad{.name = "LSTMCellGrad",
                              .types = "T,T,T,T,T->T,T",
                              .T = kFloats,
                              .index_of = lstm_grad_index,
                              .flops = kCellGradFlops,
                              .grad = [](GradCtx& g) { return grad_by_ops(g, lstm_grad_by_ops); }};

constexpr OpDef kLstmCell{.name = "LSTMCell",
                          .types = "T,T->T,T",
                          .T = kFloats,
                          .index_of = lstm_index,
                          .flops = kCellFlops,
                          .grad = [](GradCtx& g) {
                            const Value dh = g.dout(0), dc = g.dout(1);
                            return make(kLstmCellGrad, {{g.in(0), g.in(1), g.out(1), dh, dc}}, {}, g.line());
                          }};

constexpr OpDef kGruCellGrad{.name = "GRUCellGrad",
                             .types = "T,T,T,T->T,T,T",
                             .T = kFloats,
                             .index_of = gru_grad_index,
                             .flops = kCellGradFlops,
                             .grad = [](GradCtx& g) { return grad_by_ops(g, gru_grad_by_ops); }};

constexpr OpDef kGruCell{.name = "GRUCell",
                         .types = "T,T,T->T",
                         .T = kFloats,
                         .index_of = gru_index,
                         .flops = kCellFlops,
                         .grad = [](GradCtx& g) {
                           return make(kGruCellGrad, {{g.in(0), g.in(1), g.in(2), g.dout()}}, {}, g.line());
                         }};

constexpr const OpDef* kCellOps[] = {&kLstmCell, &kLstmCellGrad, &kGruCell, &kGruCellGrad};

/// Reshapes x [...,blocks * hidden] to [...,blocks,hidden]; also accepts the latter form. `rank` is the state's rank.
Value in_blocks(const std::string& what, const Value& x, int rank, std::int64_t blocks, const SourceLine& line) {
  if (x.rank() != rank || rank == 0) return x;
  const Dim& last = x.shape()[rank - 1];
  if (!last.fixed() || last.size() % blocks != 0)
    throw Error(Code::plan, what + ": " + x.name() + " " + x.shape().str() + " is not [...," + std::to_string(blocks) +
                                " * hidden]")
        .at(line);
  Ints sizes;
  for (int d = 0; d < rank - 1; ++d) sizes.push_back(x.shape()[d].fixed() ? x.shape()[d].size() : -1);
  sizes.push_back(blocks);
  sizes.push_back(last.size() / blocks);
  return reshape(x, std::move(sizes));
}

}  // namespace

LstmState lstm_cell(const Value& gates, const Value& c, source_location at) {
  const Scope here = caller_scope(graph_of({{gates, c}}, at), at);
  const Values both = make(kLstmCell, {{in_blocks("lstm_cell", gates, c.rank(), 4, at), c}}, {}, at);
  return {both[0], both[1]};
}

Value gru_cell(const Value& from_input, const Value& from_state, const Value& h, source_location at) {
  const Scope here = caller_scope(graph_of({{from_input, from_state, h}}, at), at);
  const Value x = in_blocks("gru_cell", from_input, h.rank(), 3, at);
  const Value s = in_blocks("gru_cell", from_state, h.rank(), 3, at);
  return make_one(kGruCell, {x, s, h}, at);
}

std::span<const OpDef* const> cell_ops() {
  return kCellOps;
}

}  // namespace ferry
