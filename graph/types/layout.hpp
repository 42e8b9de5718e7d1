// Meshes and layouts: the distribution of a value over several devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/types/device_spec.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The reduction that combines partial values. An op with `none` cannot combine them, so no dim that it contracts may
/// be split.
enum class Reduce : std::uint8_t { none, sum, max, min };

[[nodiscard]] std::string_view name_of(Reduce reduce);

/// The layout of a value along one axis of a mesh.
struct AxisLayout {
  enum class Kind : std::uint8_t { replicated, split, partial };
  Kind kind = Kind::replicated;
  std::int16_t dim = 0;          ///< for `split`: the dim that is split, as evenly as by part_of()
  Reduce reduce = Reduce::none;  ///< for `partial`: the reduction that combines the partial values

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

/// A grid of devices with named axes, in row-major order: the last axis varies fastest over the tasks.
struct Mesh {
  static constexpr std::int64_t kOpen = -1;  ///< an open size: the number of devices divided by the sizes of the other
                                             ///< axes

  struct Axis {
    std::string name;
    std::int64_t size = kOpen;
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;
  DeviceSpec devices;  ///< "/task:*", "/job:worker/task:*", perhaps with a kind of device

  /// "dp=*,tp=2 on /task:*".
  [[nodiscard]] std::string str() const;
  bool operator==(const Mesh&) const = default;
};

/// The first element and the number of elements of part `index` of a dim, if the `size` elements of the dim are cut
/// into `parts` parts. The first size % parts parts have one element more than the others.
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
#pragma GCC visibility pop
