#include "ops/control/control.hpp"

#include <doctest/doctest.h>

#include "graph/op/core_ops.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::call;
using test::error_of;

const Graph& body_of(const Value& value, std::string_view attr) {
  return value.graph().subgraph(value.op().attrs().get<SubgraphRef>(attr));
}

/// The names of the op types in a body, as in "Parameter Exp".
std::string ops_of(const Graph& body) {
  std::string text;
  for (OpId id = 0; id < body.size(); ++id) text += (id == 0 ? "" : " ") + std::string(body.op(id).def().name);
  return text;
}

TEST_CASE("a loop carries values and captures what it uses from around") {
  Graph g;
  const Value a = g.input("a", DType::float32, {3, 3});
  const Value x = g.input("x", DType::float32, {3, "n"});
  const Value zero = g.constant({0});
  const Value limit = g.constant({5});
  const Values end = while_loop(
      {squeeze(zero, {0}), x}, [&](const Values& c) { return squeeze(less(c[0], limit), {0}); },
      [&](const Values& c) {
        return Values{c[0] + 1, matmul(a, c[1])};
      });
  CHECK(end[0].type().str() == "int32[]");
  CHECK(end[1].type().str() == "float32[3,n]");
  CHECK(call(end[0]) == "While(squeeze, x, constant_1, a)");
  CHECK(ops_of(body_of(end[0], "body")) == "Parameter Parameter Constant Add Parameter MatMul");
  CHECK(body_of(end[0], "body").op(3).name() == "while/body/add");
  CHECK(body_of(end[0], "cond").captures().size() == 1);
}

TEST_CASE("what a branch makes lies in the branch, also of values from around") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value p = g.input("p", DType::boolean, {});
  const Value y = cond(
      p, [&] { return Values{print(exp(x), "taken")}; }, [&] { return Values{x}; })[0];
  CHECK(call(y) == "Cond(p, x, x)");
  CHECK(ops_of(body_of(y, "then_branch")) == "Parameter Exp Print");
  CHECK(ops_of(body_of(y, "else_branch")) == "Parameter");
  CHECK(g.find("exp") == std::nullopt);
}

TEST_CASE("bodies take the scopes around them, and bodies in bodies work") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value p = g.input("p", DType::boolean, {});
  auto here = g.device("/task:1");
  const Value y = cond(
      p,
      [&] {
        return cond(
            p,
            [&] {
              auto there = g.device("/gpu:0");
              return Values{exp(x)};
            },
            [&] { return Values{x}; });
      },
      [&] { return Values{x + 1}; })[0];
  const Graph& outer = body_of(y, "then_branch");
  CHECK(ops_of(outer) == "Parameter Parameter Cond");
  const Graph& inner = outer.subgraph({0});
  CHECK(ops_of(inner) == "Parameter Exp");
  CHECK(inner.op(1).annotation().device.str() == "/task:1/gpu:0");
  CHECK(body_of(y, "else_branch").op(2).annotation().device.str() == "/task:1");
}

TEST_CASE("what bodies give is checked") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value p = g.input("p", DType::boolean, {});
  const auto forever = [&](const Values&) { return p; };
  CHECK(error_of([&] {
          while_loop({x}, forever, [&](const Values&) { return Values{}; });
        }).starts_with("While: its body gives 0 values for the 1 that it carries\n  input 0: float32[3] x"));
  CHECK(error_of([&] {
          while_loop({x}, forever, [&](const Values& c) { return Values{sum(c[0])}; });
        }).starts_with("While: carried value 0 is float32[3] at first, and float32[] after an iteration\n"));
  CHECK(error_of([&] {
          while_loop(
              {x}, [&](const Values& c) { return c[0]; }, [&](const Values& c) { return c; });
        }).starts_with("While: its condition is float32[3], not a bool scalar\n"));
  CHECK(error_of([&] {
          cond(
              x, [&] { return Values{x}; }, [&] { return Values{x}; });
        }).starts_with("Cond: input 0 must be bool, not float32\n"));
  CHECK(error_of([&] {
          cond(
              p, [&] { return Values{x}; }, [&] { return Values{sum(x)}; });
        }).starts_with("Cond: its branches give result 0 as float32[3] and as float32[]\n"));
  CHECK(error_of([&] {
          while_loop({}, forever, [&](const Values& c) { return c; });
        }).starts_with("an op without inputs needs a graph\n  at control_test.cpp:"));
}

