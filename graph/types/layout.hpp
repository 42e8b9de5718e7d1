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
///
///     split(0).str();              // "S(0)"
///     partial(Reduce::sum).str();  // "P(sum)"
struct AxisLayout {
  enum class Kind : std::uint8_t { replicated, split, partial };
  Kind kind = Kind::replicated;  ///< whether each task has the whole value, a part, or a term of a sum
  std::int16_t dim = 0;          ///< for `split`: the dim that is split, as evenly as by part_of()
  Reduce reduce = Reduce::none;  ///< for `partial`: the reduction that combines the partial values

  bool operator==(const AxisLayout&) const = default;
  /// "R", "S(0)", "P(sum)".
  [[nodiscard]] std::string str() const;
};

/// The layout of a value that each task of the axis has whole.
///
///     auto everywhere = g.on(g.mesh("tasks"));
///     Value w_everywhere = identity(w).laid({replicated()});
[[nodiscard]] constexpr AxisLayout replicated() {
  return {};
}

/// The layout of a value whose dim `dim` is cut into parts, one for each task of the axis.
///
///     auto everywhere = g.on(g.mesh("tasks"));
///     Value rows = identity(x).laid({split(0)});
[[nodiscard]] constexpr AxisLayout split(int dim) {
  return {AxisLayout::Kind::split, static_cast<std::int16_t>(dim), Reduce::none};
}

/// The layout of a value that is the sum, maximum or minimum of values of the axis' tasks.
///
///     auto everywhere = g.on(g.mesh("tasks"));
///     Value terms = identity(x).laid({partial(Reduce::sum)});
[[nodiscard]] constexpr AxisLayout partial(Reduce reduce) {
  return {AxisLayout::Kind::partial, 0, reduce};
}

/// One AxisLayout for each axis of the mesh.
using Layout = std::vector<AxisLayout>;

/// The layout as text.
///
///     str(Layout{split(0), replicated()});  // "[S(0),R]"
[[nodiscard]] std::string str(const Layout& layout);

/// A grid of devices with named axes, in row-major order: the last axis varies fastest over the tasks.
///
///     Mesh mesh{.axes = {{"data", Mesh::kOpen}, {"model", 2}}, .devices = DeviceSpec::parse("/task:*")};
///     mesh.str();  // "data=*,model=2 on /task:*"
struct Mesh {
  static constexpr std::int64_t kOpen = -1;  ///< an open size: the number of devices divided by the sizes of the other
                                             ///< axes

  struct Axis {
    std::string name;           ///< for layouts and messages
    std::int64_t size = kOpen;  ///< the number of devices along the axis
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;  ///< their names and sizes
  DeviceSpec devices;      ///< "/task:*", "/job:worker/task:*", perhaps with a kind of device

  /// "dp=*,tp=2 on /task:*".
  [[nodiscard]] std::string str() const;
  bool operator==(const Mesh&) const = default;
};

/// A part of a dim.
struct Part {
  std::int64_t begin = 0;  ///< the first element
  std::int64_t size = 0;   ///< the number of elements
};

/// Part `index` of a dim of `size` elements that is cut into `parts` parts. The first size % parts parts have one
/// element more than the others.
///
///     part_of(10, 4, 1).begin;  // 3
///     part_of(10, 4, 1).size;   // 3
[[nodiscard]] constexpr Part part_of(std::int64_t size, std::int64_t parts, std::int64_t index) {
  const std::int64_t whole = size / parts;
  const std::int64_t extra = size % parts;
  return {index * whole + (index < extra ? index : extra), whole + (index < extra ? 1 : 0)};
}

}  // namespace ferry
#pragma GCC visibility pop
