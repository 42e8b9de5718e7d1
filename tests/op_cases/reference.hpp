// The independent reference: plain loops over numbers in more than double precision, sharing no code with the kernels.
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
/// What references compute in: it holds each element of each dtype, and rounds to 64 bits where that is the machine's.
using Real = long double;

/// An array of any rank.
struct Nd {
  Sizes sizes;
  std::vector<Real> data;

  /// Each element by its index.
  Nd(Sizes given, const std::function<Real(const Sizes& index)>& element);
  explicit Nd(const Tensor& tensor);
  /// The element at `index`, of which dims of size 1 are broadcast and superfluous leading ones are left out.
  [[nodiscard]] Real at(const Sizes& index) const;
};

/// The element at `index`, which has all dims.
[[nodiscard]] Real& element(Nd& nd, const Sizes& index);

/// What a case's op must give for these inputs. Of ops of several outputs: one after another.
struct Reference {
  using Compute = std::function<std::vector<Nd>(const std::vector<Nd>& inputs)>;

  template <class F>
  requires std::is_invocable_r_v < std::vector<Nd>, F,
  const std::vector<Nd>& > Reference(F f, bool by_elements = false) : compute(std::move(f)), elementwise(by_elements) {}
  std::vector<Nd> operator()(const std::vector<Nd>& inputs) const { return compute(inputs); }

  Compute compute;
  bool elementwise;  ///< an element of the output depends on those of the inputs at its place
};

/// f of each element of the inputs, which are broadcast.
[[nodiscard]] Reference elements(Real (*f)(Real));
[[nodiscard]] Reference elements(Real (*f)(Real, Real));
[[nodiscard]] Reference elements(Real (*f)(Real, Real, Real));
/// Sum of products by index notation of single letters: einsum("bmk,kn->bmn"). Also of one input: transposes, sums.
[[nodiscard]] Reference einsum(std::string_view notation);
/// The elements along dims that are gone (`axes`, sorted) joined, from `start`.
[[nodiscard]] Reference folded(Sizes axes, Real start, Real (*join)(Real, Real));
/// Output sizes from those of the inputs, and each element from its index and the inputs.
[[nodiscard]] Reference indexed(Sizes (*sizes)(const std::vector<Nd>&),
                                Real (*element)(const std::vector<Nd>&, const Sizes& index));
/// One row of the last dim at a time, replaced by what f makes of it.
[[nodiscard]] Reference rows(std::vector<Real> (*f)(const std::vector<Real>&));

}  // namespace ferry::test
