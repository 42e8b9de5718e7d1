#include "executor/job/cluster_options.hpp"

#include "base/numbers.hpp"
#include "kernels/device.hpp"

namespace ferry {

std::optional<DeviceLibrary> devices_of(const ClusterOptions& options, std::string& why) {
  if (options.simulated) return simulated_devices(*options.simulated);
  return cuda_devices(why);
}

std::optional<std::uint64_t> simulation_seed(std::string_view device) {
  constexpr std::string_view kName = "sim";
  if (device == kName) return 1;
  if (!device.starts_with(kName) || device.size() <= kName.size() || device[kName.size()] != ':') return {};
  return whole_number("--device sim: the seed", device.substr(kName.size() + 1), std::uint64_t{0}, UINT64_MAX);
}

}  // namespace ferry
