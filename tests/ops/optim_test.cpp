// Compares optimizers and schedules step by step with PyTorch and with the papers' algorithms
// (optim_reference.{py,txt}), and tests clipping, accumulation, loss scaling and 16-bit gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "graph/op/core_ops.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/mixed.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/regularize.hpp"
#include "ops/train/schedule.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::Evaluator;
using test::some;
using Sizes = std::vector<std::int64_t>;

constexpr double kRate = 0.05;
constexpr int kSteps = 10;
const std::vector<Sizes> kShapes = {{3}, {2, 3}, {1}, {2, 1, 2}, {}};

std::vector<double> elements(const Sizes& sizes, const std::function<double(double)>& f) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(f(static_cast<double>(i)));
  return values;
}

Tensor of(DType dtype, const Sizes& sizes, const std::vector<double>& values) {
  Tensor tensor(dtype, sizes);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) tensor.mutable_data<T>()[i] = static_cast<T>(values[i]);
  });
  return tensor;
}

/// The same as weights() in optim_reference.py.
Tensor weights(DType dtype, std::size_t index) {
  const Sizes& sizes = kShapes[index];
  if (sizes == Sizes{1}) return of(dtype, sizes, {0});
  return of(dtype, sizes, elements(sizes, [&](double i) { return std::sin(i * 1.7 + double(index) + 0.4); }));
}

/// The same as gradient() in optim_reference.py.
Tensor gradient(DType dtype, std::size_t index, int step) {
  return of(dtype, kShapes[index], elements(kShapes[index], [&](double i) {
              return std::cos(i * 0.9 + double(index) * 1.3 + step * 0.7) * (1 + 0.2 * step);
            }));
}

/// The elements of each variable after each step. Keys are "CASE VARIABLE STEP".
const std::map<std::string, std::vector<double>>& reference() {
  static const auto kRead = [] {
    std::map<std::string, std::vector<double>> all;
    std::ifstream file(FERRY_OPTIM_REFERENCE);
    REQUIRE_MESSAGE(file.good(), FERRY_OPTIM_REFERENCE);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name, variable, step;
      words >> name >> variable >> step;
      std::vector<double>& numbers = all[name + " " + variable + " " + step];
      for (double x = 0; words >> x;) numbers.push_back(x);
    }
    return all;
  }();
  return kRead;
}

using Make = std::function<Values(Graph&, const Gradients&)>;

/// A graph with the variables and gradients of optim_reference.py, and the updates that `make` builds for them.
struct Fixture {
  Fixture(DType type, const Make& make) : dtype(type) {
    Gradients gradients;
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      const std::string name = std::to_string(i);
      const Value w = g.variable("w" + name, g.constant(weights(dtype, i)));
      gradients.push_back({w, g.input("g" + name, dtype, Shape(kShapes[i]))});
    }
    updates = make(g, gradients);
  }
  void run(Evaluator& evaluator, int step) const {
    Evaluator::Feeds feeds;
    for (std::size_t i = 0; i < kShapes.size(); ++i) feeds["g" + std::to_string(i)] = gradient(dtype, i, step);
    evaluator.run({}, feeds, updates);
  }

  DType dtype;
  Graph g;
  Values updates;
};

void check_against(const std::string& name, const Make& make) {
  CAPTURE(name);
  for (const DType dtype : {DType::float64, DType::float32}) {
    const double tolerance = dtype == DType::float64 ? 1e-12 : 3e-6;
    CAPTURE(name_of(dtype));
    const Fixture made(dtype, make);
    Evaluator evaluator(made.g);
    for (int step = 0; step < kSteps; ++step) {
      CAPTURE(step);
      made.run(evaluator, step);
      for (std::size_t i = 0; i < kShapes.size(); ++i) {
        CAPTURE(i);
        const auto& wanted = reference().at(name + " " + std::to_string(i) + " " + std::to_string(step));
        const Tensor& got = evaluator.variables.at("w" + std::to_string(i));
        REQUIRE(got.count() == static_cast<std::int64_t>(wanted.size()));
        for (std::int64_t e = 0; e < got.count(); ++e) CHECK(std::abs(got.number(e) - wanted[e]) <= tolerance);
      }
    }
  }
}

