// The pass that joins elementwise ops, and ops that work by rows, into tile regions: the joined ops, the ops left
// alone, and the values that still take memory.
#include "placement/fuse/fuse_elements.hpp"

#include <doctest/doctest.h>

#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/nn/norm.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/verified_plans.hpp"

namespace ferry {
namespace {

using test::kernels_of, test::lines_with, test::verified;

constexpr std::int64_t kMany = 100000;

Value many(Graph& g, const std::string& name, std::int64_t n = kMany) {
  return g.input(name, DType::float32, {n});
}

TEST_CASE("a chain becomes one instruction that writes its last value alone") {
  Graph g;
  const auto here = g.line({"model.cpp", 7});
  const Value x = many(g, "x"), y = many(g, "y");
  const Plan plan = verified(g, {((x * y + y) * x).named("z")});
  CHECK(kernels_of(plan) == "Mul+Add+Mul");
  CHECK(lines_with(plan, "Mul+Add+Mul") == "    2 Mul+Add+Mul z (%0, %1) region 2 by 1536 -> %4  at model.cpp:7\n");
  CHECK(lines_with(plan, " tile+") == "  %2 mul float32[100000] tile+0\n  %3 add float32[100000] tile+0\n");
  CHECK(kernels_of(plan, 2) == "Mul, Add, Mul");
  CHECK(plan.classes[0].devices[0].step_bytes == 2 * 400000);
}

TEST_CASE("nothing is joined below the number of elements from which it pays, or where that is 0") {
  Graph g;
  const Value x = many(g, "x");
  const Value z = (x * 2.0 + 1.0).named("z");
  CHECK(kernels_of(verified(g, {z}, {}, 1, kMany)) == "Mul+Add");
  CHECK(kernels_of(verified(g, {z}, {}, 1, kMany + 1)) == "Mul, Add");
  CHECK(kernels_of(verified(g, {z}, {}, 1, 0)) == "Mul, Add");
}

TEST_CASE("a momentum update reads weights, velocity and gradient once and writes two of them in place") {
  Graph g;
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {kMany})));
  const Value gradient = many(g, "gradient");
  const Plan plan = verified(g, {}, momentum({{w, gradient}}, 0.1));
  CHECK(kernels_of(plan) == "Mul+Add+Mul+Sub");
  CHECK(lines_with(plan, " copy ") == "");
  CHECK(plan.classes[0].devices[0].step_bytes == 400000);  // only the gradient's
}

TEST_CASE("an op between two others keeps its place, and they are joined where it allows that") {
  Graph g;
  const Value x = g.input("x", DType::float32, {300, 400});
  const Value before = x * 2.0;
  const Value other = exp(x);
  SUBCASE("the first may come later") {
    CHECK(kernels_of(verified(g, {(before + other).named("z")})) == "Exp, Mul+Add");
  }
  SUBCASE("the second may come earlier") {
    CHECK(kernels_of(verified(g, {exp(before), before + x, other})) == "Mul+Add, Exp, Exp");
  }
  SUBCASE("neither") {
    const Value made = exp(before);
    CHECK(kernels_of(verified(g, {(before + made).named("z")})) == "Mul, Exp, Add");
  }
}

TEST_CASE("broadcast values and values of other shapes with as many elements take part") {
  Graph g;
  const Value x = g.input("x", DType::float32, {20, 50, 100});
  const Value bias = g.input("bias", DType::float32, {50, 1});
  const Value z = maximum(x + bias, 0.0);
  CHECK(kernels_of(verified(g, {z})) == "Add+Maximum");
  CHECK(kernels_of(verified(g, {bias * 2.0 + 1.0, z})) == "Add+Maximum, Mul, Add");
  CHECK(kernels_of(verified(g, {reshape(z, {-1}) * 3.0})) == "Add+Maximum+Mul");
}

TEST_CASE("what is used outside is written once, in place where the kernels allow it") {
  Graph g;
  const Value x = many(g, "x");
  const Value a = x * 2.0, b = a + 1.0, c = b - a;
  const Plan plan = verified(g, {sum(b), sum(c)});
  CHECK(kernels_of(plan) == "Mul+Add+Sub, Sum, Sum");
  CHECK(plan.classes[0].devices[0].step_bytes < 2 * 400000 + 1000);  // b or c takes over x's bytes
}

TEST_CASE("ops with nothing in common stay apart, and so do those that share but a number") {
  Graph g;
  const Value x = many(g, "x"), y = many(g, "y"), rate = g.input("rate", DType::float32, {});
  CHECK(kernels_of(verified(g, {x * rate, y * rate})) == "Mul, Mul");
  CHECK(kernels_of(verified(g, {x * y, x + y})) == "Mul+Add");
}

TEST_CASE("ops that the user orders are left where they are") {
  Graph g;
  const Value x = many(g, "x");
  const Value a = x * 2.0;
  Value b;
  {
    const Value earlier[] = {a};
    const auto later = g.after(earlier);
    b = a + 1.0;
  }
  CHECK(kernels_of(verified(g, {b})) == "Mul, Add");
}

TEST_CASE("regions have groups of their own") {
  Graph g;
  const Value x = many(g, "x");
  const Value y = cond(
      less(sum(x), 0.0), [&] { return Values{(x * 2.0 + 1.0) * x}; }, [&] { return Values{x - 1.0}; })[0];
  const Plan plan = verified(g, {y});
  CHECK(kernels_of(plan, 2) == "Mul+Add+Mul");
  CHECK(kernels_of(plan, 3) == "Sub");
}

