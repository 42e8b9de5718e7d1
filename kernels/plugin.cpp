// cuda_devices(): finds and opens the plug-in for CUDA.
#include <dlfcn.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/process/plugin_file.hpp"
#include "kernels/device.hpp"

namespace ferry {
namespace {

struct Opened {
  PluginFile file = open_plugin("libferry_cuda.so");
  const DevicePlugin* plugin = nullptr;

  Opened() {
    if (file.handle == nullptr) return;
    const auto of = reinterpret_cast<const DevicePlugin* (*)()>(dlsym(file.handle, "ferry_device_plugin"));
    if (of != nullptr) plugin = of();
  }
};

}  // namespace

std::optional<DeviceLibrary> cuda_devices(std::string& why) {
  static const Opened opened;
  why = opened.file.why;
  if (opened.file.handle == nullptr) return {};
  const DevicePlugin ours;
  const DevicePlugin* const theirs = opened.plugin;
  // `version` is the first member in every version of DevicePlugin, and decides how to read the other members.
  if (theirs != nullptr && theirs->version == ours.version && theirs->size == ours.size &&
      std::ranges::equal(theirs->layout, ours.layout))
    return theirs->devices();
  why = formatted("{} was built for another ferry: install the one of this version", opened.file.path);
  return {};
}

}  // namespace ferry
