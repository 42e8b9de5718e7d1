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
#include "placement/program/program.hpp"

namespace ferry {

/// Adds transfers, collectives and local cuts to a program. Along one axis: partial -> replicated all-reduce, partial
/// -> split reduce-scatter, split -> replicated all-gather, split -> split all-to-all, replicated -> split a local cut.
/// Between device sets: device -> device a transfer, device -> mesh broadcast or scatter, mesh -> device gather or
/// reduce, each axis by axis; mesh -> mesh of other tasks part by part, otherwise mesh -> mesh by way of one task; to
/// other devices of the same tasks a copy. A
/// value goes to each device set and layout once, however many use it there. Bounded values are cut at their bounds: a
/// part along the bounded dim has what lies before the extent, which may be nothing.
class Converter {
 public:
  /// `reasons` is told of all that is added; the caller tells it for which node.
  Converter(Program& program, Reasons& reasons) : program_(program), reasons_(reasons) {}

  /// From now on adds nodes at the end of this region. Returns the region before.
  RegionId enter(RegionId region) { return std::exchange(region_, region); }
  /// Puts a node at the end of the region.
  void emit(NodeId id) { program_.regions[region_].order.push_back(id); }

  /// Says where a value lies (Where::laid_out).
  void place(PValueId value, WhereId where, Layout layout);
  /// The value that now stands for `value`: itself, or its replacement.
  [[nodiscard]] PValueId current(PValueId value) const;
  /// From now on `value` is read as it lies on `where`.
  void replace(PValueId value, WhereId where, const Layout& layout);
  /// The value with its bytes on `where` in that layout; converted when nobody did it before.
  [[nodiscard]] PValueId need(PValueId value, WhereId where, const Layout& layout);

 private:
  /// The value replicated on its own tasks. No layout is named as the reason.
  PValueId whole(PValueId value);
  /// The value in that layout on its own mesh, whose axes stand for these of the mesh that is asked for
  /// (Reasons::asking_along).
  PValueId laid_alike(PValueId value, const Layout& layout, std::span<const std::uint32_t> axes);
  PValueId convert(PValueId value, WhereId where, const Layout& layout);
  /// Whether the conversion takes the extent along; true for a value that is not bounded.
  [[nodiscard]] bool takes_extent(const PValue& from, WhereId where, const Layout& layout) const;
  /// Converts a bounded value: its elements up to the bound, and its extent apart.
  PValueId convert_bounded(PValueId value, WhereId where, const Layout& layout);
  /// Brings a value from a mesh to one of other tasks: it is first laid on its own mesh as `layout` says, then each
  /// part is sent once. kNone when the meshes share a task, or the source cannot be cut as the target wants.
  PValueId across(PValueId value, WhereId where, const Layout& layout);
  /// For each split axis of `layout`, in order, an axis of the source with as many tasks, chosen so that the least must
  /// move to lay the value alike there; empty: there are none.
  [[nodiscard]] std::vector<std::size_t> axes_alike(PValueId value, WhereId where, const Layout& layout) const;
  static bool same_devices(const Where& a, const Where& b);
  /// The target's tasks are all in the source.
  static bool covers(const Where& source, const Where& target);
  /// The value on other devices of its tasks, or of some of them.
  PValueId copied(PValueId value, WhereId where, const Layout& layout);
  /// A value that `task` holds whole goes to a device or mesh.
  PValueId from_device(PValueId value, std::int32_t task, WhereId where, const Layout& layout);
  /// Lays a replicated value on another mesh of some of its tasks: it is read as it lies, then cut.
  PValueId cut_after_moving(PValueId whole, WhereId where, const Layout& layout);
  /// The parts go out along the split axes, one axis after another and each to more devices, then along the others.
  PValueId spread(PValueId value, std::int32_t task, WhereId where, const Layout& layout);
  /// Reduces and gathers to one device, along one axis after another and each to fewer devices, when nobody made the
  /// whole value on the mesh yet.
  PValueId to_root(PValueId original, std::int32_t task, WhereId where);
  PValueId convert_axes(PValueId original, const Layout& layout);
  /// The value itself or one made of it on its mesh, whichever takes the least to be laid so.
  [[nodiscard]] PValueId nearest(PValueId value, const Layout& layout) const;
  PValueId convert_axis(PValueId value, const ConversionStep& step);
  /// Turns parts along one dim into parts along another: each member gives each other one a block.
  PValueId exchange(PValueId value, const ConversionStep& step, const Layout& layout);
  Node added(NodeKind kind, PValueId value) const;
  PValueId finish(Node node, PValueId value, WhereId where, const Layout& layout);
  PValueId finish(Node node, std::span<const PValueId> inputs, const Type& type, WhereId where, const Layout& layout);
  /// Adds a compute node of an op without attributes.
  PValueId computed(const OpDef& def, std::span<const PValueId> inputs, const Type& type, WhereId where,
                    const Layout& layout);
  /// `axis`: the axis of the mesh along which it works; kNone: along all.
  PValueId collective(PValueId value, const ProgramCollective& what, WhereId where, const Layout& layout,
                      std::size_t axis = kNone);
  /// Joins what the members have along one axis at their root.
  PValueId join(PValueId value, const AxisLayout& before, const Members& members, WhereId where, const Layout& layout,
                std::size_t axis);
  /// The task's position in the mesh; the first one for a task outside.
  [[nodiscard]] std::size_t corner(WhereId mesh, std::int32_t task) const;
  /// The part of the mesh along these axes that has the task's corner.
  WhereId part_at(WhereId mesh, std::int32_t task, const Axes& axes);
  /// Groups along `axes`, each with the task, or the position that stands for it, as its root; one for each position of
  /// the part along `others`.
  Members along(WhereId mesh, std::int32_t task, const Axes& others, const Axes& axes);
  /// A group of tasks and `root`, which comes last when it is none of them.
  Members with_root(std::vector<std::int32_t> group, std::int32_t root);
  [[nodiscard]] bool made(PValueId value, WhereId where, const Layout& layout) const;
  PValueId take_part(PValueId value, WhereId where, const Layout& layout);
  /// Joins or cuts parts; nothing is to be done along dim 0, where parts lie one after another anyway.
  PValueId parts_op(const OpDef& def, PValueId value, int dim, std::int64_t parts, WhereId where, const Layout& layout);
  /// A constant without an annotation is made wherever it is used.
  PValueId copy_constant(PValueId value, WhereId where, const Layout& layout);

  Program& program_;
  Reasons& reasons_;
  RegionId region_ = 0;
  std::map<PValueId, PValueId> replaced_;
  std::map<std::tuple<PValueId, WhereId, std::string>, PValueId> made_;
};

}  // namespace ferry
