// What every library of devices must do (kernels/device.hpp): one suite, run against each that there is.
#pragma once

#include "kernels/device.hpp"

namespace ferry::test {

/// Checks the library with a kernel "Neg" of its own on float32, as doctest cases' assertions.
void check_device_library(const DeviceLibrary& library);

/// Checks what its groups do, with as many members as it has devices, two at most.
void check_device_groups(const DeviceLibrary& library);

}  // namespace ferry::test
