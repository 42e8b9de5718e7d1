// Kernels of CUDA devices that work by rows, on sizes that take several blocks, stages or elements of a thread: they
// give what the CPU's give, in any order of threads.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/cuda_on_host.hpp"
#include "ops/array/sort.hpp"
#include "ops/math/cumulative.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/op_set.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

using cuda::Order;
using Sizes = std::vector<std::int64_t>;
using Build = std::function<Values(const Values&)>;

std::vector<Tensor> outputs_of(const Build& build, const std::vector<Tensor>& inputs, const KernelTable& kernels) {
  Graph graph;
  Values x;
  Evaluator::Feeds feeds;
  for (const Tensor& input : inputs) {
    const std::string name = "x" + std::to_string(x.size());
    x.push_back(graph.input(name, input.dtype(), input.type().shape));
    feeds.emplace(name, input);
  }
  EvaluateOptions options;
  options.kernels = &kernels;
  return Evaluator(graph, options).run(build(x), feeds);
}

const KernelTable& cuda_kernels() {
  static const std::shared_ptr<const KernelTable> table = cuda::kernels_on_host(cpu_kernels());
  return *table;
}

/// "" if both are the same; sums of floats may differ as much as rounding explains.
std::string difference(const Tensor& got, const Tensor& wanted, bool exact) {
  if (exact) return got.same_bits(wanted) ? "" : "other bits";
  if (got.type().str() != wanted.type().str()) return "another type";
  const double tolerance = got.dtype() == DType::float64   ? 1e-12
                           : got.dtype() == DType::float32 ? 2e-5
                           : got.dtype() == DType::float16 ? 0x1p-10
                                                           : 0x1p-7;
  for (std::int64_t i = 0; i < got.count(); ++i)
    if (std::abs(got.number(i) - wanted.number(i)) > tolerance * (1 + std::abs(wanted.number(i))))
      return "element " + std::to_string(i) + " is " + std::to_string(got.number(i)) + ", not " +
             std::to_string(wanted.number(i));
  return "";
}

void check(const Build& build, const std::vector<Tensor>& inputs, bool exact) {
  const std::vector<Tensor> wanted = outputs_of(build, inputs, cpu_kernels());
  std::vector<Tensor> first;
  for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
    cuda::run_threads(order);
    const std::vector<Tensor> got = outputs_of(build, inputs, cuda_kernels());
    cuda::run_threads(Order::forward);
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].same_bits(first[i]));
      CHECK(difference(got[i], wanted[i], exact) == "");
    }
  }
}

/// Random numbers, not below `low` and below `high`.
Tensor numbers(DType dtype, Sizes sizes, double low, double high) {
  static std::minstd_rand random(1);  // NOLINT(cert-msc51-cpp): the same in every run
  Tensor result(dtype, std::move(sizes));
  std::uniform_real_distribution<double> draw(low, high);
  dispatch(dtype, [&](auto zero) {
    for (auto& element : result.mutable_data<decltype(zero)>()) element = static_cast<decltype(zero)>(draw(random));
  });
  return result;
}

/// Few different numbers, in floats NaN, -0 and infinities, too.
Tensor ties(DType dtype, const Sizes& sizes, double special = 0.02) {
  Tensor result = numbers(DType::float64, sizes, 0, 4);
  Tensor typed(dtype, sizes);
  const auto drawn = result.data<double>();
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const double part = drawn[i] - std::floor(drawn[i]);
      double number = std::floor(drawn[i]) - (std::is_unsigned_v<T> ? 0 : 2);
      if (is_float(dtype) && number == 0 && part < 0.5) number = -0.0;
      if (is_float(dtype) && part > 1 - special / 2) number = std::numeric_limits<double>::quiet_NaN();
      if (is_float(dtype) && part < special / 2) number = number < 0 ? -HUGE_VAL : HUGE_VAL;
      typed.mutable_data<T>()[i] = static_cast<T>(number);
    }
  });
  return typed;
}

/// The sets of axes of an array of that rank, as bits of a mask.
void for_each_axes(std::size_t rank, const std::function<void(const Ints&)>& f) {
  for (std::uint32_t mask = 1; mask < 1U << rank; ++mask) {
    Ints axes;
    for (std::size_t d = 0; d < rank; ++d)
      if ((mask >> d & 1) != 0) axes.push_back(static_cast<std::int64_t>(d));
    f(axes);
  }
}

/// The gradient of the cross-entropy. x: logits, labels, gradient of the loss.
Values cross_entropy_grad(const Values& x) {
  const Value inputs[] = {x[2], x[0], x[1]};
  return x[0].graph().add(*default_ops().find("SoftmaxCrossEntropyGrad"), inputs, {}, SourceLine());
}

}  // namespace