TEST_CASE("optimizers give PyTorch's numbers") {
  check_against("sgd", [](Graph&, const Gradients& g) { return sgd(g, kRate); });
  check_against("momentum", [](Graph&, const Gradients& g) { return momentum(g, kRate, 0.8); });
  check_against("nesterov", [](Graph&, const Gradients& g) { return nesterov(g, kRate, 0.8); });
  check_against("adagrad", [](Graph&, const Gradients& g) { return adagrad(g, kRate); });
  check_against("rmsprop", [](Graph&, const Gradients& g) { return rmsprop(g, kRate); });
  check_against("rmsprop_centered", [](Graph&, const Gradients& g) {
    return rmsprop(g, kRate, {.decay = 0.9, .epsilon = 1e-6, .momentum = 0.7, .centered = true});
  });
  check_against("adam", [](Graph&, const Gradients& g) { return adam(g, kRate); });
  check_against("adam_betas", [](Graph&, const Gradients& g) {
    return adam(g, kRate, {.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-5});
  });
  check_against("adamw", [](Graph&, const Gradients& g) { return adamw(g, kRate, 0.1); });
}

TEST_CASE("LAMB and LARS give the numbers of the papers' algorithms") {
  check_against("lamb", [](Graph&, const Gradients& g) { return lamb(g, kRate); });
  check_against("lars", [](Graph&, const Gradients& g) {
    return lars(g, kRate, {.trust = 0.02, .momentum = 0.8, .decay = 0.1});
  });
}

TEST_CASE("decay and clipping give PyTorch's numbers") {
  check_against("sgd_decay", [](Graph&, const Gradients& g) { return sgd(weight_decay(g, 0.1), kRate); });
  check_against("sgd_clip", [](Graph&, const Gradients& g) { return sgd(clip_by_norm(g, 3), kRate); });
}

/// SGD with the rate that a schedule gives.
Make scheduled(const std::function<Value(const Value& steps)>& schedule) {
  return [schedule](Graph& graph, const Gradients& g) {
    const StepCount count = count_steps(graph);
    Values updates = sgd(g, schedule(count.steps));
    updates.push_back(count.update);
    return updates;
  };
}

TEST_CASE("schedules give PyTorch's numbers") {
  check_against("cosine", scheduled([](const Value& steps) { return cosine_decay(kRate, steps, 9, 0.01); }));
  check_against("steps", scheduled([](const Value& steps) { return step_decay(kRate, steps, 3, 0.5); }));
  check_against("milestones", scheduled([](const Value& steps) { return milestone_decay(kRate, steps, {2, 5}, 0.5); }));
  check_against("warm_up", scheduled([](const Value& steps) { return warm_up(kRate, steps, 4); }));
}

/// The rate that a schedule gives at each of these steps.
std::vector<double> rates(const std::vector<std::int64_t>& steps, const std::function<Value(const Value&)>& schedule) {
  Graph g;
  const Value step = g.input("step", DType::int64, {});
  const Value rate = schedule(step);
  Evaluator evaluator(g);
  std::vector<double> found;
  for (const std::int64_t at : steps)
    found.push_back(evaluator.run({rate}, {{"step", Tensor::scalar(at)}})[0].number(0));
  return found;
}

TEST_CASE("schedules follow one another, and begin from one task's rate") {
  const auto grown = rates({0, 1, 2, 4, 9}, [](const Value& s) { return scaled_by_tasks(0.5, 3, s, 4); });
  CHECK(grown == std::vector<double>{0.5, 0.75, 1, 1.5, 1.5});
  const auto both = rates({0, 1, 3, 7}, [](const Value& s) { return warm_up(step_decay(2, s, 4, 0.25), s, 4); });
  CHECK(both == std::vector<double>{0.5, 1, 2, 0.5});
  const auto held = rates({4, 5}, [](const Value& s) { return cosine_decay(warm_up(2, s, 1), s, 4, 0.5); });
  CHECK(held == std::vector<double>{0.5, 0.5});
}

TEST_CASE("schedules say what does not fit") {
  Graph g;
  const Value steps = g.input("steps", DType::int64, {});
  const Value wrong = g.input("x", DType::float32, {2});
  CHECK(error_of([&] { warm_up(0.1, steps, 0); }).starts_with("warm_up: 0 steps; at least one\n  at optim_test.cpp:"));
  CHECK(error_of([&] { warm_up(0.1, wrong, 1); }).starts_with("warm_up: the count of steps 'x' is float32[2]\n"));
  CHECK(error_of([&] { cosine_decay(wrong, steps, 1); }).starts_with("cosine_decay: the rate 'x' is float32[2]\n"));
  CHECK(error_of([&] { scaled_by_tasks(1, 0, steps, 1); }).starts_with("scaled_by_tasks: 0 tasks\n"));
}

