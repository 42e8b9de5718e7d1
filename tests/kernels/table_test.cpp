// The kernel table, splitting, broadcasting, and the evaluator that other tests rely on.
#include <doctest/doctest.h>

#include "graph/op/op_def.hpp"
#include "kernels/kernel.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

constexpr OpDef kAdd{.name = "Add", .types = "T,T->T", .index = "...,...->..."};
constexpr OpDef kDiv{.name = "Div", .types = "T,T->T", .index = "...,...->..."};

Value binary(const OpDef& def, const Value& a, const Value& b) {
  return a.graph().add(def, std::vector<Value>{a, b}, {}, SourceLine())[0];
}

Tensor counting(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  float next = 1;
  for (float& x : tensor.mutable_data<float>()) x = next++;
  return tensor;
}

Tensor add(const Tensor& a, const Tensor& b) {
  Graph g;
  const Value x = g.input("x", a.dtype(), a.type().shape);
  const Value y = g.input("y", b.dtype(), b.type().shape);
  return test::Evaluator(g).run({binary(kAdd, x, y)}, {{"x", a}, {"y", b}})[0];
}

}  // namespace

TEST_CASE("a kernel is found by its op's name") {
  CHECK(cpu_kernels().find("Add")->op == "Add");
  CHECK(cpu_kernels().find("Addd") == nullptr);
  CHECK(cpu_kernels().find("") == nullptr);
}

TEST_CASE("two kernels for one op are a bug") {
  static constexpr Kernel kTwice[] = {{.op = "Add"}, {.op = "Add"}};
  KernelTable table(DeviceKind::cpu, "test", "none", nullptr);
  CHECK_THROWS_AS(table.add(kTwice), Error);
}

TEST_CASE("operands are broadcast") {
  CHECK(add(counting({2, 3}), counting({3})).str() == "[[2 4 6] [5 7 9]]");
  CHECK(add(counting({2, 3}), counting({2, 1})).str() == "[[2 3 4] [6 7 8]]");
  CHECK(add(counting({2, 1}), counting({1, 3})).str() == "[[2 3 4] [3 4 5]]");
  CHECK(add(counting({2, 1, 2}), counting({2, 1})).str() == "[[[2 3] [3 4]] [[4 5] [5 6]]]");
  CHECK(add(counting({}), counting({})).str() == "2");
  CHECK(add(counting({}), counting({1, 1})).str() == "[[2]]");
  CHECK(add(counting({0, 3}), counting({3})).sizes() == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("chunks that begin within a row are placed rightly") {
  const Tensor a = counting({300, 1, 77});
  const Tensor b = counting({5, 1});
  Graph g;
  const Value c = binary(kAdd, g.input("a", a.dtype(), a.type().shape), g.input("b", b.dtype(), b.type().shape));
  test::Threads three(3);
  const Tensor result = test::Evaluator(g, {.parallel = &three}).run({c}, {{"a", a}, {"b", b}})[0];
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < result.count(); ++i)
    wrong += result.number(i) != a.number(i / (5 * 77) * 77 + i % 77) + b.number(i / 77 % 5);
  CHECK(wrong == 0);
}

TEST_CASE("integers wrap around, and dividing them by zero is an error") {
  const auto low = std::numeric_limits<std::int32_t>::min();
  Graph g;
  const Value a = g.constant({low, low, 7});
  CHECK(g.constant_value(a.id())->integer(0) == low);
  const Value x = g.input("x", DType::int32, {3});
  const Value y = g.input("y", DType::int32, {3});
  const Value quotient = binary(kDiv, x, y);
  const Tensor top = Tensor::of<std::int32_t>({3}, {low, low, 7});
  const auto divided = [&](std::int32_t by) {
    return test::Evaluator(g).run({quotient}, {{"x", top}, {"y", Tensor::of<std::int32_t>({3}, {-1, 2, by})}})[0];
  };
  CHECK(divided(-2).str() == "[-2147483648 -1073741824 -3]");
  CHECK_THROWS_WITH_AS(divided(0), doctest::Contains("divided by zero"), Error);
  CHECK(add(Tensor::of<std::int32_t>({1}, {low}), Tensor::of<std::int32_t>({1}, {-1})).integer(0) == 2147483647);
}

TEST_CASE("folds join in place and keep NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto folded = [&](Reduce reduce) {
    Tensor out = Tensor::of<float>({4}, {1, nan, 3, -2});
    const Tensor in = Tensor::of<float>({4}, {2, 1, nan, -3});
    cpu_kernels().fold()(reduce, DType::float32, out.mutable_bytes().data(), out.bytes().data(), in.bytes().data(), 4);
    return out.str();
  };
  CHECK(folded(Reduce::sum) == "[3 nan nan -5]");
  CHECK(folded(Reduce::max) == "[2 nan nan -2]");
  CHECK(folded(Reduce::min) == "[1 nan nan -3]");
}

}  // namespace ferry
