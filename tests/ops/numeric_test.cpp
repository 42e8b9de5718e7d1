// Compares gradients of expressions of several ops with finite differences (tests/op_cases does each op alone), and
// optimizers with their formulas.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/windows.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/nn/norm.hpp"
#include "ops/train/optim.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::Evaluator;
using test::numbers;

/// Checks the gradient of loss(x), where x is a float64 input of `shape` in the graph that is fed an array of `sizes`.
void check_gradient(const Shape& shape, std::vector<std::int64_t> sizes,
                    const std::function<Value(const Value&)>& loss) {
  Graph g;
  const Value x = g.input("x", DType::float64, shape);
  const Value y = loss(x);
  const Value dx = gradients(y, {x})[0];
  Evaluator evaluator(g);
  const Tensor at = numbers(std::move(sizes));
  const Tensor found = evaluator.run({dx}, {{"x", at}})[0];
  REQUIRE(found.type() == at.type());
  constexpr double kStep = 1e-6;
  for (std::int64_t i = 0; i < at.count(); ++i) {
    const auto loss_at = [&](double shift) {
      std::vector<double> values(at.data<double>().begin(), at.data<double>().end());
      values[i] += shift;
      evaluator.step = 0;
      return evaluator.run({y}, {{"x", Tensor::of<double>(at.sizes(), values)}})[0].number(0);
    };
    CHECK(found.number(i) == doctest::Approx((loss_at(kStep) - loss_at(-kStep)) / (2 * kStep)).epsilon(1e-6));
  }
}

TEST_CASE("gradients of expressions") {
  SUBCASE("powers and quotients") {
    check_gradient({"n"}, {4}, [](const Value& x) {
      const Value squares = square(x) + 0.5;
      return sum(pow(squares, x) / (1 + exp(-x)));
    });
  }
  SUBCASE("broadcasting both ways") {
    check_gradient({"n", 1}, {3, 1}, [](const Value& x) {
      const Value row = transpose(x);
      return mean(tanh(x * row) + x);
    });
  }
  SUBCASE("a softmax by hand, with max") {
    check_gradient({2, 3}, {2, 3}, [](const Value& x) {
      const Value e = exp(x - max(x, {1}, true));
      return sum(square(e / sum(e, {1}, true)));
    });
  }
  SUBCASE("pieces that are cut out and joined, of unknown size") {
    check_gradient({"n", 2}, {5, 2}, [](const Value& x) {
      const Value piece = square(slice(x, 0, 1, -1, 2));
      const Value total = sum(x, {0}, true);
      const Value joined = concat({total, piece, exp(total)}, 0);
      const Value padded = pad(joined, {0, 1}, {0, 2}, 3);
      return sum(square(slice(padded, 1, 0, 2)) * exp(joined));
    });
  }
  SUBCASE("split, reshape, gather") {
    check_gradient({2, 4}, {2, 4}, [](const Value& x) {
      const Values parts = split(x, 1, {1, 3});
      const Value table = reshape(parts[1], {3, 2});
      const Value rows = gather(table, x.graph().constant({2, 0, 2}));
      return sum(square(rows)) + sum(parts[0] * sum(rows));
    });
  }
}

/// The gradient of sum(f(x)) with respect to x, which is a float64 constant with the elements `at`.
std::vector<double> slopes(const std::vector<double>& at, const std::function<Value(const Value&)>& f) {
  Graph g;
  const auto n = static_cast<std::int64_t>(at.size());
  const Value x = g.constant(Tensor::of<double>({n}, at));
  const Tensor found = Evaluator(g).run({gradients(sum(f(x)), {x})[0]})[0];
  return {found.data<double>().begin(), found.data<double>().end()};
}

TEST_CASE("activations have the slope of one of their sides at a kink") {
  using Numbers = std::vector<double>;
  CHECK(slopes({0}, [](const Value& x) { return elu(x); }) == Numbers{1});
  CHECK(slopes({0}, [](const Value& x) { return elu(x, 1.5); }) == Numbers{1.5});
  CHECK(slopes({0}, [](const Value& x) { return celu(x, 2); }) == Numbers{1});
  CHECK(slopes({0}, [](const Value& x) { return selu(x); })[0] == doctest::Approx(1.7580993408473766));
  CHECK(slopes({1000, -1000}, [](const Value& x) { return elu(x); }) == Numbers{1, 0});
}

TEST_CASE("mish is flat far below zero") {
  const double least = std::numeric_limits<double>::lowest();
  CHECK(slopes({least, -2000, -1000}, [](const Value& x) { return mish(x); }) == std::vector<double>{0, 0, 0});
}

