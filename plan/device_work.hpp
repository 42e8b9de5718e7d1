// DeviceWork: counters of the work that a task gives to one of its devices other than the host.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// Counters of one device of one task in one step.
struct DeviceWork {
  std::int64_t launches = 0;                         ///< kernels, without kernels of collectives; fused ops count once
  std::int64_t copies_in = 0, bytes_in = 0;          ///< copies from the host, or from another device of the task
  std::int64_t copies_out = 0, bytes_out = 0;        ///< copies to the host
  std::int64_t copies_within = 0, bytes_within = 0;  ///< copies on the device
  std::int64_t collectives = 0;                      ///< collectives that the devices' library carries out
  std::int64_t replays = 0;  ///< replays of captured stretches; their kernels and copies also count above
  bool operator==(const DeviceWork&) const = default;
  DeviceWork& operator+=(const DeviceWork& other);
};

}  // namespace ferry
#pragma GCC visibility pop
