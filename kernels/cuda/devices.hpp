// CUDA devices as a DeviceLibrary.
#pragma once

#include "kernels/device.hpp"

namespace ferry::cuda {

/// The devices of this machine that can be used; the table says why there are none, or not all.
[[nodiscard]] DeviceLibrary devices();

}  // namespace ferry::cuda
