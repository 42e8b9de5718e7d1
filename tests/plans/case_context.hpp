// What a case of tests/plans says besides forms: options, and a graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "kernels/device.hpp"
#include "placement/planner.hpp"
#include "placement/program/program.hpp"

namespace ferry::test {

/// All arguments of make_plan, for tasks in this process and the kernels of this machine's CPU.
struct CaseContext {
  std::unique_ptr<Graph> graph;  ///< null for a pass over classes
  Signature signature;           ///< of the entry; all feeds at task 0
  Topology topology;
  PlanOptions options;
  std::optional<KernelsOfDevices> kernels;
  std::optional<AutoMesh> auto_mesh = {};  ///< of --place
};

/// The context that options and a graph as .pbtxt give. The options of `ferry plan` are allowed: --tasks, --threads (1
/// if not given), --hosts, --jobs, --invariant, --device sim, --soft-placement, --entry, --fetch-to, --shape; and
/// --shared-memory: the tasks of a host share memory; --place 2x2: placement by itself on that mesh. Error(usage) for
/// others.
[[nodiscard]] CaseContext case_context(std::string_view options, std::string_view graph);

/// The context for a graph alone: one with open sizes gets small ones. `entry` empty: the only one, or "train".
void set_graph(CaseContext& context, std::unique_ptr<Graph> graph, std::string_view entry);

}  // namespace ferry::test
