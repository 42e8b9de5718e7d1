// The planner: graph in, plan out. A pure function: equal inputs give equal bytes on every task and from every
// compiler.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "kernels/traits.hpp"
#include "plan/fuse_from.hpp"
#include "plan/plan.hpp"
#include "plan/topology/topology.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The feeds, fetches and targets of a run, on which all tasks agree before planning.
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
  /// How many rows the step takes of batches that are smaller at the end of an epoch, by Batches::symbol(). A size that
  /// is not here is the size of whole batches.
  std::map<std::string, std::int64_t> rows = {};
  bool initial = false;  ///< gives variables their first values: the graph's budget is not for that
};

/// The report on a pass after it has run.
struct PassReport {
  std::string_view name;
  double seconds = 0;
  std::function<std::string()> text;  ///< its result as text; of a pass over a plan class, that class alone
};

/// An op that reads nothing but constants.
struct ConstantOp {
  const OpDef& def;
  const Attrs& attrs;
  std::span<const Type> input_types, output_types;  ///< all sizes are known
  std::span<const Tensor> inputs;                   ///< not defined where the op uses only the sizes (OpDef::unread)
};

struct PlanOptions {
  bool soft_placement = false;
  DeviceKind default_device = DeviceKind::cpu;
  bool reasons = false;  ///< fill PlanResult::reasons
  /// Plan as if all tasks were on one host, so that layouts, schedules and with them the order of sums do not depend on
  /// where tasks are; GPUs fold sums in that order, too.
  bool one_host = false;
  /// Consecutive sums share a message until it has this many bytes. 0: no two values share a message, between hosts
  /// neither. Not given: the topology's links decide.
  std::optional<std::int64_t> bucket_bytes;
  /// Elementwise ops on at least this many elements are fused and run tile by tile; 0: none are.
  std::int64_t fuse_from = kFuseFrom;
  /// Checks the program or plan after each pass; Error(bug) names the pass that broke it.
  bool check_passes = false;
  /// Gives the outputs of such an op, or none if it cannot. It is asked only for what every machine computes alike.
  /// Null: no constants are folded.
  std::function<std::vector<Tensor>(const ConstantOp&)> evaluate = {};
  std::function<void(const PassReport&)> on_pass = {};  ///< called after each pass
};

/// Why an op is where it is, or why a transfer exists: for `ferry explain`.
struct Reason {
  std::string subject;  ///< name of the op or value
  std::string text;
  SourceLine line;
  bool transfer = false;  ///< it is for a transfer or collective, else for an op
  /// For a transfer: the op with the annotation that makes it necessary; empty if the place of a feed or fetch makes it
  /// necessary. Without that annotation there would be no such transfer, or it would have another reason.
  std::string constraint = {};
  bool of_layout = false;  ///< the constraint is the op's layouts, else its device or mesh
  /// For a transfer or sum that shares its message with others: a number that they all have. 0: it has a message of its
  /// own.
  std::uint32_t message = 0;
};

/// How the stages of a pipeline work on its microbatches, if everything takes the time that planning takes it for.
struct PipelineChart {
  struct Work {
    char pass = 'F';  ///< F: forward; B: backward; W: gradients of weights
    std::int64_t microbatch = 0;
    std::int64_t stage = -1;           ///< from the beginning of the pass; -1: its device has one stage
    std::int64_t begin = 0, time = 0;  ///< in any unit, the same for all
    /// "F3", or with a stage "F3.2".
    [[nodiscard]] std::string name() const;
  };
  struct Row {
    std::string who;  ///< "task 0", "tasks 2, 3"
    std::vector<Work> work;
  };
  std::string title;
  std::vector<Row> rows;    ///< one for each device
  std::int64_t length = 0;  ///< when the last work ends
  /// The share of its time in which a device waits for others, in percent.
  [[nodiscard]] std::int64_t waits(const Row& row) const;
};

struct PlanResult {
  Plan plan;
  std::vector<Reason> reasons;                ///< one for each op and transfer, in plan order, when asked for
  std::vector<std::string> warnings;          ///< soft placement's moves
  std::vector<PipelineChart> pipelines = {};  ///< of each pipeline of the entry, when reasons are asked for
};

/// Error(plan) names op, device and line, also for an illegal graph (check_legal) and for a plan that costs more than
/// the graph's budget; Error(usage) for a signature that does not fit the graph.
[[nodiscard]] PlanResult make_plan(const Graph& graph, const Signature& signature, const Topology& topology,
                                   const KernelLookup& kernels, const PlanOptions& options = {});

/// The names of all passes, in order. Those after "lower" run once for each plan class.
[[nodiscard]] std::vector<std::string_view> pass_names();

}  // namespace ferry
#pragma GCC visibility pop
