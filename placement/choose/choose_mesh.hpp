// choose_mesh: tries placements of a program and takes the one with the shortest planned step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "placement/choose/memory_limits.hpp"
#include "placement/program/program.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// The fastest placement: a mesh with the layouts of the variables and all choices of its problem, or none for the
/// graph as it is annotated.
struct MeshChoice {
  std::optional<AutoMesh> mesh;
  AutoPlacement report;
};

/// The plans that choose_mesh compares.
struct MeshPlanning {
  std::function<Program(const std::optional<AutoMesh>&)> placed;  ///< has passed all passes, for a mesh or for none
  std::function<Plan(const Program&)> finished;                   ///< with its memory; called where there are limits
  MemoryLimits limits;
};

/// Compares, by judge(), the program as it is annotated, on all tasks along one axis with whole variables, along one
/// axis with chosen layouts, and along two axes with chosen layouts; of two axes the first is over hosts if there are
/// several. A candidate that cannot be planned is left out; if none can, the error of the first is thrown. The first of
/// the fastest wins.
///
/// If it needs more memory than the limits allow, each mesh is tried with layouts that take less memory (frontier.hpp).
/// The fastest program with a finished plan that fits wins. Error(plan) if none fits.
[[nodiscard]] MeshChoice choose_mesh(const Topology& topology, const MeshPlanning& planning);

/// AutoMesh::choices of the fastest plan on this mesh, which has none yet, that fits. Error(plan) if none fits.
[[nodiscard]] std::vector<std::uint32_t> fitting_choices(const AutoMesh& mesh, const MeshPlanning& planning);

/// The request by which the mesh and the layouts of variables are chosen for all requests of a graph, so that variables
/// stay where they are between them: the entry "train". Sizes that inputs leave open count as kOpenSize. None if the
/// graph has no such entry.
[[nodiscard]] std::optional<Signature> deciding_request(const Graph& graph);
constexpr std::int64_t kOpenSize = 64;

}  // namespace ferry
