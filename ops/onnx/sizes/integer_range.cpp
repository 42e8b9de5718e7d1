#include "ops/onnx/sizes/integer_range.hpp"

#include <algorithm>
#include <iterator>

namespace ferry::onnx {
namespace {

bool is_end(std::int64_t number) {
  return number == IntegerRange::kLowest || number == IntegerRange::kHighest;
}

/// Returns a + b, or `none` if a or b means that there is no bound, or if the sum overflows.
std::int64_t sum_of_ends(std::int64_t a, std::int64_t b, std::int64_t none) {
  std::int64_t sum = 0;
  return is_end(a) || is_end(b) || __builtin_add_overflow(a, b, &sum) ? none : sum;
}

/// The range of a * b, where a, b or both are products of symbolic sizes.
IntegerRange product_of_sizes(const IntegerRange& a, const IntegerRange& b) {
  const auto factor_of = [](const IntegerRange& range) { return range.symbols.empty() ? range.least : range.factor; };
  IntegerRange product{0, IntegerRange::kHighest};
  const bool of_plan = (a.is_known() || !a.symbols.empty()) && (b.is_known() || !b.symbols.empty());
  if (!of_plan || factor_of(a) < 1 || factor_of(b) < 1) return {};
  if (__builtin_mul_overflow(factor_of(a), factor_of(b), &product.factor)) return {};
  std::merge(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(),
             std::back_inserter(product.symbols));
  return product;
}

}  // namespace

IntegerRange of_dim(const Dim& dim) {
  if (dim.known()) return dim.bounded() ? IntegerRange{0, dim.size()} : IntegerRange::of(dim.size());
  IntegerRange range{0, IntegerRange::kHighest};
  if (!dim.symbol().empty()) range.symbols.push_back(dim.symbol());
  return range;
}

IntegerRange operator+(const IntegerRange& a, const IntegerRange& b) {
  if (b == IntegerRange::of(0)) return a;
  if (a == IntegerRange::of(0)) return b;
  return {sum_of_ends(a.least, b.least, IntegerRange::kLowest), sum_of_ends(a.most, b.most, IntegerRange::kHighest)};
}

IntegerRange operator-(const IntegerRange& a, const IntegerRange& b) {
  if (b == IntegerRange::of(0)) return a;
  return a + negated(b);
}

IntegerRange operator*(const IntegerRange& a, const IntegerRange& b) {
  if (a == IntegerRange::of(0) || b == IntegerRange::of(0)) return IntegerRange::of(0);
  if (a == IntegerRange::of(1)) return b;
  if (b == IntegerRange::of(1)) return a;
  if (!(a.symbols.empty() && b.symbols.empty())) return product_of_sizes(a, b);
  const bool positive = a.least >= 0 && b.least >= 0;
  const auto product = [](std::int64_t x, std::int64_t y, std::int64_t none) {
    std::int64_t result = 0;
    return is_end(x) || is_end(y) || __builtin_mul_overflow(x, y, &result) ? none : result;
  };
  if (positive) return {product(a.least, b.least, 0), product(a.most, b.most, IntegerRange::kHighest)};
  if (is_end(a.least) || is_end(a.most) || is_end(b.least) || is_end(b.most)) return {};
  IntegerRange range = {IntegerRange::kHighest, IntegerRange::kLowest};
  for (const std::int64_t x : {a.least, a.most})
    for (const std::int64_t y : {b.least, b.most}) {
      std::int64_t corner = 0;
      if (__builtin_mul_overflow(x, y, &corner)) return {};
      range = {std::min(range.least, corner), std::max(range.most, corner)};
    }
  return range;
}

IntegerRange negated(const IntegerRange& a) {
  return {a.most == IntegerRange::kHighest ? IntegerRange::kLowest : -a.most,
          a.least == IntegerRange::kLowest ? IntegerRange::kHighest : -a.least};
}

IntegerRange operator/(const IntegerRange& a, const IntegerRange& b) {
  if (b == IntegerRange::of(1)) return a;
  if (a.least < 0 || b.least < 1) return {};
  if (!a.symbols.empty() && b.is_known() && a.factor % b.least == 0) {
    IntegerRange quotient = a;
    quotient.factor /= b.least;
    return quotient;
  }
  return {b.most == IntegerRange::kHighest ? 0 : a.least / b.most,
          a.most == IntegerRange::kHighest ? a.most : a.most / b.least};
}

IntegerRange smaller(const IntegerRange& a, const IntegerRange& b) {
  if (a == b) return a;
  return {std::min(a.least, b.least), std::min(a.most, b.most)};
}

IntegerRange larger(const IntegerRange& a, const IntegerRange& b) {
  if (a == b) return a;
  return {std::max(a.least, b.least), std::max(a.most, b.most)};
}

IntegerRange either(const IntegerRange& a, const IntegerRange& b) {
  if (a == b) return a;
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

}  // namespace ferry::onnx
