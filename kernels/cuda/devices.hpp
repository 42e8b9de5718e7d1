// CUDA devices as a DeviceLibrary.
#pragma once

#include "kernels/device.hpp"

namespace ferry::cuda {

/// The devices of this machine. Where there are none, or one cannot be used, its table counts 0 and says why.
[[nodiscard]] DeviceLibrary devices();

}  // namespace ferry::cuda
