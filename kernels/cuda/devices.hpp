// CUDA devices as a DeviceLibrary.
#pragma once

#include "kernels/device.hpp"

namespace ferry::cuda {

/// The usable devices of this machine. DeviceTable::count returns the reason if devices are missing.
[[nodiscard]] DeviceLibrary devices();

}  // namespace ferry::cuda
