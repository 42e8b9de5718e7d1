// Replacements: removes nodes from a program if other nodes have their values.
#pragma once

#include <string>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// A function of its inputs, which two equal ones may share: it has no state, effect, random numbers, bodies or value
/// of its task, runs after no other op, and is not recomputed on purpose. Constants are such.
[[nodiscard]] bool is_pure(const Node& node);
/// Whether the run asks for the op itself.
[[nodiscard]] bool is_target(const Program& program, const Node& node);

/// Collects which values stand for which others while a pass walks over the nodes, in order. Not thread-safe.
class Replacements {
 public:
  explicit Replacements(Program& program) : program_(program) {}

  /// Whether the node was taken out.
  [[nodiscard]] bool replaced(NodeId id) const { return id < gone_.size() && gone_[id]; }
  /// Rewrites what the node reads to what stands for it by now. Call it for each node that is looked at.
  void update(NodeId id);
  /// From here on `other` stands for the node's output k. Both are of one type.
  void replace(NodeId id, std::uint32_t k, PValueId other);
  /// Takes the node out; all of its outputs were replaced. `why` returns a text for `ferry explain`.
  template <class Why>
  void take_out(NodeId id, const Why& why) {
    gone_.resize(program_.nodes.size());
    gone_[id] = true;
    forget_inputs(id);
    tell(id, why);
  }
  /// From here on the node reads nothing.
  void forget_inputs(NodeId id) {
    program_.nodes[id].inputs = 0;
    changed_ = true;
  }
  /// Says for `ferry explain` what became of the node; `why` returns the text.
  template <class Why>
  void tell(NodeId id, const Why& why) {
    if (const auto reason = program_.reason_of.find(id); reason != program_.reason_of.end())
      program_.reasons[reason->second].text = why();
  }
  /// " at model.cpp:3", or nothing if the line is not known.
  [[nodiscard]] std::string at_line(const Node& node) const;
  /// Takes the nodes out of their regions, and those pure ones that nobody reads any more.
  void finish();

 private:
  [[nodiscard]] PValueId latest(PValueId value) const { return value < instead_.size() ? instead_[value] : value; }
  /// How often each value is read, as an operand or as a region's result.
  [[nodiscard]] std::vector<std::uint32_t> count_reads() const;

  Program& program_;
  std::vector<PValueId> instead_;  // of each value; empty as long as none was replaced
  std::vector<bool> gone_;         // of each node; shorter as long as later ones were not taken out
  bool changed_ = false;
};

}  // namespace ferry
