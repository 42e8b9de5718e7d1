// choose_mesh: tries placements of a program and chooses the placement with the shortest planned step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "placement/choose/memory_limits.hpp"
#include "placement/program/program.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// The fastest placement: a mesh with the layouts of the variables and all choices of its problem, or stages, or
/// neither if the graph as it is annotated is the fastest.
struct MeshChoice {
  AutoPlace place;
  AutoPlacement report;
  std::optional<Program> program;  ///< the program of this placement after all passes
};

/// The plans that choose_mesh compares.
struct MeshPlanning {
  std::function<Program(const AutoPlace&)> placed;  ///< runs all passes
  std::function<Plan(const Program&)> finished;     ///< plans the memory; called if there are limits
  /// Stages to try (stage_candidates.hpp), called if the fastest other placement does not fit the limits. Those with
  /// equally many stages come one after another.
  std::function<std::vector<AutoStages>()> stages;
  MemoryLimits limits;
};

/// Compares placements by judge(): the program as it is annotated; all tasks along one axis, with whole variables; all
/// tasks along one axis, with chosen layouts; and all tasks along two axes, with chosen layouts. The two axes are hosts
/// × tasks of a host, and for small jobs all other factorizations of the number of tasks. A placement that cannot be
/// planned is left out; if none can be planned, the error of the first is thrown. The fastest placement wins; of
/// several, the first.
///
/// If the fastest placement needs more memory than the limits allow, each mesh is tried with layouts that take less
/// memory (frontier.hpp), and stages are tried. Meshes that may become the fastest are then solved within the memory of
/// the limit (solve_within.hpp). The fastest program with a finished plan that fits wins. Throws Error(plan) if none
/// fits.
[[nodiscard]] MeshChoice choose_mesh(const Topology& topology, const MeshPlanning& planning);

/// Sets the choices of the fastest plan on this mesh that fits the memory limits, and their limit of memory. `mesh`
/// must not have choices yet. Throws Error(plan) if no plan fits.
void set_fitting_choices(AutoMesh& mesh, const MeshPlanning& planning);

/// The request for which the mesh and the layouts of variables are chosen: the entry "train". All other requests of the
/// graph use the same, so variables do not move between requests. Sizes that inputs leave open count as kOpenSize.
/// Nothing if the graph has no such entry.
[[nodiscard]] std::optional<Signature> deciding_request(const Graph& graph);
constexpr std::int64_t kOpenSize = 64;

}  // namespace ferry
