// Reasons: records for `ferry explain` why values are moved: the node that needs a value elsewhere, and the node with
// the annotation that caused this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Makes Program::reasons and Causes::of_layout from the reports of reshard. Without PlanOptions::reasons, it only adds
/// warnings, and no causes are known.
class Reasons {
 public:
  explicit Reasons(Program& program) : program_(program) {}

  /// The node with the annotation that caused the value's layout along an axis; kNone: there is none, or the value is
  /// replicated along it.
  [[nodiscard]] NodeId cause(PValueId value, std::size_t axis) const;
  /// The cause for each axis of the value's layout. Empty if the value is not on `where`, or if no causes are known.
  [[nodiscard]] std::vector<NodeId> causes(PValueId value, WhereId where) const;
  /// Records the causes of a value's layout, axis by axis. Causes of replicated axes are not kept.
  void laid(PValueId value, std::vector<NodeId> causes);
  /// Records that the layout of `value` has the same causes as the layout of `other`.
  void copy_causes(PValueId value, PValueId other);

  /// While the returned object lives, added messages are for node `user`, which needs its inputs on its own devices.
  /// `axes` are the causes of the layout that it needs; empty if it needs no particular layout.
  [[nodiscard]] auto asking(NodeId user, std::vector<NodeId> axes) {
    const std::vector<NodeId>& places = program_.causes.of_place;
    return ScopedValue(why_, program_.options.reasons ? Why{user, places[user], std::move(axes)} : Why{user});
  }
  /// The same for a node that is placed by its own annotation.
  [[nodiscard]] auto asking_as_placed(NodeId user, std::vector<NodeId> axes) {
    return ScopedValue(why_, Why{user, user, std::move(axes)});
  }
  /// The same for a node that no annotation has placed.
  [[nodiscard]] auto asking_anywhere(NodeId user) { return ScopedValue(why_, Why{user}); }
  /// While the returned object lives, the same node asks for a value on a mesh with other axes. Axis i there
  /// corresponds to axis `axes[i]` of the node's own mesh (kNone: to no axis) and has its causes. Empty: the new layout
  /// has no causes.
  [[nodiscard]] auto asking_along(std::span<const std::uint32_t> axes) { return ScopedValue(why_, along(axes)); }
  /// While the returned object lives, added messages bring this value.
  [[nodiscard]] auto bringing(PValueId value) { return ScopedValue(brought_, value); }

  /// Records the reason for an added transfer, or for an added collective that works along `axis` of the mesh (kNone:
  /// not along a single axis).
  void added(NodeId message, std::size_t axis = kNone);
  /// Records the causes of the layout of `result`, the version of the value that was brought. An axis with the same
  /// mesh and layout as before keeps its cause. Any other axis has the cause that the asking node gave, or else its old
  /// cause. A replicated axis has no cause.
  void brought(PValueId result);

 private:
  template <class T>
  class ScopedValue {
   public:
    ScopedValue(T& member, T value) : member_(member), before_(std::exchange(member, std::move(value))) {}
    ScopedValue(const ScopedValue&) = delete;
    ScopedValue& operator=(const ScopedValue&) = delete;
    ~ScopedValue() { member_ = std::move(before_); }

   private:
    T& member_;
    T before_;
  };

  /// The node that needs values in another place or layout, and the nodes with the annotations that caused it.
  struct Why {
    NodeId user = 0;
    NodeId place = kNone;           ///< the cause of the devices on which it needs them
    std::vector<NodeId> axes = {};  ///< the causes of the layout that it needs, axis by axis; empty: any layout
  };
  /// The annotation that a reason cites: an op's layouts, or its place.
  struct Citation {
    NodeId node = kNone;
    bool layout = false;
  };

  [[nodiscard]] Why along(std::span<const std::uint32_t> axes) const;
  /// Warns, with and without PlanOptions::reasons, if the message gathers more than 1 MiB for a reshape.
  void warn_of_gather(NodeId message);
  /// The annotation that makes the message necessary.
  [[nodiscard]] Citation cited(const Node& message, std::size_t axis) const;
  /// The annotation that placed the user; if none did, the annotation that placed the value's producer.
  [[nodiscard]] Citation of_place() const;
  /// The annotation that asks for the new layout along the axis, or else the annotation that caused the old layout.
  [[nodiscard]] Citation of_axis(std::size_t axis) const;
  /// The node with the annotation that caused the new layout along the axis; kNone: there is none.
  [[nodiscard]] NodeId cause_of_new_layout(std::size_t axis) const {
    return why_.axes.empty() ? NodeId(kNone) : why_.axes[axis];
  }
  /// Whether the message brings a halo.
  [[nodiscard]] bool is_halo(const Node& message) const;
  /// The bytes of the value that the message brings; for a halo, of the most rows that one task gets.
  [[nodiscard]] std::int64_t bytes_of(const Node& message) const;
  /// The message as text: "all_reduce over 4 tasks".
  [[nodiscard]] std::string text(const Node& message) const;
  /// "; no halos, for …" if the message gathers a dim that the user reads through windows; else "".
  [[nodiscard]] std::string why_no_halos(const Node& message, std::size_t axis) const;
  /// The citation as text: ", because w is laid [S(0)] at f.cpp:1".
  [[nodiscard]] std::string text(Citation cited) const;

  Program& program_;
  Why why_;
  PValueId brought_ = kNone;
};

}  // namespace ferry