TEST_CASE("powers of and to zero have gradients") {
  using Numbers = std::vector<double>;
  const Numbers at{0, 2, -3};
  CHECK(slopes(at, [](const Value& x) { return pow(x, 0); }) == Numbers{0, 0, 0});
  CHECK(slopes(at, [](const Value& x) { return pow(x, 1); }) == Numbers{1, 1, 1});
  CHECK(slopes(at, [](const Value& x) { return pow(x, 2); }) == Numbers{0, 4, -6});
  CHECK(slopes(at, [](const Value& x) { return pow(0, x); }) == Numbers{0, 0, 0});
  CHECK(slopes(at, [](const Value& x) { return pow(1, x); }) == Numbers{0, 0, 0});
  CHECK(slopes({0}, [](const Value& x) { return pow(2, x); })[0] == doctest::Approx(std::log(2)));
  CHECK(std::isnan(slopes({std::nan("")}, [](const Value& x) { return pow(x, 2); })[0]));
  CHECK(slopes({0}, [](const Value& x) { return gradients(sum(pow(x, 1)), {x})[0] + x; }) == Numbers{1});
}

TEST_CASE("norms of nothing but zeros have the gradient 0") {
  Graph g;
  const Value x = g.constant(Tensor(DType::float64, {1, 1, 4}));
  const auto slope = [&](const Value& y) {
    const Tensor dx = Evaluator(g).run({gradients(sum(y), {x})[0]})[0];
    for (std::int64_t i = 0; i < dx.count(); ++i) CHECK(std::isfinite(dx.number(i)));
    return dx.number(0);
  };
  slope(lp_normalize(x));
  for (double p : {2.0, 3.0}) CHECK(slope(lp_pool(x, {.size = {2}}, p)) == 0);
}

TEST_CASE("gradients of gradients") {
  const auto slope = [](const std::function<Value(const Value&)>& f) {
    return [f](const Value& x) { return sum(square(gradients(f(x), {x})[0])); };
  };
  check_gradient({2, 3}, {2, 3}, slope([](const Value& x) { return sum(sigmoid(x) * tanh(x)); }));
  check_gradient({2, 3}, {2, 3}, slope([](const Value& x) { return sum(square(softmax(x))); }));
  check_gradient({2, 3}, {2, 3}, slope([](const Value& x) {
                   return mean(softmax_cross_entropy(x, x.graph().constant({2, 0})));
                 }));
  check_gradient({2, 2}, {2, 2}, slope([](const Value& x) { return sum(matmul(x, matmul(x, x, true))); }));
}

TEST_CASE("the gradient of a branch is that of the taken one") {
  for (const bool taken : {true, false}) {
    CAPTURE(taken);
    check_gradient({3}, {3}, [&](const Value& x) {
      const Value outside = square(x);
      const Value y = cond(
          x.graph().constant(Tensor::scalar(taken)), [&] { return Values{exp(x) * outside}; },
          [&] { return Values{x * uniform(x.graph(), {3}, 1, 2, DType::float64)}; })[0];
      return sum(y * outside);
    });
  }
}

TEST_CASE("a gradient may be asked for in a branch, of values from around it") {
  check_gradient({3}, {3}, [](const Value& x) {
    const Value yes = x.graph().constant(Tensor::scalar(true));
    const auto cubed = [&] { return Values{square(x) * x}; };
    const Value y = sum(cond(yes, cubed, [&] { return Values{x}; })[0]);
    return sum(cond(
        yes, [&] { return gradients(y, {x}); }, [&] { return Values{x}; })[0]);
  });
}

/// w after three steps of an optimizer on the loss w^4 / 4, whose gradient is w^3.
double trained(const std::function<Values(const Value& loss, const Value& w)>& optimizer) {
  Graph g;
  const Value w = g.variable("w", g.constant(Tensor::of<double>({1}, {1.5})));
  const Values updates = optimizer(sum(square(square(w))) / 4, w);
  Evaluator evaluator(g);
  for (int i = 0; i < 3; ++i) evaluator.run({}, {}, updates);
  return evaluator.variables.at("w").number(0);
}

TEST_CASE("optimizers follow their formulas") {
  const auto slope = [](double w) { return w * w * w; };
  SUBCASE("sgd") {
    double w = 1.5;
    for (int i = 0; i < 3; ++i) w -= 0.1 * slope(w);
    CHECK(trained([](const Value& loss, const Value& v) { return sgd(loss, {v}, 0.1); }) ==
          doctest::Approx(w).epsilon(1e-12));
  }
  SUBCASE("momentum") {
    double w = 1.5, m = 0;
    for (int i = 0; i < 3; ++i) {
      m = 0.8 * m + slope(w);
      w -= 0.1 * m;
    }
    CHECK(trained([](const Value& loss, const Value& v) { return momentum(loss, {v}, 0.1, 0.8); }) ==
          doctest::Approx(w).epsilon(1e-12));
  }
  SUBCASE("adam") {
    double w = 1.5, m = 0, v = 0;
    for (int t = 1; t <= 3; ++t) {
      m = 0.9 * m + 0.1 * slope(w);
      v = 0.99 * v + 0.01 * slope(w) * slope(w);
      w -= 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-8);
    }
    CHECK(trained([](const Value& loss, const Value& x) { return adam(loss, {x}, 0.1, {.beta2 = 0.99}); }) ==
          doctest::Approx(w).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace ferry