TEST_CASE("messages start no later") {
  Graph g;
  const Value x = g.constant(Tensor(DType::float32, {kMany}), on("/task:0"));
  Value a, there, b;
  {
    const auto here = g.device("/task:0");
    a = x * 2.0;
  }
  {
    const auto other = g.device("/task:1");
    there = a - 1.0;
  }
  {
    const auto here = g.device("/task:0");
    b = a + 3.0;
  }
  PlanOptions options;
  options.fuse_from = 1000;
  const Plan plan = test::planned(g, {there, b}, 2, {}, {}, options);
  CHECK(verify(plan).pass);
  CHECK(kernels_of(plan).find('+') == std::string::npos);
}

TEST_CASE("what waits for a message is joined where there is no more to read after it then") {
  Graph g;
  const auto variable = [&](const std::string& name, const std::string& task) {
    const auto there = g.device(task);
    return g.variable(name, g.constant(Tensor(DType::float32, {kMany})));
  };
  const Value a = variable("a", "/task:0"), b = variable("b", "/task:0"), message = variable("message", "/task:1");
  const auto here = g.device("/task:0");
  PlanOptions options;
  options.fuse_from = 1000;
  const auto joined = [&](Value before) {
    const Plan plan = test::planned(g, {before + message}, 2, {}, {}, options);
    CHECK(verify(plan).pass);
    return kernels_of(plan);
  };
  CHECK(joined(a * 2.0) == "Mul+Add");
  CHECK(joined(a * b) == "Mul, Add");
}

TEST_CASE("a normalisation is one pass over its rows, of which the means take no memory") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1000, 400});
  const Value scale = g.input("scale", DType::float32, {400}), offset = g.input("offset", DType::float32, {400});
  const Plan plan = verified(g, {layer_norm(x, scale, offset)});
  CHECK(kernels_of(plan) == "SizeOf, SizeOf, SizeOf, Sum+Div+Sub+Sum+Div+Square+12 more");
  CHECK(kernels_of(plan, 2) ==
        "Sum, Div, Sub, Sum, Div, Square, Sum, Div, Square, Sub, Maximum, Add, Rsqrt, Mul, Mul, Sub, Mul, Add");
  CHECK(plan.classes[0].devices[0].step_bytes < 1600000 + 20000);  // the result takes x's bytes
  CHECK(kernels_of(verified(g, {rms_norm(x, scale, {1})})) == "SizeOf, Square+Sum+Div+Add+Rsqrt+Mul+1 more");
}

TEST_CASE("softmax is joined with what is done to its rows before and after") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1000, 400});
  CHECK(kernels_of(verified(g, {softmax(x * 0.1) + 1.0})) == "Mul+Softmax+Add");
  CHECK(kernels_of(verified(g, {softmax(x * 0.1, 0) + 1.0})) == "Mul, Softmax, Add");
}

TEST_CASE("reductions are left alone where rows are not whole, too long, or read but once") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1000, 400}), wide = g.input("wide", DType::float32, {80, 5000});
  CHECK(kernels_of(verified(g, {x - sum(x, {0}, true)})) == "Sum, Sub");
  CHECK(kernels_of(verified(g, {wide - sum(wide, {1}, true)})) == "Sum, Sub");
  CHECK(kernels_of(verified(g, {sum(x, {1}) * 2.0 + 1.0})) == "Sum, Mul, Add");
  CHECK(kernels_of(verified(g, {x * 2.0 - sum(x)})) == "Sum, Mul+Sub");
  const Value short_rows = g.input("short", DType::float32, {4000, 100}),
              few = g.input("few", DType::float32, {300, 400});
  for (const Value& small : {short_rows, few}) {  // sums may be compiled, so they are joined earlier
    CHECK(kernels_of(verified(g, {small - max(small, {1}, true)})) == "Max, Sub");
    CHECK(kernels_of(verified(g, {small - sum(small, {1}, true)})) == "Sum+Sub");
  }
  const Value shorter = g.input("shorter", DType::float32, {8000, 30}),
              fewer = g.input("fewer", DType::float32, {20, 400});
  for (const Value& small : {shorter, fewer})
    CHECK(kernels_of(verified(g, {small - sum(small, {1}, true)})) == "Sum, Sub");
}

TEST_CASE("what is needed for other rows is there before") {
  Graph g;
  const Value x = g.input("x", DType::float32, {600, 600}), scale = g.input("scale", DType::float32, {600});
  CHECK(kernels_of(verified(g, {x - sum(x, {1})})) == "Sum, Sub");
  const Plan kept = verified(g, {x - sum(x, {1}, true)});
  REQUIRE(kernels_of(kept) == "Sum+Sub");
  SUBCASE("nor does a value of rows take the bytes of one of columns") {
    verified(g, {sum(x * (scale + 1.0), {1}), sum(x, {1})});
  }
  SUBCASE("which the verifier sees") {
    Plan broken = kept;
    for (Buffer& b : broken.classes[0].buffers)
      if (b.sizes.vector() == std::vector<std::int64_t>{600, 1}) b.sizes = std::vector<std::int64_t>{1, 600};
    const Verdict verdict = verify(broken);
    CHECK_FALSE(verdict.pass);
    CHECK(verdict.reason.find("needs other rows") != std::string::npos);
  }
}

TEST_CASE("a group has no more kernels than its thread's slots were made for") {
  Graph g;
  const Value x = many(g, "x");
  Value y = x;
  for (int i = 0; i < 100; ++i) y = y * 0.5;
  const Plan plan = verified(g, {y});
  std::size_t groups = 0;
  for (const Region& region : plan.classes[0].regions) groups += region.kind == Region::Kind::tile ? 1 : 0;
  CHECK(groups == 4);
}

}  // namespace
}  // namespace ferry
