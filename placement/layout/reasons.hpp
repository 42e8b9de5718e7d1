// Reasons: why values are brought elsewhere, for `ferry explain`: who needs them there, and whose annotation that goes
// back to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Makes Program::reasons and Causes::of_layout of what reshard says that it does. Where no reasons are asked for,
/// nothing is known and nothing kept.
class Reasons {
 public:
  explicit Reasons(Program& program) : program_(program) {}

  /// Whose annotation the value's layout along an axis goes back to; kNone: nobody's.
  [[nodiscard]] NodeId cause(PValueId value, std::size_t axis) const;
  /// Of each axis, if the value lies on `where`; empty: nobody's.
  [[nodiscard]] std::vector<NodeId> causes(PValueId value, WhereId where) const;
  /// A value was laid, for these causes of its axes.
  void laid(PValueId value, std::vector<NodeId> causes);
  /// One value's layout has the causes of the other's.
  void laid_like(PValueId value, PValueId other);

  /// While what it gives lives, all that is added is added for this node, which needs its inputs where it is placed and
  /// laid for these causes of its axes; none: for no layout.
  [[nodiscard]] auto asking(NodeId user, std::vector<NodeId> axes) {
    const std::vector<NodeId>& places = program_.causes.of_place;
    return Meanwhile(why_, program_.options.reasons ? Why{user, places[user], std::move(axes)} : Why{user});
  }
  /// The same for one that is where it is by its own annotation.
  [[nodiscard]] auto asking_as_placed(NodeId user, std::vector<NodeId> axes) {
    return Meanwhile(why_, Why{user, user, std::move(axes)});
  }
  /// The same for one that no annotation has placed.
  [[nodiscard]] auto asking_anywhere(NodeId user) { return Meanwhile(why_, Why{user}); }
  /// Who asks stays, but asks on another mesh, whose axes stand for these; kNone: for none.
  [[nodiscard]] auto asking_along(std::span<const std::uint32_t> axes) { return Meanwhile(why_, along(axes)); }
  /// While what it gives lives, all that is added brings this value.
  [[nodiscard]] auto bringing(PValueId value) { return Meanwhile(brought_, value); }

  /// A transfer was added, or a collective that does something along an axis of the mesh, or along none.
  void added(NodeId message, std::size_t axis = kNone);
  /// The value that is being brought is there as `result`. Its layout goes back to whoever asked, or to what the value
  /// had before.
  void brought(PValueId result);

 private:
  template <class T>
  class Meanwhile {
   public:
    Meanwhile(T& member, T value) : member_(member), before_(std::exchange(member, std::move(value))) {}
    Meanwhile(const Meanwhile&) = delete;
    Meanwhile& operator=(const Meanwhile&) = delete;
    ~Meanwhile() { member_ = std::move(before_); }

   private:
    T& member_;
    T before_;
  };

  /// Who needs values as they do not lie yet, and whose annotations that goes back to.
  struct Why {
    NodeId user = 0;
    NodeId place = kNone;           ///< of the devices where they are needed
    std::vector<NodeId> axes = {};  ///< of the layout there, axis by axis; empty: of none
  };
  /// What a reason cites: an op's layouts, or its place.
  struct Cited {
    NodeId node = kNone;
    bool layout = false;
  };

  [[nodiscard]] Why along(std::span<const std::uint32_t> axes) const;
  /// Whose annotation makes the message necessary.
  [[nodiscard]] Cited cited(const Node& message, std::size_t axis) const;
  /// Whose annotation brings the value elsewhere: its user's, else its own.
  [[nodiscard]] Cited of_place() const;
  /// Of a layout, what asks for the new one or else gave the old one.
  [[nodiscard]] Cited of_axis(std::size_t axis) const;
  /// Who asks for the new one.
  [[nodiscard]] NodeId asks_for(std::size_t axis) const { return why_.axes.empty() ? kNone : why_.axes[axis]; }
  /// "all_reduce over 4 tasks".
  [[nodiscard]] std::string text(const Node& message) const;
  /// ", because w is laid split(0) at f.cpp:1".
  [[nodiscard]] std::string text(Cited cited) const;

  Program& program_;
  Why why_;
  PValueId brought_ = kNone;
};

}  // namespace ferry
