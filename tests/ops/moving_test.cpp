// Tests what the cases of tests/op_cases do not reach: products with zeros, NaN, indices out of range, unknown sizes.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "ops/array/arrange.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/array/sort.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/einsum.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::Evaluator;

std::vector<double> numbers_of(const Value& value) {
  const Tensor tensor = Evaluator(value.graph()).run({value})[0];
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.number(i));
  return numbers;
}

/// Checks the gradient of sum(w * f(x)), w = 1, 2, 3 …, against difference quotients with a step of 1, which are exact
/// because f is linear in each x[i].
void check_linear_gradient(const std::vector<double>& at, Value (*f)(const Value&)) {
  const auto loss_at = [&](const std::vector<double>& x) {
    Graph g;
    const std::vector<double> y =
        numbers_of(f(g.constant(Tensor::of<double>({static_cast<std::int64_t>(x.size())}, x))));
    double loss = 0;
    for (std::size_t i = 0; i < y.size(); ++i) loss += static_cast<double>(i + 1) * y[i];
    return loss;
  };
  Graph g;
  const Value x = g.constant(Tensor::of<double>({static_cast<std::int64_t>(at.size())}, at));
  const Value y = f(x);
  const Value weights = cumsum(ones_like(y), 0);
  const std::vector<double> gradient = numbers_of(gradients(sum(y * weights), {x})[0]);
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> more = at;
    more[i] += 1;
    CAPTURE(i);
    CHECK(gradient[i] == doctest::Approx(loss_at(more) - loss_at(at)));
  }
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("gradients of products are right where elements are 0") {
  for (const std::vector<double>& x : {std::vector<double>{2, 3, 4}, {2, 0, 3, 5}, {2, 0, 3, 0, 5}, {0, 2}, {3, 0}}) {
    check_linear_gradient(x, [](const Value& v) { return prod(v, {}, true); });
    check_linear_gradient(x, [](const Value& v) { return cumprod(v, 0); });
    check_linear_gradient(x, [](const Value& v) { return cumprod(v, 0, true); });
    check_linear_gradient(x, [](const Value& v) { return cumprod(v, 0, false, true); });
    check_linear_gradient(x, [](const Value& v) { return cumprod(v, 0, true, true); });
  }
}

TEST_CASE("NaN is larger than all numbers") {
  Graph g;
  const Value x = g.constant({1.0, kNaN, 3.0, 1.0, kNaN});
  CHECK(numbers_of(top_k(x, 3).indices) == std::vector<double>{1, 4, 2});
  CHECK(numbers_of(top_k(x, 4, 0, false).indices) == std::vector<double>{0, 3, 2, 1});
  CHECK(numbers_of(argmax(x)) == std::vector<double>{1});
  CHECK(numbers_of(argmin(x)) == std::vector<double>{1});
  CHECK(numbers_of(argmin(x, 0, true)) == std::vector<double>{4});
  const Unique u = unique(x);
  CHECK(numbers_of(u.counts) == std::vector<double>{2, 1, 2});
  CHECK(numbers_of(u.inverse) == std::vector<double>{0, 2, 1, 0, 2});
}

TEST_CASE("log_sum_exp takes infinite numbers") {
  Graph g;
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(numbers_of(log_sum_exp(g.constant({-inf, -inf}))) == std::vector<double>{-inf});
  CHECK(numbers_of(log_sum_exp(g.constant({inf, 1.0}))) == std::vector<double>{inf});
  CHECK(numbers_of(log_sum_exp(g.constant({1000.0, 1000.0})))[0] == doctest::Approx(1000 + std::log(2)));
}

TEST_CASE("an index out of range is said when it runs") {
  Graph g;
  const Value x = g.constant({1.0, 2.0, 3.0});
  const auto wrong = [](const Value& value) {
    try {
      numbers_of(value);
    } catch (const Error& error) {
      CHECK(error.code() == Code::program);  // from the kernel; a session replaces it by the value's origin
      return error.text();
    }
    return std::string();
  };
  CHECK(wrong(gather_elements(x, g.constant({0, 3}))).find("the index 3 is out of range for a dim of 3, -3 to 2") !=
        std::string::npos);
  CHECK(wrong(gather_nd(x, reshape(g.constant({-4}), {1, 1}))).find("the index -4 is out of range") !=
        std::string::npos);
  CHECK(wrong(reverse_sequence(reshape(x, {3, 1}), g.constant({4}))).find("the length 4 of sequence 0") !=
        std::string::npos);
}

