// The one function that libferry_cuda.so exports.
#include "kernels/cuda/devices.hpp"

namespace {

constexpr ferry::DevicePlugin kPlugin{.devices = ferry::cuda::devices};

}  // namespace

extern "C" [[gnu::visibility("default")]] const ferry::DevicePlugin* ferry_device_plugin() {
  return &kPlugin;
}
