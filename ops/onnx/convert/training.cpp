// Optimizer steps of the domain ai.onnx.preview.training. The formulas are from ONNX's specification.
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// The inputs of a training op: the learning rate R, the step number T, and then lists with the same number of tensors.
/// The lists are the trained tensors, their gradients, and the optimizer's state.
class Lists {
 public:
  Lists(Context& c, int lists) : c_(c), count_((c.inputs() - 2) / lists) {
    if (count_ < 1 || c.inputs() != 2 + count_ * lists) Context::fail("it has not as many tensors of each kind");
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] Value get(int list, int i) { return c_.in(2 + list * count_ + i); }

 private:
  Context& c_;
  int count_;
};

/// The gradient plus the gradient of the L2 regularization, norm_coefficient / 2 * |x|^2.
Value regularized(Context& c, const Value& x, const Value& gradient) {
  const Value pull = x * c.real("norm_coefficient", 0);
  return pull + gradient;
}

Outs joined(const std::vector<Values>& lists) {
  Values all;
  for (const Values& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Outs to_adagrad(Context& c) {
  Lists lists(c, 3);
  const Value rate = c.in(0);
  const Value decay = cast(c.in(1), rate.dtype()) * c.real("decay_factor", 0) + 1;
  const Value now = rate / decay;
  std::vector<Values> outs(2);
  for (int i = 0; i < lists.count(); ++i) {
    const Value x = lists.get(0, i);
    const Value gradient = regularized(c, x, lists.get(1, i));
    const Value history = lists.get(2, i) + square(gradient);
    const Value scale = sqrt(history) + c.real("epsilon", 1e-6);
    const Value step = now * gradient / scale;
    outs[0].push_back(x - step);
    outs[1].push_back(history);
  }
  return joined(outs);
}

/// Returns 1 - factor^T, where T is the step number.
Value unbias(Context& c, double factor, DType dtype) {
  const Value power = pow(c.scalar(factor, dtype), cast(c.in(1), dtype));
  return 1 - power;
}

Outs to_adam(Context& c) {
  Lists lists(c, 4);
  const double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999);
  const Value rate = c.in(0);
  const Value first = unbias(c, alpha, rate.dtype());
  const Value second = sqrt(unbias(c, beta, rate.dtype()));
  const Value later = rate * second / first;
  const Value begun = greater(c.in(1), 0);
  const Value now = select(begun, later, rate);
  std::vector<Values> outs(3);
  for (int i = 0; i < lists.count(); ++i) {
    const Value x = lists.get(0, i);
    const Value gradient = regularized(c, x, lists.get(1, i));
    const Value kept = lists.get(2, i) * alpha;
    const Value momentum = kept + gradient * (1 - alpha);
    const Value kept_squares = lists.get(3, i) * beta;
    const Value squares = kept_squares + square(gradient) * (1 - beta);
    const Value scale = sqrt(squares) + c.real("epsilon", 1e-6);
    const Value step = now * momentum / scale;
    outs[0].push_back((x - step) * (1 - c.real("norm_coefficient_post", 0)));
    outs[1].push_back(momentum);
    outs[2].push_back(squares);
  }
  return joined(outs);
}

Outs to_momentum(Context& c) {
  Lists lists(c, 3);
  const double alpha = c.real("alpha");
  const bool nesterov = c.text("mode") == "nesterov";
  const Value rate = c.in(0);
  const Value begun = greater(c.in(1), 0);
  const Value beta = select(begun, c.scalar(c.real("beta"), rate.dtype()), 1);
  std::vector<Values> outs(2);
  for (int i = 0; i < lists.count(); ++i) {
    const Value x = lists.get(0, i);
    const Value gradient = regularized(c, x, lists.get(1, i));
    const Value kept = lists.get(2, i) * alpha;
    const Value momentum = kept + beta * gradient;
    const Value direction = nesterov ? gradient + momentum * alpha : momentum;
    const Value step = rate * direction;
    outs[0].push_back(x - step);
    outs[1].push_back(momentum);
  }
  return joined(outs);
}

constexpr ConvertOp kTraining[] = {
    {"ai.onnx.preview.training.Adagrad", 1, to_adagrad},
    {"ai.onnx.preview.training.Adam", 1, to_adam},
    {"ai.onnx.preview.training.Momentum", 1, to_momentum},
};

}  // namespace

std::span<const ConvertOp> training_converters() {
  return kTraining;
}

}  // namespace ferry::onnx