TEST_CASE("a norm that is not above the most leaves the gradients as they are") {
  Graph g;
  const Value a = g.variable("a", g.constant({0.0, 0.0})), b = g.variable("b", g.constant({0.0}));
  const Gradients gradients = {{a, g.constant({3.0, 0.0})}, {b, g.constant({4.0})}};
  const Gradients same = clip_by_norm(gradients, 5), less = clip_by_norm(gradients, 2.5);
  Evaluator evaluator(g);
  const auto found = evaluator.run({global_norm(gradients), same[0].gradient, less[0].gradient, less[1].gradient});
  CHECK(found[0].number(0) == 5);
  CHECK(found[1].number(0) == 3);
  CHECK(found[2].number(0) == 1.5);
  CHECK(found[3].number(0) == 2);
  CHECK(error_of([&] { static_cast<void>(clip_by_norm(gradients, 0)); }).starts_with("clip_by_norm: to a norm of 0"));
  CHECK(error_of([&] { static_cast<void>(clip_by_norm({}, 1)); }).starts_with("clip_by_norm: no gradients\n"));
}

TEST_CASE("where a condition is false no variable changes") {
  const Make sometimes = [](Graph& graph, const Gradients& gradients) {
    const StepCount count = count_steps(graph);
    const Value even = equal(mod(count.steps, 2), 0);
    Values updates = only_when(even, adam(gradients, kRate));
    updates.push_back(count.update);
    return updates;
  };
  const Fixture made(DType::float64, sometimes);
  Evaluator evaluator(made.g);
  made.run(evaluator, 0);
  const auto before = evaluator.variables;
  made.run(evaluator, 1);
  CHECK(evaluator.variables.at("steps").number(0) == 2);
  for (const auto& [name, value] : before)
    if (name != "steps") CHECK(value.number(0) == evaluator.variables.at(name).number(0));
  made.run(evaluator, 2);
  CHECK(evaluator.variables.at("w0/adam_step").number(0) == 2);
  Graph g;
  const Value w = g.variable("w", g.constant({1.0}));
  CHECK(error_of([&] { return only_when(g.constant({true}), {w}); }).find("is not the update of a variable") !=
        std::string::npos);
}

TEST_CASE("gradients that are added up over steps are applied as one") {
  const auto accumulating = [](Graph&, const Gradients& gradients) {
    return accumulated(gradients, 2, [](const Gradients& means) { return momentum(means, kRate); });
  };
  const Fixture made(DType::float64, accumulating);
  Evaluator evaluator(made.g);
  const double first = weights(DType::float64, 0).number(0);
  double w = first, m = 0;
  for (int step = 0; step < 6; ++step) {
    made.run(evaluator, step);
    if (step % 2 == 1) {
      m = 0.9 * m + (gradient(DType::float64, 0, step - 1).number(0) + gradient(DType::float64, 0, step).number(0)) / 2;
      w -= kRate * m;
    }
    CHECK(evaluator.variables.at("w0").number(0) == doctest::Approx(w).epsilon(1e-12));
    CHECK((evaluator.variables.at("w0/accumulated").number(0) == 0) == (step % 2 == 1));
  }
  CHECK(w != first);
}

/// The updates of a step by the gradient of all rows, and of steps with parts of them whose gradients are accumulated.
template <class Loss>
void check_accumulated(const Loss& loss) {
  Graph g;
  const Tensor initial = some({4}, 0.4);
  const auto rows = [&](const char* x, const char* counts) {
    return std::pair(g.input(x, DType::float64, {"n", 4}), g.input(counts, DType::float64, {"n"}));
  };
  const Value w = g.variable("w", g.constant(initial)), whole = g.variable("whole", g.constant(initial));
  const auto [x, counts] = rows("x", "counts");
  const auto [all, all_counts] = rows("all", "all_counts");
  const Optimizer optimizer = [](const Gradients& gradients) { return sgd(gradients, 0.1); };
  const Values updates = accumulated(gradients_of(loss(x, counts, w), Values{w}), 3, optimizer);
  const Values at_once = optimizer(gradients_of(loss(all, all_counts, whole), Values{whole}));
  Evaluator evaluator(g);
  const std::vector<double> mask{1, 0, 0, 1, 1, 0, 1, 0, 1};
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> elements;
    const Tensor from = some({9, 4}, 0.9);
    for (std::int64_t i = 4 * begin; i < 4 * end; ++i) elements.push_back(from.number(i));
    return std::pair(Tensor::of<double>({end - begin, 4}, elements),
                     Tensor::of<double>({end - begin}, {mask.begin() + begin, mask.begin() + end}));
  };
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 4}, {4, 8}, {8, 9}}) {
    const auto [elements, weights] = part(begin, end);
    evaluator.run({}, {{"x", elements}, {"counts", weights}}, updates);
  }
  const auto [elements, weights] = part(0, 9);
  evaluator.run({}, {{"all", elements}, {"all_counts", weights}}, at_once);
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(evaluator.variables.at("w").number(i) ==
          doctest::Approx(evaluator.variables.at("whole").number(i)).epsilon(1e-6));
}

