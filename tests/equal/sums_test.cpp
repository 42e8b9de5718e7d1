// Sums of sums: equal in any order, in memory that is near-linear in the number of additions. Concatenations of
// concatenations: refused before they need too much memory. Operands that may be exchanged: equal in both orders, with
// or without leading dims of size 1.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "ops/op_set.hpp"
#include "plan/equal/terms.hpp"

namespace ferry::equal {
namespace {

struct Sums {
  Terms terms{nullptr};
  TypeId type = terms.type({DType::float32, {4}});

  TypedTerm symbol(int number) { return {terms.symbol("x" + std::to_string(number), type), type}; }
  TypedTerm add(const TypedTerm& a, const TypedTerm& b) { return {terms.sum(std::vector{a, b}), type}; }
};

TEST_CASE("exchanged operands give one term if the op commutes") {
  Sums s;
  const Attrs none;
  const TypeId row = s.terms.type({DType::float32, {1, 4}});
  const auto made = [&](const char* op, const TypedTerm& a, const TypedTerm& b) {
    return s.terms.make_op(*default_ops().find(op), none, std::vector{a, b}, 0, row, {});
  };
  const TypedTerm a = s.symbol(0), b = s.symbol(1), a_row{a.term, row}, b_row{b.term, row};
  for (const char* op : {"Mul", "Maximum", "Minimum", "Equal", "NotEqual"}) {
    CHECK(made(op, a, b_row) == made(op, b, a_row));
    CHECK(made(op, a, b_row) != made(op, a, a_row));
  }
  for (const char* op : {"Sub", "Div", "Less", "Pow"}) CHECK(made(op, a, b) != made(op, b, a));
}

TEST_CASE("3,000 doublings make one node and a longer count each") {
  Sums s;
  TypedTerm x = s.symbol(0);
  const std::uint32_t before = s.terms.size();
  for (int k = 0; k < 3000; ++k) x = s.add(x, x);
  CHECK(s.terms.size() - before == 3000);
  CHECK(s.terms.size_of_sums() < 100'000);
  CHECK(s.terms.str(x.term) == "Sum of(2^3000 × x0)");
  CHECK(s.terms.reordered() == 2999);
}

TEST_CASE("3,000 Fibonacci steps make three nodes and two longer counts each") {
  Sums s;
  TypedTerm a = s.symbol(0), b = s.symbol(1);
  for (int k = 0; k < 3000; ++k) a = std::exchange(b, s.add(a, b));
  CHECK(s.terms.size_of_sums() < 200'000);
  const TypedTerm once = s.add(a, b);
  CHECK(once == s.add(b, a));
  CHECK(once != s.add(b, b));
}

TEST_CASE("a chain of 3,000 different values makes n log n nodes") {
  Sums s;
  TypedTerm sum = s.symbol(0);
  for (int k = 1; k < 3000; ++k) sum = s.add(sum, s.symbol(k));
  CHECK(s.terms.size_of_sums() < 3000 * 16);
}

TEST_CASE("sums are equal in any order and grouping, and differ in one term or count") {
  Sums s;
  std::vector<TypedTerm> values;
  for (int k = 0; k < 40; ++k) values.push_back(s.symbol(k % 30));
  const TermId all = s.terms.sum(values);
  std::uint32_t state = 1;
  const auto below = [&](std::size_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; };
  for (int round = 0; round < 100; ++round) {
    std::vector<TypedTerm> left = values;
    while (left.size() > 1) {  // adds up two random ones
      for (const std::size_t last : {left.size() - 1, left.size() - 2}) std::swap(left[below(last + 1)], left[last]);
      const TypedTerm sum = s.add(left[left.size() - 2], left.back());
      left.pop_back();
      left.back() = sum;
    }
    CHECK(left[0].term == all);
  }
  CHECK(s.add({all, s.type}, values[0]).term != all);
  values[0] = values[1];
  CHECK(s.terms.sum(values) != all);
}

TEST_CASE("counts of more than 64 bits carry") {
  Sums s;
  TypedTerm power = s.symbol(0), sum = s.symbol(0);
  for (int k = 0; k < 200; ++k) {  // x + (1 + 2 + 4 + … + 2^199) x = 2^200 x
    sum = s.add(sum, power);
    power = s.add(power, power);
  }
  CHECK(sum == power);
  CHECK(s.terms.str(sum.term) == "Sum of(2^200 × x0)");
}

TEST_CASE("a sum is not opened where its bits count as another dtype") {
  Sums s;
  const TypeId ints = s.terms.type({DType::int32, {4}});
  const TypedTerm x0 = s.symbol(0), x1 = s.symbol(1), x2 = s.symbol(2), sum = s.add(x0, x1);
  const TermId of_bits = s.terms.sum(std::vector<TypedTerm>{{sum.term, ints}, {x2.term, ints}});
  CHECK(of_bits != s.add(sum, x2).term);
  CHECK(s.terms.str(of_bits) == "Sum of(x2, Sum of(x0, x1))");
}

TEST_CASE("sums with too many different terms are not proved") {
  Sums s;
  std::vector<TypedTerm> all;
  for (int k = 0; k < 3000; ++k) all.push_back(s.symbol(k));
  const auto add_all = [&] {  // each sum has another count of each value
    for (std::size_t k = 2; k < all.size(); ++k)
      all[k] = {s.terms.sum(std::vector{all[k - 1], all[k - 2], all[k]}), s.type};
  };
  CHECK_THROWS_AS(add_all(), Stop);
}

TEST_CASE("concatenations with too many parts are not proved") {
  Sums s;
  TypedTerm x = s.symbol(0);
  const auto double_it = [&] {
    const TypeId twice = s.terms.type({DType::float32, {2 * s.terms.count(x.type)}});
    x = {s.terms.joined(0, std::vector{x, x}, twice), twice};
  };
  for (int k = 0; k < 20; ++k) double_it();
  CHECK_THROWS_AS(
      [&] {
        for (int k = 0; k < 20; ++k) double_it();
      }(),
      Stop);
}

}  // namespace
}  // namespace ferry::equal
