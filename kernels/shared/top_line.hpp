// TopLine: finds the first k elements of a line in the order of their values, in one thread.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/scalar_math.hpp"

namespace ferry {

/// a < b, with NaN as the largest.
template <class T>
FERRY_HD constexpr bool is_less(T a, T b) {
  return b != b ? a == a : a < b;
}

/// Whether a (element i) comes before b (element j). Equal values are in the order of their indices.
template <class T>
FERRY_HD constexpr bool comes_before(T a, std::int64_t i, T b, std::int64_t j, bool largest) {
  if (is_less(a, b)) return !largest;
  return is_less(b, a) ? largest : i < j;
}

/// Finds the first k elements of a line in the wanted order. The output holds the indices of the best k so far as a
/// heap, with the worst at the root. Finally, a heap sort orders them. Elements are compared after conversion from T to
/// C.
template <class T, class C = T>
class TopLine {
 public:
  FERRY_HD TopLine(const T* line, std::int64_t n, std::int64_t* found, std::int64_t k, std::int64_t step, bool largest)
      : line_(line), n_(n), found_(found), k_(k), step_(step), largest_(largest) {}

  FERRY_HD void pick() {
    for (std::int64_t i = 0; i < k_; ++i) at(i) = i;
    for (std::int64_t i = k_ / 2; i-- > 0;) sift(i, k_);
    for (std::int64_t i = k_; i < n_; ++i) {
      if (!is_before(i, at(0))) continue;
      at(0) = i;
      sift(0, k_);
    }
    for (std::int64_t size = k_ - 1; size > 0; --size) {
      std::swap(at(0), at(size));
      sift(0, size);
    }
  }

 private:
  FERRY_HD std::int64_t& at(std::int64_t i) { return found_[i * step_]; }
  FERRY_HD bool is_before(std::int64_t i, std::int64_t j) const {
    return comes_before(static_cast<C>(line_[i * step_]), i, static_cast<C>(line_[j * step_]), j, largest_);
  }
  FERRY_HD void sift(std::int64_t root, std::int64_t size) {
    for (std::int64_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
      if (child + 1 < size && is_before(at(child), at(child + 1))) ++child;
      if (!is_before(at(root), at(child))) return;
      std::swap(at(root), at(child));
      root = child;
    }
  }

  const T* line_;
  std::int64_t n_;
  std::int64_t* found_;
  std::int64_t k_, step_;
  bool largest_;
};

}  // namespace ferry
