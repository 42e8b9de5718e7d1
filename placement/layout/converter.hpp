// Converter: the part of reshard that adds nodes. They bring values to the devices and layouts where they are used.
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

/// Adds transfers, collectives and local cuts to a program. Along one axis, partial -> replicated is an all-reduce,
/// partial -> split a reduce-scatter, split -> replicated an all-gather, split -> split an all-to-all, and replicated
/// -> split a local cut. Between device sets: device -> device is a transfer; device -> mesh is a broadcast or scatter,
/// and mesh -> device a gather or reduce, each axis by axis. An all-reduce or reduce along several axes is one
/// collective. Mesh -> mesh of other tasks goes part by part, if the axes fit; any other mesh -> mesh goes through one
/// task. To other devices of the same tasks, it is a copy. A value goes only once to each device set and layout,
/// regardless of the number of users there; so do the rows of a halo. Bounded values are cut at their bounds: a part
/// along the bounded dim has the rows before the extent, possibly none.
class Converter {
 public:
  /// The converter reports every added message to `reasons`. The caller sets the node for which messages are added
  /// (Reasons::asking).
  Converter(Program& program, Reasons& reasons) : program_(program), reasons_(reasons) {}

  /// Sets the region to which nodes are added, at its end, and returns the previous one.
  ProgramRegionId enter(ProgramRegionId region) { return std::exchange(region_, region); }
  /// Appends a node to the region.
  void emit(NodeId id) { program_.regions[region_].order.push_back(id); }

  /// Sets the place and layout of a value (Where::laid_out).
  void place(PValueId value, WhereId where, Layout layout);
  /// The value that readers of `value` read now: itself, or its replacement.
  [[nodiscard]] PValueId current(PValueId value) const;
  /// Makes later readers of `value` read its version on `where` in that layout.
  void replace(PValueId value, WhereId where, const Layout& layout);
  /// The value's version on `where` in that layout; adds the conversion if there is none yet.
  [[nodiscard]] PValueId get_version(PValueId value, WhereId where, const Layout& layout);
  /// Adds the halo of a value that is split along an axis: the rows that each task reads (as in `halo`) and that other
  /// tasks have. The same rows are sent only once. kNone if there are no such rows.
  [[nodiscard]] PValueId halo(PValueId value, const CutAxis& cut, const Halo& halo);
  /// Adds a window of the value, with the same layout. `halo` is the value's halo along the dim that the window cuts,
  /// or kNone.
  PValueId window(PValueId value, PValueId halo, const WindowOf& window, Attrs attrs);
  /// Adds the rows that each task reads of a cut dim, in order. They come from the task's part and its halo or, if the
  /// halo is kNone, from the whole dim, which each task has.
  PValueId rows(PValueId value, PValueId halo, const CutAxis& cut, const Reads& reads);

