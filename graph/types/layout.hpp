// Meshes and layouts: how a value lies over several devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/types/device_spec.hpp"

namespace ferry {

/// How partial values are joined. `none` is for ops that contract nothing.
enum class Reduce : std::uint8_t { none, sum, max, min };

[[nodiscard]] std::string_view name_of(Reduce reduce);

/// How a value lies along one axis of a mesh.
struct AxisLayout {
  enum class Kind : std::uint8_t { replicated, split, partial };
  Kind kind = Kind::replicated;
  std::int16_t dim = 0;  ///< of split: which dim is cut; part i of n has sizes as even as possible, larger parts first
  Reduce reduce = Reduce::none;  ///< of partial: what joins the parts

  bool operator==(const AxisLayout&) const = default;
  /// "R", "S(0)", "P(sum)".
  [[nodiscard]] std::string str() const;
};

[[nodiscard]] constexpr AxisLayout replicated() {
  return {};
}
[[nodiscard]] constexpr AxisLayout split(int dim) {
  return {AxisLayout::Kind::split, static_cast<std::int16_t>(dim), Reduce::none};
}
[[nodiscard]] constexpr AxisLayout partial(Reduce reduce) {
  return {AxisLayout::Kind::partial, 0, reduce};
}

/// One AxisLayout for each axis of the mesh.
using Layout = std::vector<AxisLayout>;

[[nodiscard]] std::string str(const Layout& layout);

/// A named grid of devices. Axes are in row-major order: the last axis varies fastest over the tasks.
struct Mesh {
  static constexpr std::int64_t kOpen = -1;  ///< as many as the job has, divided by the other axes

  struct Axis {
    std::string name;
    std::int64_t size = kOpen;
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;
  DeviceSpec devices;  ///< "/task:*", "/job:worker/task:*", with the kind of device when given

  /// "dp=*,tp=2 on /task:*".
  [[nodiscard]] std::string str() const;
  bool operator==(const Mesh&) const = default;
};

/// First element and number of elements of part `index` of `parts` of a dim of `size` elements: the first
/// size mod parts parts have one element more.
struct Part {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};
[[nodiscard]] constexpr Part part_of(std::int64_t size, std::int64_t parts, std::int64_t index) {
  const std::int64_t whole = size / parts;
  const std::int64_t extra = size % parts;
  return {index * whole + (index < extra ? index : extra), whole + (index < extra ? 1 : 0)};
}

}  // namespace ferry
