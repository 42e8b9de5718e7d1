// The independent reference that ops are compared with: plain loops in more than double precision, which share no code
// with the kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/types/tensor.hpp"

namespace ferry::test {

using Sizes = std::vector<std::int64_t>;
/// What references compute in. It holds every element of every dtype exactly, except 64-bit integers on machines whose
/// long double is a double.
using Real = long double;

/// An array of any rank.
struct Nd {
  Sizes sizes;
  std::vector<Real> data;

  /// Makes each element from its index.
  Nd(Sizes given, const std::function<Real(const Sizes& index)>& element);
  explicit Nd(const Tensor& tensor);
  /// The element at `index`: dims of size 1 are broadcast, and leading dims of the index that the array lacks are
  /// dropped.
  [[nodiscard]] Real at(const Sizes& index) const;
};

/// The element at `index`, without any broadcasting.
[[nodiscard]] Real& element(Nd& nd, const Sizes& index);

/// The operations that references have counted on this thread: a product with its addition, an element that is folded,
/// written or under a window, or a function applied to an element. Not all references count.
struct Counted {
  std::int64_t operations = 0;
};
[[nodiscard]] Counted& counted();

/// Computes what a case's op must give for these inputs: one array for each output.
struct Reference {
  using Compute = std::function<std::vector<Nd>(const std::vector<Nd>& inputs)>;

  template <class F>
  requires std::is_invocable_r_v < std::vector<Nd>, F,
  const std::vector<Nd>& > Reference(F f, bool by_elements = false) : compute(std::move(f)), elementwise(by_elements) {}
  std::vector<Nd> operator()(const std::vector<Nd>& inputs) const { return compute(inputs); }

  Compute compute;
  bool elementwise;  ///< an element of the output depends only on the inputs' elements at its index
};

/// Applies f to each element of the inputs, which are broadcast.
[[nodiscard]] Reference elements(Real (*f)(Real));
[[nodiscard]] Reference elements(Real (*f)(Real, Real));
[[nodiscard]] Reference elements(Real (*f)(Real, Real, Real));
/// Sums of products in index notation with single letters: einsum("bmk,kn->bmn"). With one input: transposes and sums.
[[nodiscard]] Reference einsum(std::string_view notation);
/// Reduces the dims `axes` (sorted), which the result lacks: join() folds their elements, from `start`.
[[nodiscard]] Reference folded(Sizes axes, Real start, Real (*join)(Real, Real));
/// Computes the output's sizes from the inputs, and each element from the inputs and its index.
[[nodiscard]] Reference indexed(Sizes (*sizes)(const std::vector<Nd>&),
                                Real (*element)(const std::vector<Nd>&, const Sizes& index));
/// Applies f to each row along the last dim.
[[nodiscard]] Reference rows(std::vector<Real> (*f)(const std::vector<Real>&));

}  // namespace ferry::test