TEST_CASE("accumulated gradients of steps with different rows, or weights, are those of all rows") {
  const auto losses = [](const Value& x, const Value& w) { return sum(square(x * w), {1}); };
  check_accumulated([&](const Value& x, const Value&, const Value& w) { return mean(losses(x, w)); });
  check_accumulated(
      [&](const Value& x, const Value& counts, const Value& w) { return sum(losses(x, w) * counts) / sum(counts); });
  Graph g;
  const Value x = g.input("x", DType::float64, {"n", 4}), counts = g.input("counts", DType::float64, {"n"});
  const Value w = g.variable("w", g.constant(some({4})));
  const Value both = sum(losses(x, w) * counts) / sum(counts) + mean(losses(x, w));
  const std::string why = error_of([&] {
    static_cast<void>(
        accumulated(gradients_of(both, Values{w}), 2, [](const Gradients& means) { return sgd(means, 0.1); }));
  });
  CHECK_MESSAGE(why.starts_with("accumulated: the loss is a sum of means that are divided by different numbers"), why);
  CHECK_MESSAGE(why.find("\n  at optim_test.cpp:") != std::string::npos, why);
}

/// A weight w with the float16 loss w * factor, where the factor is fed; the loss scale grows after two good steps.
struct Scaled {
  Graph g;
  Value factor = g.input("factor", DType::float32, {});
  Value w = g.variable("w", g.constant({1.0}));
  Value loss = sum(cast(w, DType::float16) * cast(factor, DType::float16));
  LossScale scale = loss_scale(g, {.first = 1024, .every = 2});
  Values updates = unscaled(gradients_of(cast(loss, DType::float32) * scale.value, {w}), scale,
                            [](const Gradients& gradients) { return adam(gradients, 0.5); });
  Evaluator evaluator{g};

  void step(float value) { evaluator.run({}, {{"factor", Tensor::scalar(value)}}, updates); }
  double now(const std::string& name) const { return evaluator.variables.at(name).number(0); }
};

TEST_CASE_FIXTURE(Scaled, "a step that overflows changes nothing but the scale") {
  step(1);
  CHECK(now("w") == doctest::Approx(0.5));
  CHECK(now("loss_scale/good_steps") == 1);
  step(100);  // the gradient 100 * 1024 overflows float16
  CHECK(now("w") == doctest::Approx(0.5));
  CHECK(now("w/adam_step") == 1);
  CHECK(now("loss_scale") == 512);
  CHECK(now("loss_scale/good_steps") == 0);
  step(100);  // 100 * 512 does not
  CHECK(now("w/adam_step") == 2);
  step(1);
  CHECK(now("loss_scale") == 1024);
  CHECK(now("loss_scale/good_steps") == 0);
  step(std::nanf(""));
  CHECK(now("w/adam_step") == 3);
  CHECK(now("loss_scale") == 512);
}

TEST_CASE("a scale that is given stays") {
  Graph g;
  const Value w = g.variable("w", g.constant({1.0}));
  const LossScale scale = loss_scale(g, {.first = 8, .every = 0});
  const Value slope = g.input("slope", DType::float32, {1});
  const Values updates = unscaled({{w, slope}}, scale, [](const Gradients& gradients) { return sgd(gradients, 1); });
  Evaluator evaluator(g);
  for (const float x : {4.0F, INFINITY, 4.0F}) evaluator.run({}, {{"slope", of(DType::float32, {1}, {x})}}, updates);
  CHECK(evaluator.variables.at("w").number(0) == 0);
  CHECK(evaluator.variables.at("loss_scale").number(0) == 8);
  CHECK(error_of([&] { static_cast<void>(loss_scale(g, {.first = 0}, "s")); }).starts_with("loss_scale: 0"));
}

TEST_CASE("what goes over the wire in 16 bits is rounded to them") {
  Graph g;
  const Value w = g.variable("w", g.constant({0.0}));
  const Gradients sent = on_wire({{w, g.constant({1.0009765625})}}, DType::bfloat16);
  CHECK(sent[0].gradient.dtype() == DType::float32);
  CHECK(Evaluator(g).run({sent[0].gradient})[0].number(0) == 1);
  CHECK(narrow(w, DType::float32).is(w));
  CHECK(error_of([&] { narrow(w, DType::int32); }).starts_with("Narrow: to int32; it gives float16"));
}

}  // namespace
}  // namespace ferry
