// How the kernels of GPUs are launched: for_each() runs a function once for each of n items, for_each_block() has a
// block of threads work on each item together.
//
// The functions are structs, which are passed by value to the GPU. The same sources are compiled a second time for the
// host (on_host.hpp), where tests run them without a GPU, in several orders of the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/queue.hpp"
#include "kernels/kernel.hpp"

#ifdef __CUDACC__

#define FERRY_DEVICE __device__

namespace ferry::cuda {

inline constexpr int kWarp = 32;

/// The threads of a block, as one of them sees it.
class DeviceBlock {
 public:
  [[nodiscard]] __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int threads() const { return static_cast<int>(blockDim.x); }
  /// Waits until all threads of the block are here; then each sees what the others have written before. All threads
  /// must call it equally often.
  __device__ void sync() const { __syncthreads(); }
  /// The `value` of another thread of this warp: the numbers of the two threads differ in the bits `lanes`. All threads
  /// of the warp must call it.
  template <class T>
  [[nodiscard]] __device__ T exchange(T value, int lanes) const {
    return __shfl_xor_sync(0xffffffffU, value, lanes);
  }
};

using Block = DeviceBlock;

namespace detail {

inline constexpr int kThreads = 256;
inline constexpr std::int64_t kMostBlocks = 1 << 20;

template <class F>
__global__ void __launch_bounds__(kThreads) run_each(F f, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) f(i);
}

template <class F>
__global__ void __launch_bounds__(kThreads) run_blocks(F f, std::int64_t n) {
  __shared__ typename F::Shared shared;
  for (std::int64_t item = blockIdx.x; item < n; item += gridDim.x) {
    if (item != blockIdx.x) __syncthreads();  // the item before may still be read from `shared`
    f(item, Block(), shared);
  }
}

/// cudaGetLastError() would give errors of earlier calls, too, and "not ready" of an event that was asked for.
template <class F>
void launch(const KernelRun& run, void (*kernel)(F, std::int64_t), std::int64_t blocks, const F& f, std::int64_t n) {
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(blocks);
  config.blockDim = kThreads;
  config.stream = static_cast<cudaStream_t>(static_cast<Queue*>(run.queue)->stream);
  require_launched(cudaLaunchKernelEx(&config, kernel, f, n));
}

}  // namespace detail

/// Calls f(i) for each i in [0, n), in no order. Needs `void operator()(std::int64_t) const`.
template <class F>
void for_each(const KernelRun& run, std::int64_t n, const F& f) {
  if (n <= 0) return;
  const std::int64_t blocks = std::min((n + detail::kThreads - 1) / detail::kThreads, detail::kMostBlocks);
  detail::launch(run, detail::run_each<F>, blocks, f, n);
}

/// Calls f(item, block, shared) for each item in [0, n), from all threads of a block, which `shared` belongs to: an
/// F::Shared, which is trivial and not initialised. Items come in no order.
template <class F>
void for_each_block(const KernelRun& run, std::int64_t n, const F& f) {
  if (n <= 0) return;
  const std::int64_t blocks = std::min(n, detail::kMostBlocks);
  detail::launch(run, detail::run_blocks<F>, blocks, f, n);
}

/// Copies bytes to the device's memory, from there or from the host's, where they must not change until that is done.
inline void copy_bytes(const KernelRun& run, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  require_launched(copy_in_pieces(static_cast<Queue*>(run.queue)->stream, to, from, bytes));
}

}  // namespace ferry::cuda

#else
#include "kernels/cuda/on_host.hpp"
namespace ferry::cuda {
using Block = HostBlock;
}
#endif

namespace ferry::cuda {

/// The threads of a block.
inline constexpr int kThreads = detail::kThreads;

/// join(…, value of each thread), for all threads of the block. `room` has an element for each warp of a block,
/// kMostWarps. join is associative and commutative up to rounding; the order is the same in every run.
inline constexpr int kMostWarps = 32;
template <class T, class Join>
FERRY_DEVICE T join_in_block(const Block& block, T value, T* room, const Join& join) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value = join(value, block.exchange(value, lanes));
  const int warps = block.threads() / kWarp;
  if (block.thread() % kWarp == 0) room[block.thread() / kWarp] = value;
  block.sync();
  T result = room[0];
  for (int w = 1; w < warps; ++w) result = join(result, room[w]);
  block.sync();  // the room may be used again
  return result;
}

}  // namespace ferry::cuda
