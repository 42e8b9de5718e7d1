// Converter: brings values to the devices and layouts where they are used. The part of reshard that adds nodes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "placement/layout/conversion.hpp"
#include "placement/layout/mesh_parts.hpp"
#include "placement/layout/reasons.hpp"
#include "placement/layout/windows.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Adds transfers, collectives and local cuts to a program. Along one axis: partial -> replicated all-reduce, partial
/// -> split reduce-scatter, split -> replicated all-gather, split -> split all-to-all, replicated -> split a local cut.
/// Between device sets: device -> device is a transfer; device -> mesh is a broadcast or scatter, and mesh -> device a
/// gather or reduce, each axis by axis. An all-reduce or reduce along several axes is one collective. Mesh -> mesh of
/// other tasks goes part by part, any other mesh -> mesh by way of one task. To other devices of the same tasks it is a
/// copy. A value goes to each device set and layout once, however many use it there, and so do the rows of a halo.
/// Bounded values are cut at their bounds: a part along the bounded dim has the rows before the extent, possibly none.
class Converter {
 public:
  /// `reasons` is told of every message that is added; the caller tells it for which node.
  Converter(Program& program, Reasons& reasons) : program_(program), reasons_(reasons) {}

  /// From now on nodes are added at the end of this region. Returns the region before.
  RegionId enter(RegionId region) { return std::exchange(region_, region); }
  /// Appends a node to the region.
  void emit(NodeId id) { program_.regions[region_].order.push_back(id); }

  /// Sets the place and layout of a value (Where::laid_out).
  void place(PValueId value, WhereId where, Layout layout);
  /// The value that now stands for `value`: itself, or its replacement.
  [[nodiscard]] PValueId current(PValueId value) const;
  /// From now on readers of `value` get its version on `where` in that layout.
  void replace(PValueId value, WhereId where, const Layout& layout);
  /// The value's version on `where` in that layout; adds the conversion unless that was done before.
  [[nodiscard]] PValueId need(PValueId value, WhereId where, const Layout& layout);
  /// Of a value that is split along an axis: the rows that each task reads, as `halo` says, and others have. The same
  /// rows are brought once. kNone if there are none.
  [[nodiscard]] PValueId halo(PValueId value, const CutAxis& cut, const Halo& halo);
  /// Adds a window of the value that is split alike; `halo` is kNone or its halo along the dim that is cut.
  PValueId window(PValueId value, PValueId halo, const WindowOf& window, Attrs attrs);
  /// Adds the rows that each task reads of a cut dim, in order. They come from the task's part and its halo or, if the
  /// halo is kNone, from the whole dim, which each task has.
  PValueId rows(PValueId value, PValueId halo, const CutAxis& cut, const Reads& reads);

