// cuda_devices(): finds and opens the plug-in for CUDA.
#include <dlfcn.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/process/process.hpp"
#include "base/text.hpp"
#include "kernels/device.hpp"

namespace ferry {
namespace {

constexpr const char* kPlugin = "libferry_cuda.so";

/// The folder of the file that has this code, a library or the program, with a slash; "" if it is not known.
std::string own_folder() {
  Dl_info here{};
  std::string file;
  if (dladdr(reinterpret_cast<const void*>(&check_device_table), &here) != 0 && here.dli_fname != nullptr)
    file = here.dli_fname;
  // For a program, the linker returns the name by which it was called, possibly without a folder.
  if (file.find(".so") == std::string::npos) {
    try {
      file = this_program_path();
    } catch (const Error&) {  // there is no /proc
    }
  }
  return file.substr(0, file.rfind('/') + 1);
}

/// Where the plug-in may lie: beside this code, in the library folder if that is a program, and where the linker looks.
std::vector<std::string> places() {
  std::vector<std::string> all;
  for (const char* const to : {"", FERRY_LIBRARIES_FROM_PROGRAMS "/"})
    if (std::string path = own_folder() + to + kPlugin; local_files().exists(path)) all.push_back(std::move(path));
  all.emplace_back(kPlugin);
  return all;
}

struct Opened {
  Opened() {
    for (const std::string& place : places()) {
      void* const handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) {
        const char* const said = dlerror();
        if (why.empty() && place != kPlugin) why = said != nullptr ? said : place + " cannot be opened";
        continue;
      }
      path = place;
      const auto of = reinterpret_cast<const DevicePlugin* (*)()>(dlsym(handle, "ferry_device_plugin"));
      if (of != nullptr) plugin = of();
      return;
    }
    if (why.empty()) why = std::string(kPlugin) + " is not installed";
  }
  std::string path, why;
  const DevicePlugin* plugin = nullptr;
};

}  // namespace

std::optional<DeviceLibrary> cuda_devices(std::string& why) {
  static const Opened opened;
  why = opened.why;
  if (opened.path.empty()) return {};
  const DevicePlugin ours;
  const DevicePlugin* const theirs = opened.plugin;
  // The version is the first member in every version, and tells how the others are to be read.
  if (theirs != nullptr && theirs->version == ours.version && theirs->size == ours.size &&
      std::ranges::equal(theirs->layout, ours.layout))
    return theirs->devices();
  why = escaped(opened.path) + " was built for another ferry: install the one of this version";
  return {};
}

}  // namespace ferry
