// Local steps: each task trains its own copy of the weights, and now and then all copies become their mean.
#include "ops/train/local_steps.hpp"

#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "plan/verify/verify.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::Evaluator;

/// Two tasks whose gradients are always 1 and 3, trained with momentum; the mean is taken every third step.
struct TwoTasks {
  Graph g;
  std::vector<Values> copies;
  Values local, updates;

  TwoTasks() {
    for (int task = 0; task < 2; ++task) {
      const Scope here = g.device("/task:" + std::to_string(task));
      const Value w = g.variable("w" + std::to_string(task), g.constant({10.0, 20.0}));
      const Value slope = task == 0 ? g.constant({1.0, 1.0}) : g.constant({3.0, 3.0});
      copies.push_back({w});
      for (const Value& update : momentum({{w, slope}}, 1, 0.5)) local.push_back(update);
    }
    updates = averaged_every(3, copies, local);
  }
};

TEST_CASE_FIXTURE(TwoTasks, "weights go apart and become their mean, the momentum stays each task's own") {
  Evaluator evaluator(g);
  double w[2] = {10, 10}, m[2] = {0, 0};
  for (int step = 1; step <= 7; ++step) {
    CAPTURE(step);
    evaluator.run({}, {}, updates);
    for (int task = 0; task < 2; ++task) {
      m[task] = 0.5 * m[task] + (task == 0 ? 1 : 3);
      w[task] -= m[task];
    }
    if (step % 3 == 0) w[0] = w[1] = (w[0] + w[1]) / 2;
    for (int task = 0; task < 2; ++task) {
      CHECK(evaluator.variables.at("w" + std::to_string(task)).number(0) == doctest::Approx(w[task]));
      CHECK(evaluator.variables.at("w" + std::to_string(task) + "/momentum").number(0) == doctest::Approx(m[task]));
    }
  }
}

TEST_CASE_FIXTURE(TwoTasks, "weights are sent in the branch alone that takes the mean") {
  const Plan plan = test::planned(g, {}, 2, updates);
  const Verdict verdict = verify(plan);
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  int sends = 0;
  for (const PlanClass& role : plan.classes)
    for (const Region& region : role.regions)
      for (std::uint32_t k = 0; k < region.instructions.count; ++k) {
        if (role.instructions[region.instructions[k]].what != Opcode::send) continue;
        CHECK(region.kind == Region::Kind::branch);
        ++sends;
      }
  CHECK(sends == 2);  // one task's weights go to the other, their mean comes back
}

/// Checks that copies that are averaged in each step change like one network that has the rows of both. The losses are
/// means over the rows of two tasks: 2 and 6 in one step, and fed rows of 3 and 1.
void check_as_whole(const Dim& first_rows, const Dim& second_rows, std::int64_t first, std::int64_t second) {
  Graph g;
  std::vector<Values> copies;
  Values local;
  const Tensor initial = test::some({4});
  const auto loss = [](const Value& rows, const Value& w) { return mean(square(matmul(rows, expand_dims(w, {1})))); };
  for (int task = 0; task < 2; ++task) {
    const Scope here = g.device("/task:" + std::to_string(task));
    const Value rows = g.input("x" + std::to_string(task), DType::float64, {task == 0 ? first_rows : second_rows, 4});
    const Value w = g.variable("w" + std::to_string(task), g.constant(initial));
    copies.push_back({w});
    for (const Value& update : sgd(gradients_of(loss(rows, w), Values{w}), 0.1)) local.push_back(update);
  }
  const Value w = g.variable("w", g.constant(initial));
  const Value all = concat({g.input("a", DType::float64, {"a", 4}), g.input("b", DType::float64, {"b", 4})}, 0);
  Values updates = averaged_every(1, copies, local);
  for (const Value& update : sgd(gradients_of(loss(all, w), Values{w}), 0.1)) updates.push_back(update);
  Evaluator evaluator(g);
  const Tensor a = test::some({first, 4}, 0.3), b = test::some({second, 4}, 0.7);
  for (int step = 0; step < 2; ++step) {
    evaluator.run({}, {{"x0", a}, {"x1", b}, {"a", a}, {"b", b}}, updates);
    for (const char* name : {"w0", "w1"})
      for (std::int64_t i = 0; i < 4; ++i)
        CHECK(evaluator.variables.at(name).number(i) ==
              doctest::Approx(evaluator.variables.at("w").number(i)).epsilon(1e-6));
  }
}

TEST_CASE("copies that have different numbers of rows count by them in the mean") {
  check_as_whole(2, 6, 2, 6);
  check_as_whole("n", "m", 3, 1);
}

TEST_CASE_FIXTURE(TwoTasks, "what does not fit is said") {
  const Value other = g.variable("other", g.constant({1.0})), count = g.variable("count", g.constant({1}));
  const auto error = [&](std::int64_t every, const std::vector<Values>& all, const Values& of) {
    return error_of([&] { static_cast<void>(averaged_every(every, all, of)); });
  };
  CHECK(error(0, copies, local).starts_with("averaged_every: every 0 steps\n  at local_steps_test.cpp:"));
  CHECK(error(1, {}, local).starts_with("averaged_every: no copies of variables\n"));
  CHECK(error(1, {copies[0], {}}, local).starts_with("averaged_every: one copy has 0 variables, another 1\n"));
  CHECK(error(1, {copies[0], {other}}, local).find("float32[1], its copy w0") != std::string::npos);
  CHECK(error(1, {{count}}, local).find("int32[1], which has no mean") != std::string::npos);
  CHECK(error(1, {{other}}, local).starts_with("averaged_every: there is no update of other"));
}

}  // namespace
}  // namespace ferry