TEST_CASE("branches give different numbers of rows where the step decides one of them") {
  Graph g;
  const Value x = g.input("x", DType::float32, {4});
  const Value p = g.input("p", DType::boolean, {});
  const Value none = g.constant(Tensor(DType::int64, {0, 1}));
  const Value rows = cond(
      p, [&] { return Values{nonzero(x)}; }, [&] { return Values{none}; })[0];
  CHECK(rows.type().str() == "int64[<=4,1]");
  const test::Evaluator::Feeds feeds{{"x", Tensor::of<float>({4}, {0, 1, 0, 2})}};
  const auto taken = [&](bool truth) {
    test::Evaluator::Feeds all = feeds;
    all.emplace("p", Tensor::scalar(truth));
    return test::Evaluator(g).run({rows}, all)[0].str();
  };
  CHECK(taken(true) == "[[1] [3]]");
  CHECK(taken(false) == "[]");
}

TEST_CASE("a value of a body cannot be used outside, nor a variable be made or written in one") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value p = g.input("p", DType::boolean, {});
  const Value w = g.variable("w", g.constant({1.0, 2.0, 3.0}));
  Value leaked;
  cond(
      p,
      [&] {
        leaked = exp(x);
        return Values{leaked};
      },
      [&] { return Values{x}; });
  CHECK(error_of([&] { g.fetch("main", "leaked", leaked); }).find("belongs to another graph") != std::string::npos);
  CHECK(error_of([&] {
          cond(
              p, [&] { return Values{g.variable("v", x)}; }, [&] { return Values{x}; });
        }).starts_with("variable 'v' is made in a body of control flow\n"));
  CHECK(error_of([&] {
          cond(
              p, [&] { return Values{assign(w, x)}; }, [&] { return Values{x}; });
        }).starts_with("assign: of w (Variable) at control_test.cpp:"));
}

TEST_CASE("the gradient of a branch is a branch") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value z = g.input("z", DType::float32, {3});
  const Value p = g.input("p", DType::boolean, {});
  const Value y = cond(
      p, [&] { return Values{print(exp(x), "taken")}; }, [&] { return Values{x * z}; })[0];
  const Values d = gradients(sum(y), {x, z});
  CHECK(d[0].type() == x.type());
  CHECK(d[1].type() == z.type());
  CHECK(call(d[1]).starts_with("Cond(p, "));
  const Graph& then_branch = body_of(d[1], "then_branch");
  CHECK(ops_of(then_branch).find("Exp") != std::string::npos);
  CHECK(ops_of(then_branch).find("Print") == std::string::npos);
  CHECK(then_branch.results().size() == 3);
}

TEST_CASE("a copy of a branch draws the same random numbers") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value p = g.input("p", DType::boolean, {});
  const Value y = cond(
      p, [&] { return Values{x * uniform(g, {3})}; }, [&] { return Values{x}; })[0];
  const Value d = gradients(sum(y), {x})[0];
  const OpId sum_of_both = d.op().id();
  CHECK(call(d).starts_with("Add("));
  const Value branch = g.value(g.op(sum_of_both).inputs()[0]);
  const Graph& copy = body_of(branch, "then_branch");
  bool found = false;
  for (OpId id = 0; id < copy.size(); ++id)
    if (copy.op(id).def().name == "RandomUniform") {
      found = true;
      CHECK(copy.op(id).attrs().get<std::string>("key") == "cond/then/randomuniform");
    }
  CHECK(found);
}

TEST_CASE("a loop has no gradient, and says so") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  const Value p = g.input("p", DType::boolean, {});
  const int line = __LINE__ + 1;
  const Value y = while_loop(
      {x}, [&](const Values&) { return p; }, [&](const Values& c) { return c; })[0];
  CHECK(error_of([&] { static_cast<void>(gradients(sum(y), {x})); })
            .starts_with("gradients: while (While) at control_test.cpp:" + std::to_string(line) +
                         " has no gradient: it does not keep what its iterations computed\n"));
}

}  // namespace
}  // namespace ferry
