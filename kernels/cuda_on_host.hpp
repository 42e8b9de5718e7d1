// The kernels of CUDA devices, compiled for the host: for tests.
#pragma once

#include <memory>

#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// Kernels that run in the caller's thread, on the host's memory. `cpu` gives what the table says besides them.
[[nodiscard]] std::shared_ptr<const KernelTable> kernels_on_host(const KernelTable& cpu);

/// The order in which threads run between two barriers.
enum class Order { forward, backward, shuffled };
/// For all kernels from now on; Order::forward if it is never called.
void run_threads(Order order);

/// Whether kernels find a library of matrix products from now on: one for tests. There is none if it is never called.
void offer_blas(bool is_there);

}  // namespace ferry::cuda
