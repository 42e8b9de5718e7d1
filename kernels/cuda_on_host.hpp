// The kernels of CUDA devices, and the code that drives the devices, compiled for the host. For tests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// Kernels that run in the caller's thread, on the host's memory. The table has the fold of `cpu`, the CPU's table.
[[nodiscard]] std::shared_ptr<const KernelTable> kernels_on_host(const KernelTable& cpu);

/// The order in which the threads of a block run between two barriers.
enum class Order { forward, backward, shuffled };
/// Sets the order for all later kernels. The default is Order::forward.
void run_threads(Order order);

/// The simulated machine: its devices, and the call that fails. It also counts calls.
struct MachineOnHost {
  int devices = 3;
  std::string why;                                      ///< the reason why there are no devices
  std::set<int> without_code = {2};                     ///< devices for which the plug-in has no code
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  ///< of each device
  std::vector<std::uint64_t> used_bytes = {};           ///< by device: memory that other processes use
  /// The function of the runtime that fails; all later calls fail, too. Empty: none. "launch": a kernel fails, and only
  /// record() and query() report this.
  std::string fails = {};
  int fails_on = -1;                                     ///< the only device that fails; -1: all devices
  int after = 0;                                         ///< number of calls of `fails` that succeed first
  bool is_gone = false;                                  ///< whether the failure means that the device is gone
  int failed = 0;                                        ///< the error after the failure; 0: no failure yet
  std::set<int> used = {};                               ///< devices that were chosen
  int captures = 0, replays = 0;                         ///< calls of begin_capture() and replay()
  std::string why_no_nccl = {};                          ///< the reason why GPUs cannot work together; empty: they can
  std::string nccl_fails = {};                           ///< the function of NCCL that fails; empty: none
  int nccl_after = 0;                                    ///< number of calls of `nccl_fails` that succeed first
  std::map<std::uintptr_t, std::uintptr_t> locked = {};  ///< locked pages of the host: first address and end
};
[[nodiscard]] MachineOnHost& machine_on_host();

/// The devices of machine_on_host().
[[nodiscard]] DeviceLibrary devices_on_host();

/// Sets whether later kernels find a library of matrix products, which replaces cuBLASLt. The default is false.
void offer_blas(bool is_there);
/// The number of products with an addend that this library has computed.
[[nodiscard]] int sums_of_blas();
/// Like offer_blas(), for a library of convolutions, which replaces cuDNN.
void offer_dnn(bool is_there);
/// The number of convolutions that this library has computed.
[[nodiscard]] std::int64_t runs_of_dnn();

/// Sets whether devices_on_host() generate kernels for tile regions. The default is true.
void offer_compiler(bool is_there);
/// Generates kernels for regions, with a cache in `cache_folder`.
[[nodiscard]] std::vector<BoundKernel> fuse_on_host(std::span<const FusedKernels> all, const std::string& cache_folder,
                                                    FileSystem& files);
/// The generated source of a region.
[[nodiscard]] std::string text_of_region(const FusedKernels& kernels);
/// The number of sources that this process has compiled.
[[nodiscard]] int compiled_regions();

}  // namespace ferry::cuda
