// ComputingTimes: the planned time of each node's kernel, by which messages are joined and microbatches ordered.
#pragma once

#include <cstdint>

#include "placement/layout/ways.hpp"
#include "placement/program/program.hpp"
#include "placement/program/users.hpp"

namespace ferry {

/// The planned computing times of a program's nodes (graph/op/op_work.hpp, op_time.hpp). The program must outlive it;
/// nodes that are added later have no users for it. Thread-safe.
class ComputingTimes {
 public:
  explicit ComputingTimes(const Program& program) : program_(program), users_(program) {}

  /// The time in picoseconds in which one task computes its largest part of the node; 0 for a view. A value that fusing
  /// may keep in the cache costs no memory traffic.
  [[nodiscard]] std::int64_t of(const Node& node) const;
  /// The work that takes this time. Precondition: the node is no view.
  [[nodiscard]] StepWork::Kernel kernel(const Node& node) const;
  [[nodiscard]] std::int64_t of(const StepWork::Kernel& kernel) const;
  /// The time of a node on a mesh whose values would have the layouts of that way.
  [[nodiscard]] std::int64_t of(const Node& node, const Way& way) const;

 private:
  /// `part` gives the type of one task's part of a value: part(value, layout index), inputs first.
  template <class Part>
  [[nodiscard]] StepWork::Kernel of_parts(const Node& node, const Part& part) const;
  [[nodiscard]] bool is_kept(PValueId value, const Node& user) const;

  const Program& program_;
  const Users users_;
};

}  // namespace ferry