 private:
  /// The value replicated on its own tasks. The reasons of its messages name no layout.
  PValueId whole(PValueId value);
  /// The value in that layout on its own mesh; `axes` has, for each axis of that, the axis of the target mesh for which
  /// it stands (Reasons::asking_along).
  PValueId laid_alike(PValueId value, const Layout& layout, std::span<const std::uint32_t> axes);
  PValueId convert(PValueId value, WhereId where, const Layout& layout);
  /// Whether the conversion carries the extent of a bounded value; true for a value that is not bounded.
  [[nodiscard]] bool takes_extent(const PValue& from, WhereId where, const Layout& layout) const;
  /// Converts a bounded value: separately its elements up to the bound, and its extent.
  PValueId convert_bounded(PValueId value, WhereId where, const Layout& layout);
  /// Brings a value from one mesh to a mesh of other tasks. The value is first converted to `layout` on its own mesh;
  /// then one task sends each part to all tasks that need it. Returns kNone if the meshes share a task, or if the
  /// source cannot be cut by `layout`.
  PValueId across(PValueId value, WhereId where, const Layout& layout);
  /// For each split axis of `layout`, in order, an axis of the source with as many tasks. The axes are chosen so that
  /// splitting the value along them on the source costs the least. Empty if there are none.
  [[nodiscard]] std::vector<std::size_t> axes_alike(PValueId value, WhereId where, const Layout& layout) const;
  static bool same_devices(const Where& a, const Where& b);
  /// The target's tasks are all in the source.
  static bool covers(const Where& source, const Where& target);
  /// The value on other devices of its tasks, or of some of them.
  PValueId copied(PValueId value, WhereId where, const Layout& layout);
  /// A value that `task` holds whole goes to a device or mesh.
  PValueId from_device(PValueId value, std::int32_t task, WhereId where, const Layout& layout);
  /// Lays a replicated value on another mesh of some of its tasks: the value is read in place, then cut.
  PValueId cut_after_moving(PValueId whole, WhereId where, const Layout& layout);
  /// Scatters the value along the split axes, one after another, each time from all devices reached so far; then
  /// broadcasts it along the other axes.
  PValueId spread(PValueId value, std::int32_t task, WhereId where, const Layout& layout);
  /// Reduces and gathers to one device, along one axis after another, each time to fewer devices. kNone if the value is
  /// replicated on its mesh, or was made so before.
  PValueId to_root(PValueId original, std::int32_t task, WhereId where);
  PValueId convert_axes(PValueId original, const Layout& layout);
  /// The value or one of its versions on the same mesh: the one with the cheapest conversion to `layout`.
  [[nodiscard]] PValueId nearest(PValueId value, const Layout& layout) const;
  PValueId convert_axis(PValueId value, const ConversionStep& step);
  /// Turns parts along one dim into parts along another by an all-to-all: each member gives each other one a block.
  PValueId exchange(PValueId value, const ConversionStep& step, const Layout& layout);
  Node added(NodeKind kind, PValueId value) const;
  PValueId finish(Node node, PValueId value, WhereId where, const Layout& layout);
  PValueId finish(Node node, std::span<const PValueId> inputs, const Type& type, WhereId where, const Layout& layout);
  PValueId computed(const OpDef& def, std::span<const PValueId> inputs, const Type& type, WhereId where,
                    const Layout& layout, Attrs attrs = {});
  /// `axis`: the axis of the mesh along which it works; kNone: not along a single one.
  PValueId collective(PValueId value, const ProgramCollective& what, WhereId where, const Layout& layout,
                      std::size_t axis = kNone);
  /// Reduces or gathers what the members have along one axis to their root.
  PValueId join(PValueId value, const AxisLayout& before, const Members& members, WhereId where, const Layout& layout,
                std::size_t axis);
  /// The task's position in the mesh; the first one for a task outside.
  [[nodiscard]] std::size_t corner(WhereId mesh, std::int32_t task) const;
  /// The part of the mesh along these axes that has the task's corner.
  WhereId part_at(WhereId mesh, std::int32_t task, const Axes& axes);
  /// Groups along `axes`, one through each position that differs from the task's corner only along `others`. That
  /// position is the group's root; a task outside of the mesh is added as a guest root if there is one group.
  Members along(WhereId mesh, std::int32_t task, const Axes& others, const Axes& axes);
  /// All groups along these axes of the mesh, without a root.
  Members all_along(WhereId mesh, std::span<const std::size_t> axes);
  /// A group of tasks with its root, which is appended as a guest if it is none of them.
  Members with_root(std::vector<std::int32_t> group, std::int32_t root);
  [[nodiscard]] bool made(PValueId value, WhereId where, const Layout& layout) const;
  PValueId take_part(PValueId value, WhereId where, const Layout& layout);
  /// Joins or cuts parts by a local op. If all dims before `dim` have size 1, the parts lie one after another anyway:
  /// then it returns the value itself.
  PValueId parts_op(const OpDef& def, PValueId value, int dim, std::int64_t parts, WhereId where, const Layout& layout);
  /// A constant without an annotation is made wherever it is used.
  PValueId copy_constant(PValueId value, WhereId where, const Layout& layout);

  Program& program_;
  Reasons& reasons_;
  RegionId region_ = 0;
  std::map<PValueId, PValueId> replaced_;
  std::map<std::tuple<PValueId, WhereId, std::string>, PValueId> made_;
  /// For a value along an axis, by the rows read: the halo, and the first of the rows that were made.
  std::map<std::tuple<PValueId, std::size_t, Ints>, PValueId> halos_, rows_;
  std::map<PValueId, PValueId> first_rows_;  // of later ones: they have the same halos
};

}  // namespace ferry