 private:
  /// The value replicated on its own tasks. The reasons for its messages cite no layout.
  PValueId whole(PValueId value);
  /// The value in that layout on its own mesh. For each axis of this mesh, `axes` has the corresponding axis of the
  /// target mesh (Reasons::asking_along).
  PValueId convert_on_own_mesh(PValueId value, const Layout& layout, std::span<const std::uint32_t> axes);
  PValueId convert(PValueId value, WhereId where, const Layout& layout);
  /// Whether the conversion keeps the extent of a bounded value; true for a value that is not bounded.
  [[nodiscard]] bool takes_extent(const PValue& from, WhereId where, const Layout& layout) const;
  /// Converts a bounded value: converts its elements up to the bound, and its extent, separately.
  PValueId convert_bounded(PValueId value, WhereId where, const Layout& layout);
  /// Brings a value from one mesh to a mesh of other tasks. The value is first converted to `layout` on its own mesh;
  /// then one task sends each part to all tasks that need it. Returns kNone if the meshes share a task, or if the
  /// source cannot be cut by `layout`.
  PValueId move_between_meshes(PValueId value, WhereId where, const Layout& layout);
  /// For each split axis of `layout`, in order, an axis of the source with the same number of tasks. The axes are
  /// chosen so that splitting the value along them on the source costs the least. Empty if there are none.
  [[nodiscard]] std::vector<std::size_t> matching_axes(PValueId value, WhereId where, const Layout& layout) const;
  static bool same_devices(const Where& a, const Where& b);
  /// Whether all tasks of the target are in the source.
  static bool covers(const Where& source, const Where& target);
  /// Copies the value to other devices of its tasks, or of some of its tasks.
  PValueId copied(PValueId value, WhereId where, const Layout& layout);
  /// Brings a value that `task` has whole to a device or mesh.
  PValueId from_device(PValueId value, std::int32_t task, WhereId where, const Layout& layout);
  /// Converts a replicated value to `layout` on another mesh of some of its tasks. Each task takes its part of the
  /// whole value that it already has.
  PValueId cut_after_moving(PValueId whole, WhereId where, const Layout& layout);
  /// Scatters the value along the split axes, one after another, each time from all devices reached so far; then
  /// broadcasts it along the other axes.
  PValueId spread(PValueId value, std::int32_t task, WhereId where, const Layout& layout);
  /// Reduces and gathers the value to one device, along one axis after another, each time to fewer devices. Returns
  /// kNone if the value is replicated on its mesh, or already has a replicated version.
  PValueId to_root(PValueId original, std::int32_t task, WhereId where);
  PValueId convert_axes(PValueId original, const Layout& layout);
  /// The value or one of its versions on the same mesh, whichever has the cheapest conversion to `layout`.
  [[nodiscard]] PValueId nearest(PValueId value, const Layout& layout) const;
  PValueId convert_axis(PValueId value, const ConversionStep& step);
  /// Turns parts along one dim into parts along another by an all-to-all: each member sends a block to each other
  /// member.
  PValueId exchange(PValueId value, const ConversionStep& step, const Layout& layout);
  Node added(NodeKind kind, PValueId value) const;
  PValueId finish(Node node, PValueId value, WhereId where, const Layout& layout);
  PValueId finish(Node node, std::span<const PValueId> inputs, const Type& type, WhereId where, const Layout& layout);
  PValueId computed(const OpDef& def, std::span<const PValueId> inputs, const Type& type, WhereId where,
                    const Layout& layout, Attrs attrs = {});
  /// Adds a collective. `axis`: the axis of the mesh along which it works; kNone: it does not work along a single axis.
  PValueId collective(PValueId value, const ProgramCollective& what, WhereId where, const Layout& layout,
                      std::size_t axis = kNone);
  /// Reduces or gathers the members' parts along one axis to the root.
  PValueId join(PValueId value, const AxisLayout& before, const Members& members, WhereId where, const Layout& layout,
                std::size_t axis);
  /// The task's position in the mesh; position 0 for a task outside of the mesh.
  [[nodiscard]] std::size_t corner(WhereId mesh, std::int32_t task) const;
  /// The part of the mesh along these axes that contains the task's corner.
  WhereId part_at(WhereId mesh, std::int32_t task, const Axes& axes);
  /// Groups along `axes`, one through each position that differs from the task's corner only along `others`. That
  /// position is the group's root; a task outside of the mesh is added as a guest root if there is one group.
  Members along(WhereId mesh, std::int32_t task, const Axes& others, const Axes& axes);
  /// All groups along these axes of the mesh, without a root.
  Members all_along(WhereId mesh, std::span<const std::size_t> axes);
  /// A group of tasks with `root` as its root. A root that is not in the group is appended as a guest.
  Members with_root(std::vector<std::int32_t> group, std::int32_t root);
  [[nodiscard]] bool made(PValueId value, WhereId where, const Layout& layout) const;
  PValueId take_part(PValueId value, WhereId where, const Layout& layout);
  /// Joins or cuts parts by a local op. If all dims before `dim` have size 1, the parts are already one after another,
  /// and it returns the value itself.
  PValueId parts_op(const OpDef& def, PValueId value, int dim, std::int64_t parts, WhereId where, const Layout& layout);
  /// Makes a constant without an annotation again, on devices that use it.
  PValueId copy_constant(PValueId value, WhereId where, const Layout& layout);

  Program& program_;
  Reasons& reasons_;
  ProgramRegionId region_ = 0;
  std::map<PValueId, PValueId> replaced_;
  std::map<std::tuple<PValueId, WhereId, std::string>, PValueId> made_;
  /// By value, axis and rows read: the halo, and the first result of rows().
  std::map<std::tuple<PValueId, std::size_t, Ints>, PValueId> halos_, rows_;
  std::map<PValueId, PValueId> first_rows_;  // by a later result of rows(): the first one, which has the same halos
};

}  // namespace ferry
