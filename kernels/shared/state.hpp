// The state of kernels: attributes, prepared once.
#pragma once

#include <memory>

#include "kernels/kernel.hpp"

namespace ferry {

/// A kernel's state that holds a value of any type.
template <class T>
struct State final : KernelState {
  explicit State(T given) : value(std::move(given)) {}
  T value;
};

template <class T>
[[nodiscard]] std::unique_ptr<KernelState> keep(T value) {
  return std::make_unique<State<T>>(std::move(value));
}

template <class T>
[[nodiscard]] const T& kept(const KernelRun& run) {
  return static_cast<const State<T>*>(run.state)->value;
}

/// Converts an axis attribute to a dim: a negative axis counts from the end.
[[nodiscard]] constexpr int dim_of(std::int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// Product of sizes[begin, end).
[[nodiscard]] inline std::int64_t product(std::span<const std::int64_t> sizes, int begin, int end) {
  std::int64_t count = 1;
  for (int d = begin; d < end; ++d) count *= sizes[d];
  return count;
}

}  // namespace ferry
