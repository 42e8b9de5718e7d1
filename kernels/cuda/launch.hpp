// Launches kernels on a GPU. for_each() runs a function once for each of n items, in one thread. for_each_block() runs
// it for each item in all threads of a block, which work together.
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

/// One thread's view of its block.
class DeviceBlock {
 public:
  [[nodiscard]] __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int threads() const { return static_cast<int>(blockDim.x); }
  /// A barrier: waits until all threads of the block have called it. Afterwards each thread sees what the other threads
  /// wrote before the barrier. All threads must call it equally often.
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
    if (item != blockIdx.x) __syncthreads();  // other threads may still read the previous item from `shared`
    f(item, Block(), shared);
  }
}

/// Checks the result of the launch itself. cudaGetLastError() would also return errors of earlier calls, and "not
/// ready" of an earlier query of an event.
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

/// Calls f(item, block, shared) for each item in [0, n), in all threads of a block. `shared` is the block's F::Shared,
/// a trivial type that is not initialised. The order of the items is undefined.
template <class F>
void for_each_block(const KernelRun& run, std::int64_t n, const F& f) {
  if (n <= 0) return;
  const std::int64_t blocks = std::min(n, detail::kMostBlocks);
  detail::launch(run, detail::run_blocks<F>, blocks, f, n);
}

/// Copies bytes to the device's memory, from the memory of the device or of the host. They must not change until the
/// copy is done.
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

/// The number of threads of a block.
inline constexpr int kThreads = detail::kThreads;

/// Joins the values of all threads of the block, and returns the result to each thread. `room` has kMostWarps elements.
/// `join` must be associative and commutative, up to rounding. The order is the same in every run.
inline constexpr int kMostWarps = 32;
template <class T, class Join>
FERRY_DEVICE T join_in_block(const Block& block, T value, T* room, const Join& join) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value = join(value, block.exchange(value, lanes));
  const int warps = block.threads() / kWarp;
  if (block.thread() % kWarp == 0) room[block.thread() / kWarp] = value;
  block.sync();
  T result = room[0];
  for (int w = 1; w < warps; ++w) result = join(result, room[w]);
  block.sync();  // afterwards the caller may use `room` again
  return result;
}

}  // namespace ferry::cuda
