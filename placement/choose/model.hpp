// The model: the choice of layouts on one mesh as a Problem (problem.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/program/program.hpp"
#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// The number of iterations that planning assumes for a loop, because the real number is not known.
constexpr std::int64_t kIterations = 100;

/// The choice of layouts on a mesh. A variable of the problem is
/// - a compute node on the mesh; its choices are the node's ways, its costs the planned times of the kernel and halos;
/// - a value with its own choice of layout: a variable, a feed, a region's parameter, a branch's result;
/// - a value with several readers; its choices are the layouts to which it is converted once.
/// An edge has the times of the messages that convert one choice's layout to the other's. An annotated layout is the
/// only choice of its value, and so is a layout in AutoMesh::variables. The program must have devices, and a node on
/// Program::auto_where; it must outlive the model.
class LayoutModel {
 public:
  [[nodiscard]] static LayoutModel of(const Program& program) { return of(program, *program.auto_mesh); }
  /// The same with `mesh` in place of Program::auto_mesh.
  [[nodiscard]] static LayoutModel of(const Program& program, const AutoMesh& mesh);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// The memory of a task: variables during the whole step, other values as long as they are needed (ValueLives).
  [[nodiscard]] const MemoryUse& memory() const { return memory_; }
  /// The picoseconds for a cost of 1: 1, or more if a step takes very long.
  [[nodiscard]] std::int64_t unit() const { return unit_; }
  /// The layouts for these choices.
  [[nodiscard]] ChosenLayouts layouts(std::span<const std::uint32_t> choices) const;
  /// The choices for these layouts, which layouts() returned for a model of the same program.
  [[nodiscard]] std::vector<std::uint32_t> choices(const Program& program, const ChosenLayouts& chosen) const;
  /// The variable of the problem for a node; nothing if the model does not choose the node's layouts.
  [[nodiscard]] std::optional<std::uint32_t> variable(const Program& program, NodeId node) const;
  /// The part of the cost of a compute node's choice that is computing. The rest of the cost is messages.
  [[nodiscard]] std::int64_t computing(NodeId node, std::uint32_t choice) const { return computing_.at(node)[choice]; }
  /// "[S(0)] [R] -> [S(0)]" for a compute node, "[S(0)]" for any other node.
  [[nodiscard]] std::string text(const Program& program, NodeId node, std::uint32_t choice) const;

 private:
  friend class ModelMaker;

  Problem problem_;
  MemoryUse memory_;
  std::int64_t unit_ = 1;
  std::map<NodeId, std::pair<std::uint32_t, std::vector<Way>>> ways_;              // of compute nodes
  std::map<NodeId, std::vector<std::int64_t>> computing_;                          // of compute nodes, by choice
  std::map<PValueId, std::pair<std::uint32_t, std::vector<Layout>>> laid_;         // of values with their own choice
  std::map<PValueId, std::pair<std::uint32_t, std::vector<Layout>>> conversions_;  // of values with several readers
};

}  // namespace ferry