TEST_CASE("what does not fit is said on the caller's line") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 3});
  const Value i = g.input("i", DType::int64, {"batch", 4});
  CHECK(error_of([&] {
          gather_elements(x, i);
        }).starts_with("GatherElements: indices [batch,4] reach beyond dim 1 of [batch,3]"));
  CHECK(error_of([&] { top_k(x, 4); }).starts_with("TopK: k is 4, dim 1 of [batch,3]"));
  CHECK(error_of([&] { gather_nd(x, i); }).starts_with("GatherND: indices [batch,4] give 4 positions for [batch,3]"));
  CHECK(error_of([&] {
          einsum("ij,jk->ik", {x});
        }).starts_with("einsum: \"ij,jk->ik\" is of 2 values, not 1\n  at moving_test.cpp:"));
  CHECK(error_of([&] { einsum("ijk->i", {x}); }).starts_with("einsum: \"ijk\" does not fit x [batch,3]"));
  CHECK(error_of([&] { einsum("i1->i", {x}); }).starts_with("einsum: \"i1\" has a '1'"));
  CHECK(error_of([&] { einsum("ij->ik", {x}); }).starts_with("einsum: 'k' of the result comes in no value"));
  CHECK(error_of([&] { einsum("ij->ii", {x}); }).starts_with("einsum: 'i' comes twice in the result"));
  CHECK(error_of([&] { einsum("...->", {x}); }).starts_with("einsum: the result lacks \"...\""));
  CHECK(error_of([&] { pad(x, {1, 0}, {0, 0}, PadMode::edge); }).starts_with("pad: dim 0 of x [batch,3] is not known"));
  CHECK(error_of([&] {
          pad(x, {0, 0}, {0, std::int64_t{1} << 30}, PadMode::wrap);
        }).starts_with("pad: dim 1 of x [batch,3] would get more than 2^24 elements on one side"));
  const Value longest = g.input("longest", DType::boolean, {"batch", std::numeric_limits<std::int64_t>::max()});
  for (const PadMode mode : {PadMode::edge, PadMode::reflect, PadMode::wrap})
    CHECK(error_of([&] {
            pad(longest, {0, 1}, {0, 2}, mode);
          }).starts_with("pad: dim 1 of longest [batch,9223372036854775807] is too long"));
  CHECK(error_of([&] { roll(x, 1, 0); }).starts_with("roll: dim 0 of x [batch,3] has no known size\n  at moving_test"));
  CHECK(error_of([&] { tile(x, {2}); }).starts_with("tile: needs a number of times for each dim of x [batch,3]"));
  CHECK(error_of([&] { depth_to_space(x, 2); }).starts_with("depth_to_space: blocks do not fit x [batch,3]"));
}

TEST_CASE("functions of several ops take sizes that are not known") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", "time", 4});
  CHECK(einsum("btd,dhk->bhtk", {x, g.input("w", DType::float32, {4, 2, 3})}).shape().str() == "[batch,2,time,3]");
  CHECK(einsum("btd,bsd->bts", {x, x}).shape().str() == "[batch,time,time]");
  CHECK(einsum("btd,btd->b", {x, x}).shape().str() == "[batch]");
  CHECK(tile(g.input("rows", DType::float32, {"n", 2}), {1, 3}).shape().str() == "[n,6]");
  CHECK(depth_to_space(g.input("image", DType::float32, {"n", 8, 3, 3}), 2).shape().str() == "[n,2,6,6]");
  CHECK(pad(x, {0, 0, 1}, {0, 0, 1}, PadMode::reflect).shape().str() == "[batch,time,6]");
}

}  // namespace ferry
