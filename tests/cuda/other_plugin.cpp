// A plug-in for CUDA of some other ferry: its version is not this one's.
#include <cstdint>

extern "C" [[gnu::visibility("default")]] const std::uint32_t* ferry_device_plugin() {
  static const std::uint32_t plugin[64] = {999, sizeof plugin};
  return plugin;
}