TEST_CASE("reductions over any axes") {
  for (const Sizes& sizes : {Sizes{5, 3, 70, 9}, Sizes{2, 130, 1, 33}, Sizes{70, 65, 3}})
    for_each_axes(sizes.size(), [&](const Ints& axes) {
      CAPTURE(axes.size());
      CAPTURE(axes[0]);
      const Build sums = [&](const Values& x) { return Values{sum(x[0], axes), prod(x[0], axes)}; };
      const Build extremes = [&](const Values& x) { return Values{max(x[0], axes), min(x[0], axes)}; };
      check(sums, {numbers(DType::int64, sizes, -9, 9)}, true);
      check(sums, {numbers(DType::int8, sizes, -9, 9)}, true);
      check(sums, {numbers(DType::float32, sizes, 0.9, 1.1)}, false);
      check(sums, {numbers(DType::bfloat16, sizes, 0.95, 1)}, false);
      for (const DType dtype : {DType::float32, DType::float16, DType::uint8, DType::uint64})
        check(extremes, {numbers(dtype, sizes, 0, 200)}, true);
    });
}

TEST_CASE("long reductions, in several stages" * doctest::test_suite("large")) {
  for (const Sizes& sizes : {Sizes{9'000}, Sizes{9'000, 3}, Sizes{20'000, 40}, Sizes{70, 5'000}})
    for_each_axes(sizes.size(), [&](const Ints& axes) {
      CAPTURE(sizes.back());
      CAPTURE(axes.size());
      CAPTURE(axes[0]);
      check(
          [&](const Values& x) {
            return Values{sum(x[0], axes), prod(x[0], axes)};
          },
          {numbers(DType::int32, sizes, -9, 9)}, true);
      const Build total = [&](const Values& x) { return Values{sum(x[0], axes)}; };
      check(total, {numbers(DType::float32, sizes, -0.4, 0.6)}, false);
      check(total, {numbers(DType::float16, sizes, -0.2, 0.2)}, false);
      check(
          [&](const Values& x) {
            return Values{max(x[0], axes), min(x[0], axes)};
          },
          {numbers(DType::bfloat16, sizes, -9, 9)}, true);
    });
}

TEST_CASE("the rounding errors of a long sum do not add up") {
  const Tensor x = numbers(DType::float32, {1 << 22}, 0, 1);
  double exact = 0;
  for (const float number : x.data<float>()) exact += static_cast<double>(number);
  const Tensor got = outputs_of([](const Values& v) { return Values{sum(v[0])}; }, {x}, cuda_kernels())[0];
  CHECK(std::abs(got.number(0) - exact) < 2e-7 * exact);
}

TEST_CASE("extremes of zeros, infinities and NaN") {
  for (const double special : {0.0, 0.0005})
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      const Tensor x = ties(dtype, {300, 70}, special);
      const auto is_same = [](const Tensor& a, const Tensor& b) {  // NaN has several bits
        for (std::int64_t i = 0; i < a.count(); ++i) {
          const double p = a.number(i), q = b.number(i);
          if (!(p == q && std::signbit(p) == std::signbit(q)) && !(std::isnan(p) && std::isnan(q))) return false;
        }
        return true;
      };
      for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 1}}) {
        const Build build = [&](const Values& v) { return Values{max(v[0], axes), min(v[0], axes)}; };
        const std::vector<Tensor> wanted = outputs_of(build, {x}, cpu_kernels());
        const std::vector<Tensor> got = outputs_of(build, {x}, cuda_kernels());
        CHECK(is_same(got[0], wanted[0]));
        CHECK(is_same(got[1], wanted[1]));
      }
    }
}

