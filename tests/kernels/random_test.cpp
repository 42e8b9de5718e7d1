// Random numbers: the generator's published values, distributions, and parts of a value that are drawn alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/kernel.hpp"
#include "kernels/philox.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments(const Tensor& x) {
  Moments m;
  const auto n = static_cast<double>(x.count());
  for (std::int64_t i = 0; i < x.count(); ++i) m.mean += x.number(i) / n;
  for (std::int64_t i = 0; i < x.count(); ++i) m.variance += (x.number(i) - m.mean) * (x.number(i) - m.mean) / n;
  return m;
}

/// Part of a [6,10] value, drawn by calling the kernel: rows [begin, begin + rows), columns [left, left + columns).
std::vector<float> drawn_part(std::int64_t begin, std::int64_t rows, std::int64_t left, std::int64_t columns) {
  const Kernel* kernel = cpu_kernels().find("RandomNormal");
  const Attrs attrs{{"mean", 0.0}, {"stddev", 1.0}, {"seed", std::int64_t{3}}};
  const auto state = kernel->prepare({"noise", attrs, {}, {}, nullptr, {}, 0, true});
  std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
  std::int64_t sizes[] = {rows, columns};
  const std::int64_t whole[] = {6, 10};
  const std::int64_t begins[] = {begin, left};
  Array out{reinterpret_cast<std::byte*>(numbers.data()), DType::float32, sizes, whole, begins};
  test::Threads parallel;
  KernelRun run{{}, {&out, 1}, state.get(), {}, parallel, false, 0, {}};
  kernel->run(run);
  return numbers;
}

}  // namespace

// Random123's known answers (kat_vectors), philox4x32 with 10 rounds.
TEST_CASE("Philox gives its published numbers") {
  CHECK(Philox{0, 0}.block(0) == Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint64_t ones = ~std::uint64_t{0};
  CHECK(Philox{ones, ones}.block(ones) == Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox{0x299f31d0a4093822, 0x0370734413198a2e}.block(0x85a308d3243f6a88) ==
        Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a turn has its sines and cosines") {
  for (int i = 0; i < 1000; ++i) {
    const double turn = i / 1000.0;
    const auto [sin, cos] = math::turn(turn);
    CHECK(sin == doctest::Approx(std::sin(2 * M_PI * turn)).epsilon(1e-14).scale(1));
    CHECK(cos == doctest::Approx(std::cos(2 * M_PI * turn)).epsilon(1e-14).scale(1));
  }
}

TEST_CASE("numbers have their distribution") {
  for (DType dtype : {DType::float32, DType::float64}) {
    Graph g;
    const Value u = uniform(g, {100000}, -1, 3, dtype);
    const Value z = normal(g, {100000}, 5, 2, dtype);
    const auto drawn = test::Evaluator(g).run({u, z});
    CHECK(moments(drawn[0]).mean == doctest::Approx(1).epsilon(0.02));
    CHECK(moments(drawn[0]).variance == doctest::Approx(16.0 / 12).epsilon(0.02));
    CHECK(moments(drawn[1]).mean == doctest::Approx(5).epsilon(0.01));
    CHECK(moments(drawn[1]).variance == doctest::Approx(4).epsilon(0.02));
    bool inside = true;
    for (std::int64_t i = 0; i < drawn[0].count(); ++i)
      inside = inside && drawn[0].number(i) >= -1 && drawn[0].number(i) < 3;
    CHECK(inside);
  }
}

TEST_CASE("each op, seed, step and iteration has numbers of its own") {
  Graph g;
  const Value a = uniform(g, {8});
  const Value b = uniform(g, {8});
  const Value c = uniform(g, {8}, 0, 1, DType::float32, 7);
  test::Evaluator evaluator(g);
  std::set<std::string> seen;
  for (int step = 0; step < 3; ++step)
    for (const Tensor& x : evaluator.run({a, b, c})) seen.insert(x.str(8));
  test::EvaluateOptions other;
  other.seed = 1;
  seen.insert(test::Evaluator(g, other).run({a})[0].str(8));
  CHECK(seen.size() == 10);
  CHECK(test::Evaluator(g).run({a})[0].str(8) == test::Evaluator(g).run({a})[0].str(8));
}

TEST_CASE("each iteration of a loop draws anew") {
  Graph g;
  const Value zero = g.constant(Tensor::of<float>({}, {0}));
  const Values end = while_loop(
      {zero, zero, zero}, [](const Values& c) { return less(c[0], 2); },
      [](const Values& c) {
        return Values{c[0] + 1, c[2], uniform(c[0].graph(), {})};
      });
  const auto drawn = test::Evaluator(g).run({end[1], end[2]});
  CHECK(drawn[0].number(0) > 0);
  CHECK(drawn[0].number(0) != drawn[1].number(0));
}

TEST_CASE("parts of a value are drawn as in the whole") {
  const std::vector<float> whole = drawn_part(0, 6, 0, 10);
  const std::vector<float> part = drawn_part(2, 3, 3, 5);
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 5; ++c) CHECK(part[r * 5 + c] == whole[(r + 2) * 10 + c + 3]);
}

TEST_CASE("a shuffle keeps the rows and changes their order") {
  Graph g;
  Tensor rows(DType::int32, {100, 2});
  std::int32_t next = 0;
  for (std::int32_t& x : rows.mutable_data<std::int32_t>()) x = next++;
  const Value shuffled = shuffle(g.constant(rows));
  test::Evaluator evaluator(g);
  const Tensor first = evaluator.run({shuffled})[0];
  const Tensor second = evaluator.run({shuffled})[0];
  CHECK_FALSE(first.same_bits(rows));
  CHECK_FALSE(first.same_bits(second));
  std::set<std::int64_t> seen;
  for (std::int64_t r = 0; r < 100; ++r) {
    CHECK(first.integer(2 * r + 1) == first.integer(2 * r) + 1);
    seen.insert(first.integer(2 * r));
  }
  CHECK(seen.size() == 100);
}

}  // namespace ferry
