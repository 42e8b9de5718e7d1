// Runs one kernel of the CPU and of CUDA devices (compiled for the host) on the same arrays, which may be parts of
// split values.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/types/tensor.hpp"
#include "kernels/cuda_on_host.hpp"
#include "kernels/kernel.hpp"
#include "kernels/widening.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {

/// An array of a kernel. If `whole` is not empty, it is a part, which begins there in a value of these sizes.
struct Part {
  Tensor tensor;
  std::vector<std::int64_t> whole = {}, begin = {};
};

struct KernelCall {
  std::string_view op;
  Attrs attrs;
  std::vector<Part> inputs;
  Part output;
  std::int64_t step = 0;
  std::vector<std::int64_t> iterations = {};
  bool in_place = false;  ///< the output is written over input 0
};

inline Tensor copy_of(const Tensor& tensor) {
  return Tensor::copy_of(tensor.dtype(), tensor.sizes(), tensor.bytes());
}

/// Memory that no kernel leaves as it was by chance.
inline void spoil(std::span<std::byte> bytes) {
  std::ranges::fill(bytes, std::byte{0xa5});
}

inline Tensor run_kernel(const KernelTable& table, const KernelCall& call) {
  std::vector<Part> all;
  for (const Part& input : call.inputs) all.push_back({copy_of(input.tensor), input.whole, input.begin});
  all.push_back({copy_of(call.output.tensor), call.output.whole, call.output.begin});
  if (call.in_place) all.back().tensor = all[0].tensor;
  std::vector<Type> types;
  std::vector<Array> arrays;
  std::vector<std::vector<std::int64_t>> sizes, zeros;
  for (const Part& part : all) {
    sizes.push_back(part.tensor.sizes());
    zeros.emplace_back(sizes.back().size(), 0);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Part& part = all[i];
    const bool is_part = !part.whole.empty();
    types.push_back(part.tensor.type());
    arrays.push_back({part.tensor.mutable_bytes().data(), part.tensor.dtype(), sizes[i],
                      is_part ? part.whole : part.tensor.sizes(), is_part ? part.begin : zeros[i]});
  }
  if (!call.in_place) spoil(all.back().tensor.mutable_bytes());
  const Kernel& kernel = *table.find(call.op);
  const std::span<const Type> inputs = std::span(types).first(types.size() - 1), outputs = std::span(types).last(1);
  const KernelSetup setup{"call", call.attrs, inputs, outputs, nullptr, {}, 0};
  const BoundKernel bound = bind(table, kernel, setup);
  std::vector<std::uint64_t> scratch(static_cast<std::size_t>(scratch_of(kernel, setup)) / 8 + 1);
  spoil(std::as_writable_bytes(std::span(scratch)));
  ThisThread parallel;
  KernelRun run{.inputs = std::span(arrays).first(arrays.size() - 1),
                .outputs = std::span(arrays).last(1),
                .state = bound.state.get(),
                .scratch = std::as_writable_bytes(std::span(scratch)),
                .parallel = parallel,
                .step = call.step,
                .iterations = call.iterations};
  bound.run(run);
  return all.back().tensor;
}

inline const KernelTable& cuda_kernels() {
  static const std::shared_ptr<const KernelTable> table = cuda::kernels_on_host(cpu_kernels());
  return *table;
}

/// Whether the kernels give the same bits, in any order of threads.
inline bool same_on_both(const KernelCall& call) {
  const Tensor wanted = run_kernel(cpu_kernels(), call);
  bool same = true;
  for (const cuda::Order order : {cuda::Order::forward, cuda::Order::backward, cuda::Order::shuffled}) {
    cuda::run_threads(order);
    const Tensor found = run_kernel(cuda_kernels(), call);
    cuda::run_threads(cuda::Order::forward);
    if (found.same_bits(wanted)) continue;
    MESSAGE(call.op, ": ", found.str(), " is not ", wanted.str());
    same = false;
  }
  return same;
}

/// The message of the error of the CPU's kernel, if the GPU's kernel has the same one; else both messages.
inline std::string refusal_of_both(const KernelCall& call) {
  const std::string cpu = error_of([&] { run_kernel(cpu_kernels(), call); }).text();
  const std::string cuda = error_of([&] { run_kernel(cuda_kernels(), call); }).text();
  return cpu == cuda ? cpu : cpu + " and " + cuda;
}

/// Numbers from -8 to 8; floats have fractions.
inline Tensor some_numbers(DType dtype, std::vector<std::int64_t> sizes, std::uint64_t seed = 1) {
  Tensor tensor(dtype, std::move(sizes));
  Dice dice(seed);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& element : tensor.mutable_data<T>()) {
      const auto number = static_cast<double>(dice.below(16'001)) / 1000 - 8;
      if constexpr (std::is_same_v<T, bool>)
        element = number > 0;
      else if constexpr (std::is_unsigned_v<T>)
        element = static_cast<T>(number + 8);
      else
        element = static_cast<T>(number);
    }
  });
  return tensor;
}

/// Indices of `rows`, some of them counted from the end.
inline Tensor some_indices(DType dtype, std::vector<std::int64_t> sizes, std::int64_t rows, std::uint64_t seed = 2) {
  Tensor tensor(dtype, std::move(sizes));
  Dice dice(seed);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
      for (T& index : tensor.mutable_data<T>()) index = static_cast<T>(dice.below(2 * rows) - rows);
  });
  return tensor;
}

}  // namespace ferry::test
