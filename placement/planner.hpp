// The planner: graph in, plan out. A pure function: equal inputs give equal bytes on every task and from every
// compiler.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "kernels/traits.hpp"
#include "placement/plan/plan.hpp"
#include "placement/topology/topology.hpp"

namespace ferry {

/// The feeds, fetches and targets of a run, agreed by all tasks before planning.
struct Signature {
  struct Feed {
    ValueId value = 0;      ///< of an Input op
    std::int32_t task = 0;  ///< who gives it
    std::vector<std::int64_t> sizes;
  };
  std::vector<Feed> feeds;       ///< sorted by value
  std::vector<ValueId> fetches;  ///< in the caller's order
  std::vector<OpId> targets;     ///< sorted
  std::int32_t fetch_to = 0;
};

/// A pass that is over.
struct PassReport {
  std::string_view name;
  double seconds = 0;
  std::function<std::string()> text;  ///< what it left, as text; of a pass over a plan class, that class
};

struct PlanOptions {
  bool soft_placement = false;
  DeviceKind default_device = DeviceKind::cpu;
  bool reasons = false;  ///< tell why: PlanResult::reasons
  /// Plan as if all tasks were on one host, so that layouts, schedules and with them the order of sums do not depend on
  /// where tasks are.
  bool one_host = false;
  /// Sums that are made one after another share a message until they have so many bytes. 0: none does, nor does any
  /// message between hosts. Not given: by the topology's links.
  std::optional<std::int64_t> bucket_bytes;
  /// Elementwise ops on at least so many elements are run together, a few elements at a time; 0: none is.
  std::int64_t fuse_from = 16384;
  /// Checks the program or plan after each pass; Error(bug) names the pass that broke it.
  bool check_passes = false;
  std::function<void(const PassReport&)> on_pass = {};  ///< called after each pass
};

/// Why an op is where it is, or why a transfer exists: for `ferry explain`.
struct Reason {
  std::string subject;  ///< name of the op or value
  std::string text;
  SourceLine line;
  bool transfer = false;  ///< of a transfer or collective, else of an op
  /// For a transfer: the op whose annotation makes it necessary; empty when it is due to where values are fed and
  /// fetched. Without that annotation the transfer is not made, or is made for another reason.
  std::string constraint = {};
  bool of_layout = false;  ///< the constraint is the op's layouts, else its device or mesh
  /// For a transfer or sum that shares its message: a number that all in that message have. 0: it has a message of its
  /// own.
  std::uint32_t message = 0;
};

struct PlanResult {
  Plan plan;
  std::vector<Reason> reasons;        ///< one for each op and transfer, in plan order, when asked for
  std::vector<std::string> warnings;  ///< soft placement's moves
};

/// Error(plan) names op, device and line, also for an illegal graph (check_legal); Error(usage) for a signature that
/// does not fit the graph.
[[nodiscard]] PlanResult make_plan(const Graph& graph, const Signature& signature, const Topology& topology,
                                   const KernelLookup& kernels, const PlanOptions& options = {});

/// The names of all passes, in order. Those after "lower" run once for each plan class.
[[nodiscard]] std::vector<std::string_view> pass_names();

}  // namespace ferry
