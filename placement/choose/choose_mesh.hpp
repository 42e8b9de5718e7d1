// choose_mesh: tries placements of a program and takes the one with the shortest planned step.
#pragma once

#include <functional>
#include <optional>

#include "placement/program/program.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// What choose_mesh takes: a mesh with the layouts of the variables, or none for the graph as it is annotated.
struct MeshChoice {
  std::optional<AutoMesh> mesh;
  AutoPlacement report;
};

/// Compares, by judge(), the program as it is annotated, on all tasks along one axis with whole variables, along one
/// axis with chosen layouts, and along two axes with chosen layouts; of two axes the first is over hosts if there are
/// several. `placed` returns the program that has passed all passes, for a mesh or for none. A candidate that cannot be
/// planned is left out; if none can, the error of the first is thrown. The first of the fastest wins.
[[nodiscard]] MeshChoice choose_mesh(const Topology& topology,
                                     const std::function<Program(const std::optional<AutoMesh>&)>& placed);

/// The request by which the mesh and the layouts of variables are chosen for all requests of a graph, so that variables
/// stay where they are between them: the entry "train". Sizes that inputs leave open count as kOpenSize. None if the
/// graph has no such entry.
[[nodiscard]] std::optional<Signature> deciding_request(const Graph& graph);
constexpr std::int64_t kOpenSize = 64;

}  // namespace ferry
