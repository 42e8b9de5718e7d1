// ComputingTimes: the planned time of each node's kernel. It is used to choose layouts, join messages and order
// microbatches.
#pragma once

#include <cstdint>

#include "placement/layout/ways.hpp"
#include "placement/program/program.hpp"
#include "placement/program/users.hpp"

namespace ferry {

/// The planned computing times of a program's nodes (graph/op/op_work.hpp, op_time.hpp). The program must outlive it.
/// It does not know the users of nodes that are added later. Thread-safe.
class ComputingTimes {
 public:
  explicit ComputingTimes(const Program& program) : program_(program), users_(program) {}

  /// The time in picoseconds in which one task computes its largest part of the node; 0 for a view. A value that fusing
  /// may keep in the cache costs no memory traffic.
  [[nodiscard]] std::int64_t of(const Node& node) const;
  /// The kernel's work, from which this time follows. Precondition: the node is not a view.
  [[nodiscard]] StepWork::Kernel kernel(const Node& node) const;
  [[nodiscard]] std::int64_t of(const StepWork::Kernel& kernel) const;
  /// The time of a node on a mesh if its values had the layouts of `way`.
  [[nodiscard]] std::int64_t of(const Node& node, const Way& way) const;

 private:
  /// part(value, i) returns the type of one task's part of a value; i counts the inputs, then the outputs.
  template <class Part>
  [[nodiscard]] StepWork::Kernel of_parts(const Node& node, const Part& part) const;
  [[nodiscard]] bool is_kept(PValueId value, const Node& user) const;

  const Program& program_;
  const Users users_;
};

}  // namespace ferry