TEST_CASE("indices of the best elements") {
  for (const Sizes& sizes : {Sizes{9'000}, Sizes{9'000, 3}, Sizes{4, 9'000}, Sizes{3, 300, 40}, Sizes{700, 5}})
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      for (const bool last : {false, true}) {
        CAPTURE(sizes.size());
        CAPTURE(axis);
        CAPTURE(last);
        const auto along = static_cast<std::int64_t>(axis);
        const Build build = [&](const Values& x) {
          return Values{argmax(x[0], along, last), argmin(x[0], along, last)};
        };
        for (const DType dtype : {DType::float32, DType::float16, DType::uint64, DType::int8})
          check(build, {ties(dtype, sizes, 0.001)}, true);
        check(build, {numbers(DType::float64, sizes, -1, 1)}, true);
      }
}

TEST_CASE("softmax of long and of many lines") {
  for (const Sizes& sizes : {Sizes{9'000}, Sizes{3, 5'000}, Sizes{500, 7}, Sizes{3, 300, 40}, Sizes{5, 2, 70, 3}})
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      CAPTURE(sizes.size());
      CAPTURE(axis);
      const auto along = static_cast<std::int64_t>(axis);
      const Build build = [&](const Values& x) { return Values{softmax(x[0], along), log_softmax(x[0], along)}; };
      for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
        check(build, {numbers(dtype, sizes, -5, 90)}, false);
    }
}

TEST_CASE("cross-entropy, and its gradient") {
  const Build build = [](const Values& x) {
    return Values{softmax_cross_entropy(x[0], x[1]), cross_entropy_grad(x)[0]};
  };
  for (const auto& sizes : {std::pair{3, 5'000}, std::pair{500, 7}, std::pair{70, 130}})
    for (const DType dtype : {DType::float32, DType::float64, DType::float16})
      for (const DType label : {DType::uint8, DType::int32, DType::int64, DType::uint16}) {
        const int rows = sizes.first, classes = sizes.second;
        CAPTURE(rows);
        CAPTURE(name_of(dtype));
        CAPTURE(name_of(label));
        check(build,
              {numbers(dtype, {rows, classes}, -5, 5), numbers(label, {rows}, 0, std::min(classes, 256)),
               numbers(dtype, {rows}, -2, 2)},
              false);
      }
}

TEST_CASE("a label out of range is said as the CPU says it") {
  const Build loss = [](const Values& x) { return Values{softmax_cross_entropy(x[0], x[1])}; };
  for (const std::int64_t bad : {-1, 130, 5'000}) {
    Tensor labels = numbers(DType::int64, {70}, 0, 130);
    labels.mutable_data<std::int64_t>()[37] = bad;
    const std::vector<Tensor> inputs{numbers(DType::float32, {70, 130}, -1, 1), labels,
                                     numbers(DType::float32, {70}, -1, 1)};
    for (const Build& build : {loss, Build(cross_entropy_grad)}) {
      const Error wanted = error_of([&] { outputs_of(build, inputs, cpu_kernels()); });
      CHECK(says(wanted, "the label " + std::to_string(bad) + " is not one of 130 classes"));
      CHECK(error_of([&] { outputs_of(build, inputs, cuda_kernels()); }).text() == wanted.text());
    }
  }
}

TEST_CASE("running sums and products" * doctest::test_suite("large")) {
  for (const Sizes& sizes : {Sizes{9'000}, Sizes{3, 700, 3}, Sizes{700, 40}, Sizes{9, 3, 200}})
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      for (const int how : {0, 1, 2, 3}) {
        CAPTURE(sizes.size());
        CAPTURE(axis);
        CAPTURE(how);
        const Build build = [&](const Values& x) {
          const auto along = static_cast<std::int64_t>(axis);
          const bool exclusive = (how & 1) != 0, reverse = (how & 2) != 0;
          return Values{cumsum(x[0], along, exclusive, reverse), cumprod(x[0], along, exclusive, reverse)};
        };
        check(build, {numbers(DType::int64, sizes, -99, 99)}, true);
        check(build, {numbers(DType::uint8, sizes, 0, 99)}, true);
        check(build, {numbers(DType::float64, sizes, -0.99, 1)}, false);
        check(build, {numbers(DType::float16, sizes, -0.2, 0.2)}, false);
      }
}

TEST_CASE("a running sum keeps -0") {
  for (const bool exclusive : {false, true})
    check([&](const Values& x) { return Values{cumsum(x[0], 0, exclusive)}; },
          {Tensor::of<float>({3}, {-0.0F, -0.0F, 0.0F})}, true);
}

TEST_CASE("the first elements in order" * doctest::test_suite("large")) {
  struct Lines {
    Sizes sizes;
    std::int64_t axis;
    std::vector<std::int64_t> ks;
  };
  const std::vector<Lines> all{{{100, 30}, 1, {1, 7, 30}}, {{70, 3}, 0, {1, 4, 70}},     {{2, 300, 2}, 1, {1, 65, 299}},
                               {{700}, 0, {500}},          {{17'000, 2}, 0, {3, 1'000}}, {{17'000}, 0, {3'000}}};
  for (const Lines& lines : all)
    for (const std::int64_t k : lines.ks)
      for (const bool largest : {false, true}) {
        CAPTURE(lines.sizes[0]);
        CAPTURE(k);
        CAPTURE(largest);
        const Build build = [&](const Values& x) {
          const TopK best = top_k(x[0], k, lines.axis, largest);
          return Values{best.values, best.indices};
        };
        for (const DType dtype : {DType::float32, DType::bfloat16, DType::uint64})
          check(build, {ties(dtype, lines.sizes)}, true);
        for (const DType dtype : {DType::float64, DType::int32})
          check(build, {numbers(dtype, lines.sizes, -1e6, 1e6)}, true);
      }
}

}  // namespace ferry::test
