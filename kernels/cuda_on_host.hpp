// The kernels of CUDA devices and what drives them, compiled for the host: for tests.
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

/// Kernels that run in the caller's thread, on the host's memory. `cpu` gives what the table says besides them.
[[nodiscard]] std::shared_ptr<const KernelTable> kernels_on_host(const KernelTable& cpu);

/// The order in which threads run between two barriers.
enum class Order { forward, backward, shuffled };
/// For all kernels from now on; Order::forward if it is never called.
void run_threads(Order order);

/// The machine that CUDA finds.
struct MachineOnHost {
  int devices = 3;
  std::string why;                                      ///< why there are no devices
  std::set<int> without_code = {2};                     ///< devices that cannot be used
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  ///< of each device
  std::vector<std::uint64_t> used_bytes = {};           ///< of the first devices, by others
  /// The function of the runtime that fails; all later calls fail, too. Empty: none. "launch": a kernel fails, and only
  /// record() and query() report this.
  std::string fails = {};
  int fails_on = -1;                                     ///< the device to which this applies; -1: all
  int after = 0;                                         ///< the number of its calls before
  bool is_gone = false;                                  ///< the device is gone then
  int failed = 0;                                        ///< not 0: it has
  std::set<int> used = {};                               ///< devices that were chosen
  int captures = 0, replays = 0;                         ///< calls of begin_capture() and replay()
  std::string why_no_nccl = {};                          ///< why GPUs do not work together
  std::string nccl_fails = {};                           ///< the function of NCCL that fails; empty: none
  int nccl_after = 0;                                    ///< the number of its calls before
  std::map<std::uintptr_t, std::uintptr_t> locked = {};  ///< pages of the host: first address and end
};
[[nodiscard]] MachineOnHost& machine_on_host();

/// Its devices.
[[nodiscard]] DeviceLibrary devices_on_host();

/// Whether kernels find a library of matrix products from now on: one for tests. There is none if it is never called.
void offer_blas(bool is_there);
/// How many of its products this process has added to something as they were stored.
[[nodiscard]] int sums_of_blas();
/// As offer_blas(), of convolutions.
void offer_dnn(bool is_there);
/// How many convolutions that library has computed.
[[nodiscard]] std::int64_t runs_of_dnn();

/// Whether devices_on_host() run tile regions from now on, by generated kernels; they do if it is never called.
void offer_compiler(bool is_there);
/// Kernels for regions, with a cache in that folder.
[[nodiscard]] std::vector<BoundKernel> fuse_on_host(std::span<const FusedKernels> all, const std::string& cache_folder,
                                                    FileSystem& files);
/// The text that is generated for a region.
[[nodiscard]] std::string text_of_region(const FusedKernels& kernels);
/// How many texts this process has compiled.
[[nodiscard]] int compiled_regions();

}  // namespace ferry::cuda
