// The independent reference: plain loops over numbers in double precision, sharing no code with the kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "graph/tensor.hpp"

namespace ferry::test {

using Sizes = std::vector<std::int64_t>;

/// An array of any rank, computed with in double precision.
struct Nd {
  Sizes sizes;
  std::vector<double> data;

  /// Each element by its index.
  Nd(Sizes given, const std::function<double(const Sizes& index)>& element);
  explicit Nd(const Tensor& tensor);
  /// The element at `index`, of which dims of size 1 are broadcast and superfluous leading ones are left out.
  [[nodiscard]] double at(const Sizes& index) const;
};

/// The element at `index`, which has all dims.
[[nodiscard]] double& element(Nd& nd, const Sizes& index);

/// What a case's op must give for these inputs. Of ops of several outputs: one after another.
using Reference = std::function<std::vector<Nd>(const std::vector<Nd>& inputs)>;

/// f of each element of the inputs, which are broadcast.
[[nodiscard]] Reference elements(double (*f)(double));
[[nodiscard]] Reference elements(double (*f)(double, double));
[[nodiscard]] Reference elements(double (*f)(double, double, double));
/// Sum of products by index notation of single letters: einsum("bmk,kn->bmn"). Also of one input: transposes, sums.
[[nodiscard]] Reference einsum(std::string_view notation);
/// The elements along dims that are gone (`axes`, sorted) joined, from `start`.
[[nodiscard]] Reference folded(Sizes axes, double start, double (*join)(double, double));
/// Output sizes from those of the inputs, and each element from its index and the inputs.
[[nodiscard]] Reference indexed(Sizes (*sizes)(const std::vector<Nd>&),
                                double (*element)(const std::vector<Nd>&, const Sizes& index));
/// One row of the last dim at a time, replaced by what f makes of it.
[[nodiscard]] Reference rows(std::vector<double> (*f)(const std::vector<double>&));

}  // namespace ferry::test
