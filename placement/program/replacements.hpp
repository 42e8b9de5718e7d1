// Replacements: removes nodes from a program and replaces their values by values of other nodes.
#pragma once

#include <string>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Whether the node is a function of its inputs alone, so that equal nodes may share one result. Such a node has no
/// state, effect, random numbers, bodies or value of its task, runs after no other op, and is not recomputed on
/// purpose. Constants are pure.
[[nodiscard]] bool is_pure(const Node& node);
/// Whether the op itself is a target of the run.
[[nodiscard]] bool is_target(const Program& program, const Node& node);

/// Collects the replacements of values while a pass walks over the nodes in order. Not thread-safe.
class Replacements {
 public:
  explicit Replacements(Program& program) : program_(program) {}

  /// Whether take_out() was called for the node.
  [[nodiscard]] bool replaced(NodeId id) const { return id < gone_.size() && gone_[id]; }
  /// Replaces the node's inputs by their current replacements. Call it for each node that the pass visits.
  void update(NodeId id);
  /// Replaces the node's output k by `other` from now on. Both have the same type.
  void replace(NodeId id, std::uint32_t k, PValueId other);
  /// Removes the node; all of its outputs must have been replaced. `why` returns a text for `ferry explain`.
  template <class Why>
  void take_out(NodeId id, const Why& why) {
    gone_.resize(program_.nodes.size());
    gone_[id] = true;
    forget_inputs(id);
    tell(id, why);
  }
  /// Removes all inputs of the node.
  void forget_inputs(NodeId id) {
    program_.nodes[id].inputs = 0;
    changed_ = true;
  }
  /// Sets the reason that `ferry explain` prints for the node; `why` returns the text.
  template <class Why>
  void tell(NodeId id, const Why& why) {
    if (const auto reason = program_.reason_of.find(id); reason != program_.reason_of.end())
      program_.reasons[reason->second].text = why();
  }
  /// " at model.cpp:3", or an empty text if the line is unknown.
  [[nodiscard]] std::string at_line(const Node& node) const;
  /// Removes from their regions the nodes that were taken out, and pure nodes without readers.
  void finish();

 private:
  [[nodiscard]] PValueId latest(PValueId value) const { return value < instead_.size() ? instead_[value] : value; }
  /// The number of reads of each value, as an operand or as a region's result.
  [[nodiscard]] std::vector<std::uint32_t> count_reads() const;

  Program& program_;
  std::vector<PValueId> instead_;  // for each value; empty while no value is replaced
  std::vector<bool> gone_;         // for each node; later nodes may be missing
  bool changed_ = false;
};

}  // namespace ferry
