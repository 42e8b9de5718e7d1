// Annotation: the device or mesh, and the layouts, that the user chooses for an op.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.hpp"
#include "graph/types/device_spec.hpp"
#include "graph/types/layout.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct Mesh;
using MeshId = Id<Mesh>;
inline constexpr MeshId kNoMesh = 0xffffffffU;

/// A device, or a mesh and optionally a kind of device on it, or nothing.
struct Annotation {
  DeviceSpec device;
  MeshId mesh = kNoMesh;
  std::vector<Layout> layouts;  ///< one for each output, or none; ferry chooses an empty or absent layout

  [[nodiscard]] bool empty() const { return device.empty() && mesh == kNoMesh; }
  bool operator==(const Annotation&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
